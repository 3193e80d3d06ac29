"""Adds words to a model's vocabulary and writes the model with them.

python -m bert_tf.cli.extend_vocab --init_checkpoint=uncased_L-12_H-768_A-12 --words_file=words.txt --output_dir=extended
"""

from bert_tf.cli import flag_config
from bert_tf.config import ExtendVocabConfig


def main():
    """Reads the flags and runs the workflow."""
    flag_config.run_script(ExtendVocabConfig, "extend_vocab", __doc__)


if __name__ == "__main__":
    main()
