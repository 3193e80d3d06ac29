"""What a task is: one row of facts. All else follows from the row's kind, so that no other code asks for a task by its name.

The kind fixes the features, the head and its loss, how predictions are written, and the export's signatures:

| kind     | a row holds                                    | the head gives             | label feature        |
| -------- | ---------------------------------------------- | -------------------------- | -------------------- |
| classify | one or two texts and one label of a fixed list | a probability of each label | label_ids, its index |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bert_tf.errors import InputError
from bert_tf.tasks import metrics as task_metrics

CLASSIFY = "classify"
KINDS = (CLASSIFY,)

TRAIN, DEV, TEST = SPLITS = ("train", "dev", "test")

# What stands in a label column where there is no label: published test sets hold -1, the MultiNLI corpus "-" where annotators differ.
UNLABELLED = ("", "-", "-1")


@dataclass(frozen=True, slots=True)
class Row:
    """One record of a task.

    Attributes:
      id: What the source calls it: its index column, or its number from 0 where there is none.
      texts: Its texts, in the order of the task's text columns.
      label: One of the task's labels; None in a test split, whose labels are never read.
      where: File and line, for error messages.
    """

    id: str
    texts: tuple[str, ...]
    label: str | None
    where: str


@dataclass(frozen=True)
class Columns:
    """Where a source keeps what a row is made of.

    Attributes:
      texts: The columns of the texts.
      label: The column of the label.
      id: The column of the id, in sources that have one.
      label_names: The source's names of the labels, where they are not the task's.
    """

    texts: tuple[str, ...]
    label: str = "label"
    id: str = "index"
    label_names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TsvFile:
    """One split as a file of tab-separated values.

    Attributes:
      names: The file's names within the data directory; the first that is there is read.
      columns: The names of its columns where the file itself has no header line.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class TsvSource:
    """A directory of tab-separated files: a file for each split."""

    columns: Columns
    files: Mapping[str, TsvFile]


@dataclass(frozen=True)
class TfdsSource:
    """A data set of TensorFlow Datasets; the splits' names there, of which the first that exists is read."""

    columns: Columns
    splits: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class TaskSpec:
    """One task.

    Attributes:
      name: The task's name in lower case, as --task_name gives it.
      kind: One of `KINDS`.
      labels: The labels; a label's id is its place here.
      metrics: Names of functions in `tasks/metrics.py`; the first is what models are chosen by.
      tsv: Its official files.
      tfds: Its form in TensorFlow Datasets, if it has one.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    metrics: tuple[str, ...]
    tsv: TsvSource
    tfds: TfdsSource | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"task {self.name}: kind is {self.kind!r}; give one of {', '.join(KINDS)}")
        if len(set(self.labels)) < 2 or len(set(self.labels)) < len(self.labels):
            raise InputError(f"task {self.name}: labels are {list(self.labels)}; give two or more, each once")
        for source in (self.tsv, self.tfds):
            if source and not 1 <= len(source.columns.texts) <= 2:
                raise InputError(f"task {self.name}: {len(source.columns.texts)} text columns; give one or two")
        task_metrics.check(self.metrics, len(self.labels), f"task {self.name}")

    @property
    def num_texts(self) -> int:
        """Number of texts a row: 1, or 2 for pairs."""
        return len(self.tsv.columns.texts)

    def label_id(self, label: str | None) -> int:
        """Returns the label's index; 0 for a row without label, as google-research/bert writes test rows."""
        return 0 if label is None else self.labels.index(label)

    def make_row(self, split: str, id: str, texts: Sequence[str], label: str | None, where: str) -> Row:
        """Returns a row, its label checked. `label` is ignored in the test split: published test sets hold -1, or any constant.

        Raises:
          InputError: A label that the task does not have, or none where the split needs one.
        """
        if split == TEST:
            return Row(id, tuple(texts), None, where)
        label = (label or "").strip()
        if label in self.labels:
            return Row(id, tuple(texts), label, where)
        known = ", ".join(self.labels)
        if label in UNLABELLED:
            raise InputError(
                f"{where}: label {label!r} means unlabelled, and {split} rows need a label; give it one of {known}, or leave the row out"
            )
        raise InputError(f"{where}: label {label!r} is not one of {self.name}'s labels {known}; mend the file or --task_name")
