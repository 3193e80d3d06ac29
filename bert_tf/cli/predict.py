"""Predicts raw text with an exported model and prints one JSON object a text.

Example:
  python -m bert_tf.cli.predict --saved_model=runs/mrpc/export --text="He left." --text_pair="He went away."
"""

from bert_tf.cli import flag_config
from bert_tf.config import PredictConfig


def main() -> None:
    """Runs the command line."""
    flag_config.run_script(PredictConfig, "predict", __doc__)


if __name__ == "__main__":
    main()
