r"""Pre-trains BERT on masked TFRecords: masked language model and next sentence prediction.

Example:
  python run_pretraining.py --input_file='data/train-*.tfrecord' --eval_input_file=data/heldout.tfrecord \
    --bert_config_file=bert_config.json --output_dir=runs/pretrain --do_train --do_eval \
    --train_batch_size=32 --num_train_steps=20000 --num_warmup_steps=1000 --learning_rate=1e-4

The same command again goes on where the run stopped.
"""

from bert_tf.cli import flag_config
from bert_tf.config import PretrainConfig


def main() -> None:
    """Runs the command line."""
    flag_config.run_script(PretrainConfig, "pretrain", __doc__)


if __name__ == "__main__":
    main()
