r"""Averages the logits of finished runs, and scores and writes what they say together.

Example, after a sweep:
  python -m bert_tf.cli.ensemble --output_dir=runs/mrpc/ensemble --run_dirs=runs/mrpc/01_learning_rate-5e-05_seed-12345,...
"""

from bert_tf.cli import flag_config
from bert_tf.config import EnsembleConfig


def main() -> None:
    """Runs the command line."""
    flag_config.run_script(EnsembleConfig, "ensemble", __doc__)


if __name__ == "__main__":
    main()
