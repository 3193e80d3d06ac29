r"""Writes the articles of a Wikipedia dump as documents: one sentence a line, a blank line between documents.

python -m bert_tf.cli.extract_wikipedia --input_file=enwiki-latest-pages-articles.xml.bz2 --output_file=wikipedia.txt
"""

from bert_tf.cli import flag_config
from bert_tf.config import ExtractWikipediaConfig


def main():
    """Reads the flags and runs the workflow."""
    flag_config.run_script(ExtractWikipediaConfig, "extract_wikipedia", __doc__)


if __name__ == "__main__":
    main()
