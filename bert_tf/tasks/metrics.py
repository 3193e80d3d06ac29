"""Scores of a task from label ids and predicted ids: NumPy only.

A score that the rows leave undefined is nan, never a number that looks like a result; `undefined` says why.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from bert_tf.errors import InputError

Ids = npt.NDArray[np.int64]


def accuracy(labels: Ids, predictions: Ids) -> float:
    """Returns the share of rows predicted right."""
    return float(np.mean(labels == predictions))


def f1(labels: Ids, predictions: Ids) -> float:
    """Returns F1 of the positive class, that of id 1; nan where no row is labelled or predicted positive."""
    right = int(np.sum((labels == 1) & (predictions == 1)))
    both = int(np.sum(labels == 1) + np.sum(predictions == 1))
    return 2 * right / both if both else math.nan


def matthews(labels: Ids, predictions: Ids) -> float:
    """Returns the Matthews correlation of two classes, Pearson's for 0 and 1; nan where all rows have one label.

    Where the labels differ and the predictions do not, it is 0, as GLUE's scorer (scikit-learn) has it: such predictions know nothing.
    """
    if np.all(labels == labels[0]):
        return math.nan
    if np.all(predictions == predictions[0]):
        return 0.0
    return float(np.corrcoef(labels, predictions)[0, 1])


METRICS: Mapping[str, Callable[[Ids, Ids], float]] = {"accuracy": accuracy, "f1": f1, "matthews": matthews}
_TWO_CLASSES = ("f1", "matthews")
_WHY_UNDEFINED = {
    "f1": "no row is labelled or predicted as the positive class",
    "matthews": "all rows have the same label",
}


def check(names: Sequence[str], num_labels: int, where: str) -> None:
    """Checks that there are metrics, that all are known, and that they can score so many labels.

    Raises:
      InputError: One that is unknown, or made for two labels where there are more.
    """
    if not names:
        raise InputError(f"{where}: no metric; give one or more of {', '.join(METRICS)}")
    for name in names:
        if name not in METRICS:
            raise InputError(f"{where}: metric {name!r} is unknown; give one of {', '.join(METRICS)}")
        if name in _TWO_CLASSES and num_labels != 2:
            raise InputError(f"{where}: metric {name} is for 2 labels, not {num_labels}; give accuracy")


def compute(names: Iterable[str], labels: npt.ArrayLike, predictions: npt.ArrayLike) -> dict[str, float]:
    """Returns each named score.

    For example, `compute(["f1", "accuracy"], [1, 0, 1], [1, 1, 1])` is 0.8 and two thirds.

    Args:
      names: Keys of `METRICS`.
      labels: int64[rows], label ids.
      predictions: int64[rows], predicted label ids.
    """
    label_ids = np.asarray(labels, np.int64)
    predicted_ids = np.asarray(predictions, np.int64)
    if label_ids.ndim != 1 or label_ids.shape != predicted_ids.shape or not label_ids.size:
        raise ValueError(f"labels {label_ids.shape} and predictions {predicted_ids.shape} must be two vectors of one length, at least 1")
    return {name: METRICS[name](label_ids, predicted_ids) for name in names}


def undefined(scores: Mapping[str, float]) -> dict[str, str]:
    """Returns why, for each score that is nan."""
    return {name: _WHY_UNDEFINED[name] for name, score in scores.items() if math.isnan(score)}
