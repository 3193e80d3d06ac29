r"""Makes the zip that the GLUE leaderboard takes from runs that have predicted the official test sets.

Example:
  python -m bert_tf.cli.submission --output_file=submission.zip --majority_tasks=wnli \
    --run_dirs=runs/cola,runs/mnli,runs/mrpc,runs/qnli,runs/qqp,runs/rte,runs/sst-2,runs/sts-b
"""

from bert_tf.cli import flag_config
from bert_tf.config import SubmissionConfig


def main() -> None:
    """Runs the command line."""
    flag_config.run_script(SubmissionConfig, "submission", __doc__)


if __name__ == "__main__":
    main()
