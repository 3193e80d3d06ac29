r"""Writes TriviaQA in SQuAD's form, to fine-tune on it before SQuAD.

Example:
  python -m bert_tf.cli.trivia_qa_to_squad --input_file=triviaqa/qa/wikipedia-train.json --evidence_dir=triviaqa/evidence \
    --output_file=triviaqa/wikipedia-train.squad.json
"""

from bert_tf.cli import flag_config
from bert_tf.config import TriviaQaConfig


def main() -> None:
    """Runs the command line."""
    flag_config.run_script(TriviaQaConfig, "trivia_qa_to_squad", __doc__)


if __name__ == "__main__":
    main()
