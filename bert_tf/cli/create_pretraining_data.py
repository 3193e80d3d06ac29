r"""Writes masked TFRecords for pre-training from documents: one sentence a line, a blank line between documents.

python -m bert_tf.cli.create_pretraining_data --input_file='books/*.txt' --output_file=books.tfrecord --vocab_file=vocab.txt \
    --max_seq_length=128 --max_predictions_per_seq=20 --dupe_factor=5
"""

from bert_tf.cli import flag_config
from bert_tf.config import CreatePretrainingDataConfig


def main():
    """Reads the flags and runs the workflow."""
    flag_config.run_script(CreatePretrainingDataConfig, "create_pretraining_data", __doc__)


if __name__ == "__main__":
    main()
