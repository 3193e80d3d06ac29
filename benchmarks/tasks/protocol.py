"""The protocol: what is fine-tuned on what, from which weights, with which settings and how many seeds. No TensorFlow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bert_tf.config.fields import flag, require, settle

CLASSIFIER, SQUAD = "run_classifier", "run_squad"


@dataclass(frozen=True, kw_only=True)
class TasksConfig:
    """Data and a pre-trained model in, a table of fine-tuned runs out."""

    data_dir: str = flag(None, required=True, help="The folder with glue, squad, conll2003 and swag.")
    work_dir: str = flag(None, required=True, help="Where the data in official form, the runs and the table go.")
    init_checkpoint: str = flag(None, required=True, help="The pre-trained model: what run_classifier.py takes.")
    only: str = flag("", help="Rows of the protocol, separated by commas. Default: all.")
    max_rows: int = flag(0, help="A trial of the protocol: rows taken of each file, in a folder of its own. 0: all rows.")

    def __post_init__(self) -> None:
        settle(self)
        require(self.max_rows >= 0, f"max_rows is {self.max_rows}; give 0 or more")
        self.rows()

    def rows(self) -> list["Row"]:
        """Returns the rows that the flag names, in the order of the protocol."""
        asked = {name.strip() for name in self.only.split(",") if name.strip()}
        unknown = sorted(asked - {row.name for row in ROWS})
        require(not unknown, f"only names {', '.join(unknown)}; give some of {', '.join(row.name for row in ROWS)}")
        return [row for row in ROWS if not asked or row.name in asked]


class Row(NamedTuple):
    """A line of the protocol: a sweep of restarts.

    Attributes:
      name: What --only calls it.
      task: The task, as the paper's figures are found by.
      data: The data set, as data.py knows it.
      scores: The figures of eval_results.txt that are told, the first one first.
      flags: What the script is told besides data and model.
      restarts: Runs, with seeds from 1 on.
      from_random: Whether it starts from random weights of the model's shape.
      unlike: What keeps the figure from being set beside those of others.
    """

    name: str
    task: str
    data: str
    scores: Sequence[str]
    flags: Mapping[str, Any]
    restarts: int = 1
    from_random: bool = False
    unlike: str = ""

    @property
    def script(self) -> str:
        """The script that runs it."""
        return SQUAD if self.task.startswith("squad") else CLASSIFIER


def _settings(learning_rate: float, num_train_epochs: float, max_seq_length: int = 128, train_batch_size: int = 32) -> dict[str, Any]:
    return {
        "learning_rate": learning_rate,
        "num_train_epochs": num_train_epochs,
        "max_seq_length": max_seq_length,
        "train_batch_size": train_batch_size,
    }


_F1, _ACCURACY, _SQUAD = ("eval_f1", "eval_accuracy"), ("eval_accuracy",), ("f1", "exact_match")
_CONLL = ("eval_entity_f1", "eval_entity_precision", "eval_entity_recall")
_QUESTIONS = _settings(1e-4, 2.0, 384, 16) | {"doc_stride": 128}
# MiniLM is uncased, so NER is tagged without the capitals that help it most: its figures are not those of a cased model
_TAGS = _settings(1e-4, 2.0) | {"do_lower_case": True}
_UNCASED = "uncased model"

FROM_CHECKPOINT = (
    Row("mrpc", "mrpc", "MRPC", _F1, _settings(1e-4, 4.0), restarts=3),
    Row("cola", "cola", "CoLA", ("eval_matthews", "eval_accuracy"), _settings(1e-4, 4.0), restarts=3),
    Row("sts-b", "sts-b", "STS-B", ("eval_pearson", "eval_spearman"), _settings(1e-4, 4.0), restarts=3),
    Row("rte", "rte", "RTE", _ACCURACY, _settings(1e-4, 4.0), restarts=3),
    Row("sst-2", "sst-2", "SST-2", _ACCURACY, _settings(1e-4, 1.0)),
    Row("wnli", "wnli", "WNLI", _ACCURACY, _settings(5e-5, 3.0), unlike="dev made to mislead"),
    Row("qnli", "qnli", "QNLI", _ACCURACY, _settings(1e-4, 3.0), unlike="8,999 rows to train on"),
    Row("mnli", "mnli", "MNLI", _ACCURACY, _settings(1e-4, 3.0), unlike="8,999 rows to train on, 1,000 of dev"),
    Row("qqp", "qqp", "QQP", _F1, _settings(1e-4, 3.0), unlike="8,999 rows to train on, 1,000 of dev"),
    Row("squad1", "squad-v1.1", "squad1", _SQUAD, _QUESTIONS, unlike="40 articles to train on, 8 of dev"),
    Row(
        *("squad2", "squad-v2.0", "squad2", _SQUAD, _QUESTIONS | {"version_2_with_negative": True}),
        unlike="8 articles to train on, 2 of dev",
    ),
    Row("conll2003", "conll2003", "conll2003", _CONLL, _TAGS, unlike=_UNCASED),
    Row("conll2003-5000", "conll2003", "conll2003-5000", _CONLL, _TAGS, unlike=f"{_UNCASED}, 5,000 sentences to train on"),
)

# Section 5.3's six rows without fine-tuning, on the sentences of conll2003-5000, beside which they stand: one Row each, whose flags name
# the encoder's layers and how they are mixed.
FEATURE_BASED: tuple[Row, ...] = ()

# Can the tasks' whole way be learned? 21 rows are evaluated on themselves.
SMOKE = (
    Row(
        *("swag", "swag", "swag", _ACCURACY, _settings(1e-4, 40.0, 64, 4)),
        unlike="21 rows, evaluated on themselves: a smoke test",
    ),
)


def _from_random(row: Row) -> Row:
    return row._replace(name=f"{row.name}-random", restarts=1, from_random=True)


FROM_RANDOM = tuple(_from_random(row) for row in FROM_CHECKPOINT if row.name in ("mrpc", "squad1", "conll2003"))

ROWS = FROM_CHECKPOINT + FEATURE_BASED + SMOKE + FROM_RANDOM


class Demand(NamedTuple):
    """By how much a row from the checkpoint has to beat the one from random weights, in points of a score."""

    row: str
    score: str
    points: float


DEMANDS = (Demand("mrpc", "eval_accuracy", 5.0), Demand("squad1", "f1", 15.0), Demand("conll2003", "eval_entity_f1", 10.0))


def sweep_flags(row: Row, folder: str, data: str, model: Mapping[str, str]) -> list[str]:
    """Returns the command line of the row's sweep.

    Args:
      row: The row.
      folder: Where the sweep goes.
      data: The folder of its data.
      model: The flags of the model that it starts from.
    """
    rows = {"task_name": row.task, "data_dir": data, "eval_batch_size": 32}
    if row.script == SQUAD:
        rows = {"train_file": f"{data}/train.json", "predict_file": f"{data}/dev.json", "predict_batch_size": 32}
    # seeds from 1; a killed run loses 200 steps at most
    told = {"random_seed": 1, "save_checkpoints_steps": 200, "keep_checkpoint_max": 1} | rows | dict(model) | dict(row.flags)
    own = {"script": row.script, "grid": "", "restarts": row.restarts, "output_dir": folder}
    return [f"--{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in (own | told).items()]
