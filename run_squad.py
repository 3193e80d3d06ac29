r"""Fine-tunes BERT to answer questions on texts (SQuAD v1.1 and v2.0), predicts, scores and exports a SavedModel.

Example:
  python run_squad.py --train_file=squad/train-v1.1.json --predict_file=squad/dev-v1.1.json \
    --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt --vocab_file=uncased_L-12_H-768_A-12/vocab.txt \
    --bert_config_file=uncased_L-12_H-768_A-12/bert_config.json --output_dir=runs/squad --do_train --do_predict --do_eval \
    --do_export --train_batch_size=12 --learning_rate=3e-5 --num_train_epochs=2 --max_seq_length=384 --doc_stride=128

For SQuAD v2.0 add --version_2_with_negative. The same command again goes on where the run stopped.
"""

from bert_tf.cli import flag_config
from bert_tf.config import SquadConfig


def main() -> None:
    """Runs the command line."""
    flag_config.run_script(SquadConfig, "squad", __doc__)


if __name__ == "__main__":
    main()
