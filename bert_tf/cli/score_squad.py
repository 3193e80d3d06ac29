"""Scores a predictions file by SQuAD's official rules and prints one JSON line.

Example:
  python -m bert_tf.cli.score_squad --dataset=dev-v2.0.json --predictions=runs/squad/predictions.json --null_odds=runs/squad/null_odds.json
"""

from bert_tf.cli import flag_config
from bert_tf.config import ScoreSquadConfig


def main() -> None:
    """Runs the command line."""
    flag_config.run_script(ScoreSquadConfig, "score_squad", __doc__)


if __name__ == "__main__":
    main()
