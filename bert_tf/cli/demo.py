"""Runs the whole story on the sample that comes with the package, showing each command before it runs.

Example:
  python -m bert_tf.cli.demo --output_dir=demo_output
"""

from bert_tf.cli import flag_config
from bert_tf.config import DemoConfig


def main() -> None:
    """Runs the command line."""
    flag_config.run_script(DemoConfig, "demo", __doc__)


if __name__ == "__main__":
    main()
