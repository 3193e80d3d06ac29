"""What a task is: one row of facts. All else follows from the row's kind, so that no other code asks for a task by its name.

The kind fixes the features, the head and its loss, how predictions are written, and the export's signatures:

| kind       | a row holds                                    | the head gives               | label feature                      |
| ---------- | ---------------------------------------------- | ---------------------------- | ---------------------------------- |
| classify   | one or two texts and one label of a fixed list | a probability of each label  | label_ids int64[], its index       |
| regress    | one or two texts and a number                  | a number                     | label_ids float32[], the number    |
| multilabel | one or two texts and any labels of a list      | a probability of each label  | label_ids int64[labels], 0s and 1s |
| choose     | one or two texts, several that may follow, and | a score of each choice       | label_ids int64[], its number      |
|            | which of these does, numbered from 0           |                              |                                    |
| tag        | the tokens of a sentence and a label for each  | a probability of each label, | label_ids int64[seq], and          |
|            |                                                | for each token               | label_mask int64[seq], where       |

What a kind does is in `tasks/answers.py`, `label_sets.py`, `choices.py` and `tags.py`; what TensorFlow needs of it in `workflows/heads.py`.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from bert_tf.errors import InputError
from bert_tf.tasks import metrics as task_metrics
from bert_tf.tasks.answers import (
    CHOOSE,
    CLASSIFY,
    MULTILABEL,
    REGRESS,
    TAG,
    Answer,
    Feature,
    Label,
    Number,
    OneLabel,
    Unlabelled,
)
from bert_tf.tasks.choices import Choice
from bert_tf.tasks.label_sets import SomeLabels
from bert_tf.tasks.tags import Tags

KINDS = (CLASSIFY, REGRESS, MULTILABEL, CHOOSE, TAG)

# What a split is for. A task may have further dev and test sets, "dev_mismatched" say, which the same model is asked for.
TRAIN, DEV, TEST = SPLITS = ("train", "dev", "test")

# How the rows of a file are written. In TSV quotes are characters like any other; in COLUMNS a line is a token, and a row a sentence.
TSV, QUOTED_TSV, CSV, JSONL, COLUMNS = FORMATS = ("tsv", "quoted_tsv", "csv", "jsonl", "columns")


def role(split: str) -> str:
    """Returns what a split is for: that of "dev_mismatched" is "dev"."""
    return split.partition("_")[0]


def suffix(split: str) -> str:
    """Returns what tells a further set's files and figures from the main set's: "_mismatched" of "dev_mismatched", "" of "dev"."""
    return split.removeprefix(role(split))


def file_of(name: str, split: str) -> str:
    """Returns the name that a file has for a split: `file_of("predictions.tsv", "test_ax")` is predictions_ax.tsv, of "test" as it is."""
    stem, dot, extension = name.partition(".")
    return f"{stem}{suffix(split)}{dot}{extension}"


@dataclass(frozen=True, slots=True)
class Row:
    """One record of a task.

    Attributes:
      id: What the source calls it: its index column, or its number from 0 where there is none.
      texts: Its texts, in the order of the task's text columns, and its choices; where tokens are tagged, the tokens.
      label: What its kind has for a label; None in a test split, whose labels are never read.
      where: File and line, for error messages.
      document: The number of the document that it is from, where the source tells documents.
    """

    id: str
    texts: tuple[str, ...]
    label: Label | None
    where: str
    document: int | None = None


class RawRow(NamedTuple):
    """A row whose label has not been looked at: what a file says, as text.

    Attributes:
      id: Its id, or its number from 0.
      texts: Its texts.
      label: Its label, by the task's own name; None in a test split.
      where: File and line, for error messages.
      document: The number of the document that it is from, where the file tells documents.
    """

    id: str
    texts: tuple[str, ...]
    label: str | None
    where: str
    document: int | None = None


@dataclass(frozen=True)
class Columns:
    """Where a source keeps what a row is made of.

    Attributes:
      texts: The columns of the texts.
      label: The column of the label.
      id: The column of the id, in sources that have one; elsewhere rows are numbered from 0.
      needs_id: Whether it must be there.
      label_names: The source's names of the labels, where they are not the task's.
      choices: The columns of the choices, in a task that chooses; a second text is then what each of them begins with.
    """

    texts: tuple[str, ...]
    label: str = "label"
    id: str | None = "index"
    needs_id: bool = False
    label_names: Mapping[str, str] = field(default_factory=dict)
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableFile:
    """One split as a file of rows.

    Attributes:
      names: The file's names within the data directory; the first that is there is read.
      columns: The task's names of its columns, where the file has none or others.
      has_header: Whether the first line names the columns. Where neither it nor `columns` does, they are called 1, 2, 3, ...
      only: The rows that count: those which have this value in this column.
      has_broken_rows: Whether the published file is known to hold rows of another number of columns, which are left out.
      format: One of `FORMATS`.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...] = ()
    has_header: bool = True
    only: Mapping[str, str] = field(default_factory=dict)
    has_broken_rows: bool = False
    format: str = TSV


