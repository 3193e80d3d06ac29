"""Tells how well a vocabulary suits text: unknown words, pieces a word, words kept whole. Prints one JSON line.

python -m bert_tf.cli.vocab_coverage --input_file='notes/*.txt' --vocab_file=uncased_L-12_H-768_A-12/vocab.txt
"""

from bert_tf.cli import flag_config
from bert_tf.config import VocabCoverageConfig


def main():
    """Reads the flags and runs the workflow."""
    flag_config.run_script(VocabCoverageConfig, "vocab_coverage", __doc__)


if __name__ == "__main__":
    main()
