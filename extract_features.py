r"""Writes what layers of a BERT encoder say of each piece of each line of a text, as JSON lines.

Example:
  python extract_features.py --input_file=input.txt --output_file=output.jsonl --init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt \
    --vocab_file=uncased_L-12_H-768_A-12/vocab.txt --bert_config_file=uncased_L-12_H-768_A-12/bert_config.json --layers=-1,-2,-3,-4

A line is a text, or two, separated by ` ||| `.
"""

from bert_tf.cli import flag_config
from bert_tf.config import ExtractFeaturesConfig


def main() -> None:
    """Runs the command line."""
    flag_config.run_script(ExtractFeaturesConfig, "extract_features", __doc__)


if __name__ == "__main__":
    main()
