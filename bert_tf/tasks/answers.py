"""What a task asks of a text, by the task's kind: one label of several, or a number; more in `label_sets.py`, `choices.py`, `tags.py`.

All that depends on the kind alone and needs no TensorFlow is here, a class a kind: how a label is read, what is written to TFRecords
for it, how logits are scored and told. What TensorFlow needs to know of a kind is in `workflows/heads.py`.
"""

import abc
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from bert_tf.errors import InputError
from bert_tf.tasks import reports
from bert_tf.tasks.logits import Logits, log_softmax, softmax
from bert_tf.tasks.metrics import CLASS_METRICS, NUMBER_METRICS, Ids, Metrics, Numbers, compute
from bert_tf.tasks.predictions import number_lines, prediction_lines

CLASSIFY, REGRESS, MULTILABEL, CHOOSE, TAG = "classify", "regress", "multilabel", "choose", "tag"

# A label of the list, a number, labels of the list in its order, or a label a token.
Label = str | float | tuple[str, ...]
Feature = int | float | list[int]

# What stands in a label column where there is no label: published test sets hold -1, the MultiNLI corpus "-" where annotators differ.
UNLABELLED = ("", "-", "-1")


class Unlabelled(ValueError):
    """What stands in a label column says that the row has no label."""


class Answer(abc.ABC):
    """What a task asks for.

    Attributes:
      metrics: The metrics that can score it, by name.
      always: Those of them that every evaluation tells, whatever the task's own are.
      num_outputs: How many numbers the model gives for a row.
      labels: The labels; a label's id is its place here.
      predictions_name: The file of what `prediction_lines` yields.
    """

    metrics: Metrics
    always: tuple[str, ...] = ()
    num_outputs: int
    labels: tuple[str, ...] = ()
    predictions_name = "predictions.tsv"

    @abc.abstractmethod
    def read(self, text: str) -> Label:
        """Returns the label that a label column holds.

        Raises:
          Unlabelled: The row has none.
          ValueError: It is none of the task's; the message goes on from "label 'x' ".
        """

    @abc.abstractmethod
    def feature(self, label: Label | None) -> Feature:
        """Returns the record's label_ids; of a row without a label, something that fits, as google-research/bert writes test rows."""

    def scores(self, names: Iterable[str], labels: Sequence[Label], logits: Logits) -> dict[str, float]:
        """Returns the named metrics, those that are always told, and `loss`, the mean of what training lowers.

        Args:
          names: Metrics.
          labels: What is right, row by row.
          logits: float32[rows, outputs].
        """
        right = self._targets(labels)
        scores = compute(dict.fromkeys((*self.always, *names)), right, self._predicted(logits), self.metrics)
        return scores | {"loss": self._loss(right, logits.astype(np.float64))}

    @property
    def is_tunable(self) -> bool:
        """Whether an evaluation may choose from which probability each label is given: nobody else has."""
        return False

    def collapsed(self, labels: Sequence[Label], logits: Logits) -> str | None:
        """Returns what all rows are predicted as, where that is the same though their labels differ; else None."""
        right, predicted = self._targets(labels), self._predicted(logits)
        return self._tell(predicted[0]) if self._alike(predicted) and not self._alike(right) else None

    def tables(self, labels: Sequence[Label], logits: Logits) -> Mapping[str, Iterator[str]]:
        """Returns the lines of the tables that tell the evaluation label by label, by file name; none where there are many labels."""
        del labels, logits
        return {}

    @abc.abstractmethod
    def result_lines(self, logits: Logits) -> Iterator[str]:
        """Yields the lines of test_results.tsv: numbers alone, no header, as google-research/bert writes them."""

    @abc.abstractmethod
    def prediction_lines(self, ids: Sequence[str], texts: Sequence[Sequence[str]], logits: Logits) -> Iterator[str]:
        """Yields the lines of predictions.tsv: a header, then for each row its id, the answer, and what else the model says of it.

        `texts` are the rows' texts, for answers that are about parts of them.
        """

    @abc.abstractmethod
    def _targets(self, labels: Sequence[Label]) -> npt.NDArray[np.generic]:
        """Returns what is right as the metrics want it."""

    @abc.abstractmethod
    def _predicted(self, logits: Logits) -> npt.NDArray[np.generic]:
        """Returns what the logits say, in the same form."""

    def _alike(self, answers: npt.NDArray[np.generic]) -> bool:
        """Returns whether the answers, targets or predictions, are the same for all rows."""
        return bool(np.all(answers == answers[0]))

    @abc.abstractmethod
    def _loss(self, targets: npt.NDArray[np.generic], logits: npt.NDArray[np.float64]) -> float:
        """Returns the mean loss."""

    @abc.abstractmethod
    def _tell(self, predicted: npt.NDArray[np.generic]) -> str:
        """Returns one row's prediction in words."""


