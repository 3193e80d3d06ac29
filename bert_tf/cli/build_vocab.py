"""Learns a WordPiece vocabulary from text files.

python -m bert_tf.cli.build_vocab --input_file='books/*.txt' --output_file=vocab.txt --vocab_size=30000 --do_lower_case=true
"""

from bert_tf.cli import flag_config
from bert_tf.config import BuildVocabConfig


def main():
    """Reads the flags and runs the workflow."""
    flag_config.run_script(BuildVocabConfig, "build_vocab", __doc__)


if __name__ == "__main__":
    main()
