"""What a task asks of a text that may have several labels, or none: each label by itself, and from which probability it is given."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from bert_tf.errors import InputError
from bert_tf.tasks import reports
from bert_tf.tasks.answers import Answer, Label
from bert_tf.tasks.logits import Logits, sigmoid
from bert_tf.tasks.metrics import SET_METRICS, Sets
from bert_tf.tasks.predictions import number_lines, set_lines
from bert_tf.tasks.thresholds import DEFAULT_THRESHOLD, Tuned, best_threshold


class SomeLabels(Answer):
    """multilabel: any of a fixed list, each by itself, none too; the model gives a probability of each."""

    metrics = SET_METRICS

    def __init__(self, labels: Sequence[str], separator: str = ",", thresholds: Sequence[float] = ()):
        """Takes the labels in the order of their ids, what stands between two in a column, and from which probability each is given.

        Without thresholds all are `DEFAULT_THRESHOLD`.
        """
        if not labels or len(set(labels)) < len(labels):
            raise InputError(f"labels are {list(labels)}; give one or more, each once")
        if thresholds and len(thresholds) != len(labels):
            raise InputError(f"there are {len(thresholds)} thresholds for {len(labels)} labels; give one, or one a label")
        self.labels = tuple(labels)
        self.num_outputs = len(labels)
        self.separator = separator
        self.thresholds = tuple(thresholds) or (DEFAULT_THRESHOLD,) * len(labels)
        self._is_given = bool(thresholds)

    @property
    def is_tunable(self) -> bool:
        """Whether an evaluation may choose the thresholds: none were given."""
        return not self._is_given

    def tuned(self, labels: Sequence[Label], logits: Logits) -> list[Tuned]:
        """Returns for each label the threshold that is best for its F1 on these rows.

        Args:
          labels: What is right, row by row.
          logits: float32[rows, labels].
        """
        columns = zip(self._targets(labels).T, sigmoid(logits).T)
        return [best_threshold(right, probabilities) for right, probabilities in columns]

    def read(self, text: str) -> tuple[str, ...]:
        """Returns the labels, in the order of their ids; an empty text is none of them."""
        given = split_labels(text, self.separator)
        unknown = next((label for label in given if label not in self.labels), None)
        if unknown is not None:
            raise ValueError(("" if given == [unknown] else f"holds {unknown!r}, which ") + reports.not_one_of(self.labels))
        return tuple(label for label in self.labels if label in given)

    def feature(self, label: Label | None) -> list[int]:
        """Returns 1 for each label that the row has and 0 for each other: int[labels]."""
        given = label if isinstance(label, tuple) else ()
        return [int(name in given) for name in self.labels]

    def tables(self, labels: Sequence[Label], logits: Logits) -> Mapping[str, Iterator[str]]:
        """Returns precision, recall and F1 of each label."""
        if len(self.labels) > reports.FEW_LABELS:
            return {}
        return {"label_scores.tsv": reports.label_score_lines(self.labels, self._targets(labels), self._predicted(logits))}

    def result_lines(self, logits: Logits) -> Iterator[str]:
        """Yields each row's probabilities."""
        return number_lines(sigmoid(logits))

    def prediction_lines(self, ids: Sequence[str], texts: Sequence[Sequence[str]], logits: Logits) -> Iterator[str]:
        """Yields id, the labels given and each label's probability."""
        return set_lines(ids, self.labels, sigmoid(logits), self._predicted(logits), self.separator)

    def _targets(self, labels: Sequence[Label]) -> Sets:
        return np.asarray([self.feature(label) for label in labels], np.bool_)

    def _predicted(self, logits: Logits) -> Sets:
        return np.asarray(sigmoid(logits) >= np.asarray(self.thresholds, np.float32))

    def _loss(self, targets: npt.NDArray[np.generic], logits: npt.NDArray[np.float64]) -> float:
        # ln(1 + e^x) - x where the label is given, ln(1 + e^x) where not
        return float(np.mean(np.logaddexp(0, logits) - np.where(targets, logits, 0)))

    def _tell(self, predicted: npt.NDArray[np.generic]) -> str:
        given = self.separator.join(label for label, yes in zip(self.labels, np.atleast_1d(predicted)) if yes)
        return repr(given) if given else "none of the labels"


def split_labels(text: str, separator: str) -> list[str]:
    """Returns the labels in a multilabel column: `split_labels("red, blue", ",")` is red and blue, and of an empty text there are none."""
    return [label for label in (part.strip() for part in text.split(separator)) if label]