@dataclass(frozen=True)
class TableSource:
    """Files of rows: one for each split, and for each further set.

    Attributes:
      columns: What they keep where.
      files: The file of each split.
      advice: The flags to check when a file is not what it should be.
      label_advice: The same for a label that the task does not have.
      may_be_quoted: Whether a TSV file may turn out to be one with quoted texts, so that --file_format is to be named.
    """

    columns: Columns
    files: Mapping[str, TableFile]
    advice: str = "check --task_name and --data_dir"
    label_advice: str = "mend the file or --task_name"
    may_be_quoted: bool = False


@dataclass(frozen=True)
class TfdsSource:
    """A data set of TensorFlow Datasets.

    Attributes:
      columns: What its records keep where.
      splits: The splits' names there, of which the first that exists is read.
      elsewhere: Further sets that are data sets of their own there, by split: their names.
    """

    columns: Columns
    splits: Mapping[str, tuple[str, ...]]
    elsewhere: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LeaderboardFile:
    """What the GLUE leaderboard wants of one test set.

    Attributes:
      name: The file in the submission, without .tsv.
      num_rows: Rows of the official test set.
      majority: The label of most training rows, to be handed in where a model does no better.
    """

    name: str
    num_rows: int
    majority: str | None = None


@dataclass(frozen=True)
class TaskSpec:
    """One task.

    Attributes:
      name: The task's name in lower case, as --task_name gives it.
      kind: One of `KINDS`.
      labels: The labels; a label's id is its place here. Empty where a label is a number.
      metrics: Names of functions in `tasks/metrics.py`; the first is what models are chosen by.
      table: Its official files.
      tfds: Its form in TensorFlow Datasets, if it has one.
      leaderboard: What GLUE wants of its test sets, by split.
      span: The lowest and the highest number that a label can be, where labels are numbers.
      label_separator: Between two labels in a label column, where a row may have several.
      thresholds: From which probability each label is given, where a row may have several.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    metrics: tuple[str, ...]
    table: TableSource
    tfds: TfdsSource | None = None
    leaderboard: Mapping[str, LeaderboardFile] = field(default_factory=dict)
    span: tuple[float, float] | None = None
    label_separator: str = ","
    thresholds: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"task {self.name}: kind is {self.kind!r}; give one of {', '.join(KINDS)}")
        try:
            answer = self.answer
        except InputError as error:
            raise InputError(f"task {self.name}: {error}") from error
        for source in (self.table, self.tfds):
            if source and not 1 <= len(source.columns.texts) <= 2:
                raise InputError(f"task {self.name}: {len(source.columns.texts)} text columns; give one or two")
            if source and len(source.columns.choices) != (len(self.labels) if self.kind == CHOOSE else 0):
                raise InputError(f"task {self.name}: {len(source.columns.choices)} columns of choices, {len(self.labels)} labels")
        task_metrics.check(self.metrics, answer.metrics, len(self.labels), f"task {self.name}")

    @cached_property
    def answer(self) -> Answer:
        """What the task asks for: its kind, with its labels."""
        if self.kind == MULTILABEL:
            return SomeLabels(self.labels, self.label_separator, self.thresholds)
        if self.kind in (CHOOSE, TAG):
            return Choice(self.labels) if self.kind == CHOOSE else Tags(self.labels)
        return Number(self.labels, self.span) if self.kind == REGRESS else OneLabel(self.labels)

    @property
    def num_texts(self) -> int:
        """Number of texts a row: 1, or 2 for pairs."""
        return len(self.table.columns.texts)

    def needed_columns(self, split: str) -> list[str]:
        """Returns the columns without which there are no rows of the split."""
        columns = self.table.columns
        label = [] if role(split) == TEST else [columns.label]
        id = [columns.id] if columns.id and columns.needs_id else []
        return [*columns.texts, *columns.choices, *self.table.files[split].only, *label, *id]

    def sets(self, role_: str) -> list[str]:
        """Returns the splits for that purpose, the main one first."""
        return [split for split in self.table.files if role(split) == role_]

    def in_language(self, language: str) -> "TaskSpec":
        """Returns the task with {language} filled in, in file names and in what tells its rows from those of other languages."""
        files = {
            split: dataclasses.replace(
                file,
                names=tuple(name.replace("{language}", language) for name in file.names),
                only={column: value.replace("{language}", language) for column, value in file.only.items()},
            )
            for split, file in self.table.files.items()
        }
        return dataclasses.replace(self, table=dataclasses.replace(self.table, files=files))

    def label_feature(self, label: Label | None) -> Feature:
        """Returns a record's label_ids."""
        return self.answer.feature(label)

    def make_row(self, split: str, id: str, texts: Sequence[str], label: str | None, where: str, document: int | None = None) -> Row:
        """Returns a row, its label checked. `label` is ignored in a test split: published test sets hold -1, or any constant.

        Raises:
          InputError: A label that the task does not have, or none where the split needs one.
        """
        if role(split) == TEST:
            return Row(id, tuple(texts), None, where, document)
        label = (label or "").strip()
        try:
            return Row(id, tuple(texts), self.answer.read(label), where, document)
        except Unlabelled as error:
            known = f"one of {', '.join(self.labels)}" if self.labels else "a number"
            raise InputError(
                f"{where}: label {label!r} means unlabelled, and {split} rows need a label; give it {known}, or leave the row out"
            ) from error
        except ValueError as error:
            raise InputError(f"{where}: label {label!r} {error}; {self.table.label_advice}") from error
