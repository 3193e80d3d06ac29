"""Questions on texts: fine-tuning and predicting, scoring, and TriviaQA in SQuAD's form."""

from dataclasses import dataclass

from bert_tf.config.fields import LARGEST_SIZE, flag, require, settle
from bert_tf.config.training import EpochsConfig


@dataclass(frozen=True, kw_only=True)
class SquadConfig(EpochsConfig):
    """SQuAD's JSON in, a fine-tuned model, its answers and its official scores out."""

    train_file: str | None = flag(None, help="SQuAD's JSON to train on, as train-v1.1.json.", identity=False)
    predict_file: str | None = flag(None, help="SQuAD's JSON to predict and evaluate, as dev-v1.1.json or test-v1.1.json.", identity=False)
    max_seq_length: int = flag(384, help="Length of a window in pieces, [CLS] and [SEP] included.")
    doc_stride: int = flag(128, help="Pieces between the starts of two windows of a context.")
    max_query_length: int = flag(64, help="Most pieces of a question; what is beyond is cut off.")
    n_best_size: int = flag(20, help="Entries of an n-best list, and starts and ends looked at in a window.", identity=False)
    max_answer_length: int = flag(30, help="Most pieces of an answer.", identity=False)
    version_2_with_negative: bool = flag(False, help="Some questions have no answer, as in SQuAD v2.0.")
    null_score_diff_threshold: float | None = flag(
        None,
        help="Answer nothing where the null odds are above this. Default: what --do_eval tuned and stored with the model, else 0.",
        identity=False,
    )
    strict: bool = flag(False, help="Refuse a training file whose answer_start does not point at the answer's text.", identity=False)
    verbose_logging: bool = flag(False, help="Show each answer that is not where the training file says.", identity=False)
    eval_batch_size: int = flag(
        8, help="Accepted and ignored: evaluation and prediction are one, of --predict_batch_size windows a step.", identity=False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("doc_stride", "max_query_length", "n_best_size", "max_answer_length"):
            require(1 <= getattr(self, name) <= LARGEST_SIZE, f"{name} is {getattr(self, name)}; give 1 to {LARGEST_SIZE:,}")
        require(
            self.max_seq_length > self.max_query_length + 3,
            f"max_seq_length is {self.max_seq_length}, which leaves no room for a context beside max_query_length {self.max_query_length} "
            "and three special tokens; raise the first or lower the second",
        )
        require(not self.do_train or self.train_file is not None, "do_train needs train_file; give it")
        asked = [name for name in ("do_predict", "do_eval") if getattr(self, name)]
        asked += ["eval_steps"] if self.do_train and self.eval_steps else []
        require(not asked or self.predict_file is not None, f"{(asked or ['do_predict'])[0]} needs predict_file; give it")


@dataclass(frozen=True, kw_only=True)
class ScoreSquadConfig:
    """A data set and predictions in, official scores out."""

    dataset: str = flag(None, required=True, help="SQuAD's JSON with the answers, as dev-v1.1.json.")
    predictions: str = flag(None, required=True, help="predictions.json: from question ids to answers.")
    null_odds: str | None = flag(
        None, help="null_odds.json: from question ids to how much no answer is preferred; finds the best threshold."
    )

    def __post_init__(self) -> None:
        settle(self)


@dataclass(frozen=True, kw_only=True)
class TriviaQaConfig:
    """TriviaQA's JSON and documents in, SQuAD's JSON out."""

    input_file: str = flag(None, required=True, help="TriviaQA's JSON, as qa/wikipedia-train.json.")
    evidence_dir: str = flag(None, required=True, help="TriviaQA's folder `evidence`, which holds wikipedia and web.")
    output_file: str = flag(None, required=True, help="The JSON to write, in SQuAD's form: a --train_file of run_squad.py.")
    max_words: int = flag(400, help="Words of a document that become the context, counted from its start.")

    def __post_init__(self) -> None:
        settle(self)
        require(1 <= self.max_words <= LARGEST_SIZE, f"max_words is {self.max_words}; give 1 to {LARGEST_SIZE:,}")