class OneLabel(Answer):
    """classify: one label of a fixed list; the model gives a probability of each."""

    metrics = CLASS_METRICS
    always = ("accuracy",)

    def __init__(self, labels: Sequence[str]):
        """Takes the labels in the order of their ids."""
        if len(set(labels)) < 2 or len(set(labels)) < len(labels):
            raise InputError(f"labels are {list(labels)}; give two or more, each once")
        self.labels = tuple(labels)
        self.num_outputs = len(labels)
        self._ids = {label: id for id, label in enumerate(labels)}

    def read(self, text: str) -> str:
        """Returns the label."""
        if text in self._ids:
            return text
        if text in UNLABELLED:
            raise Unlabelled
        raise ValueError(reports.not_one_of(self.labels))

    def feature(self, label: Label | None) -> int:
        """Returns the label's id; 0 without a label."""
        return 0 if label is None else self._ids[str(label)]

    def tables(self, labels: Sequence[Label], logits: Logits) -> Mapping[str, Iterator[str]]:
        """Returns the confusion matrix, and precision, recall and F1 of each label."""
        if len(self.labels) > reports.FEW_LABELS:
            return {}
        right, predicted = self._targets(labels), self._predicted(logits)
        marks = [ids[:, None] == np.arange(len(self.labels)) for ids in (right, predicted)]
        return {
            "confusion_matrix.tsv": reports.confusion_lines(self.labels, right, predicted),
            "label_scores.tsv": reports.label_score_lines(self.labels, *marks),
        }

    def result_lines(self, logits: Logits) -> Iterator[str]:
        """Yields each row's probabilities."""
        return number_lines(softmax(logits))

    def prediction_lines(self, ids: Sequence[str], texts: Sequence[Sequence[str]], logits: Logits) -> Iterator[str]:
        """Yields id, the likeliest label and each label's probability."""
        return prediction_lines(ids, self.labels, softmax(logits))

    def _targets(self, labels: Sequence[Label]) -> Ids:
        return np.asarray([self.feature(label) for label in labels], np.int64)

    def _predicted(self, logits: Logits) -> Ids:
        return np.asarray(logits.argmax(axis=1), np.int64)

    def _loss(self, targets: npt.NDArray[np.generic], logits: npt.NDArray[np.float64]) -> float:
        return float(-log_softmax(logits)[np.arange(len(targets)), targets].mean())

    def _tell(self, predicted: npt.NDArray[np.generic]) -> str:
        return repr(self.labels[int(predicted)])


class Number(Answer):
    """regress: a number; the model gives one."""

    metrics = NUMBER_METRICS
    num_outputs = 1

    def __init__(self, labels: Sequence[str] = (), span: tuple[float, float] | None = None):
        """Takes no labels, but the lowest and the highest number that a label can be."""
        if labels:
            raise InputError(f"labels are {list(labels)}, but the kind is {REGRESS}, whose labels are numbers; leave them out")
        self.span = span

    def read(self, text: str) -> float:
        """Returns the number."""
        if text == "":
            raise Unlabelled
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        # more than float32 holds is no score of anything
        if not abs(number) <= float(np.finfo(np.float32).max):
            raise ValueError("is not a number")
        if self.span is not None and not self.span[0] <= number <= self.span[1]:
            raise ValueError(f"is not a number from {self.span[0]:g} to {self.span[1]:g}")
        return number

    def feature(self, label: Label | None) -> float:
        """Returns the number; 0 without a label."""
        return 0.0 if label is None else float(label)  # type: ignore[arg-type]

    def result_lines(self, logits: Logits) -> Iterator[str]:
        """Yields each row's number."""
        return number_lines(logits)

    def prediction_lines(self, ids: Sequence[str], texts: Sequence[Sequence[str]], logits: Logits) -> Iterator[str]:
        """Yields id and number."""
        yield "id\tprediction"
        for id, line in zip(ids, number_lines(logits), strict=True):
            yield f"{id}\t{line}"

    def _targets(self, labels: Sequence[Label]) -> Numbers:
        return np.asarray(labels, np.float64)

    def _predicted(self, logits: Logits) -> Numbers:
        return np.asarray(logits[:, 0], np.float64)

    def _alike(self, answers: npt.NDArray[np.generic]) -> bool:
        numbers = np.asarray(answers, np.float64)  # computed numbers are never quite the same
        return bool(np.ptp(numbers) <= 1e-4 * np.max(np.abs(numbers)))

    def _loss(self, targets: npt.NDArray[np.generic], logits: npt.NDArray[np.float64]) -> float:
        return float(np.mean((logits[:, 0] - np.asarray(targets, np.float64)) ** 2))

    def _tell(self, predicted: npt.NDArray[np.generic]) -> str:
        return f"{float(predicted):.4g}"
