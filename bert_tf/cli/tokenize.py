"""Tokenizes JSON lines of text: {"text": ...} in; {"text", "tokens", "ids", "offsets"} out, offsets in code points of the text.

python -m bert_tf.cli.tokenize --vocab_file=vocab.txt --do_lower_case=true --input_file=texts.jsonl --output_file=tokens.jsonl
"""

from bert_tf.cli import flag_config
from bert_tf.config import TokenizeConfig


def main():
    """Reads the flags and runs the workflow."""
    flag_config.run_script(TokenizeConfig, "tokenize", __doc__)


if __name__ == "__main__":
    main()
