r"""Fine-tunes BERT on a sentence or sentence-pair task, evaluates, predicts and exports a SavedModel.

Example:
  python run_classifier.py --task_name=MRPC --data_dir=glue/MRPC --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt \
    --vocab_file=uncased_L-12_H-768_A-12/vocab.txt --bert_config_file=uncased_L-12_H-768_A-12/bert_config.json \
    --output_dir=runs/mrpc --do_train --do_eval --do_predict --do_export --learning_rate=2e-5 --num_train_epochs=3

The same command again goes on where the run stopped; a finished run goes straight to what else is asked.
"""

from bert_tf.cli import flag_config
from bert_tf.config import FinetuneConfig


def main() -> None:
    """Runs the command line."""
    flag_config.run_script(FinetuneConfig, "finetune", __doc__)


if __name__ == "__main__":
    main()
