"""Scores of a task from what is right and what was predicted: NumPy only.

There are three families, by what a row's label is: one class, a number, or several classes at once. A score that the rows leave
undefined is nan, never a number that looks like a result; `undefined` says why.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bert_tf.errors import InputError

Ids = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]
Sets = npt.NDArray[np.bool_]
Metrics = Mapping[str, Callable[[Any, Any], float]]


def accuracy(labels: Ids, predictions: Ids) -> float:
    """Returns the share of rows predicted right."""
    return float(np.mean(labels == predictions))


def f1(labels: Ids, predictions: Ids) -> float:
    """Returns F1 of the positive class, that of id 1; nan where no row is labelled or predicted positive."""
    return _f1(labels == 1, predictions == 1)


def matthews(labels: Ids, predictions: Ids) -> float:
    """Returns the Matthews correlation of two classes, Pearson's for 0 and 1; nan where all rows have one label.

    Where the labels differ and the predictions do not, it is 0, as GLUE's scorer (scikit-learn) has it: such predictions know nothing.
    """
    if np.all(labels == labels[0]):
        return math.nan
    if np.all(predictions == predictions[0]):
        return 0.0
    return float(np.corrcoef(labels, predictions)[0, 1])


def class_macro_f1(labels: Ids, predictions: Ids) -> float:
    """Returns the mean F1 of the classes that are labelled or predicted at all."""
    return _mean_f1([_f1(labels == id, predictions == id) for id in np.union1d(labels, predictions)])


def pearson(labels: Numbers, predictions: Numbers) -> float:
    """Returns Pearson's correlation; nan where the labels or the predictions are all the same."""
    if np.ptp(labels) == 0 or np.ptp(predictions) == 0:
        return math.nan
    return float(np.corrcoef(labels, predictions)[0, 1])


def spearman(labels: Numbers, predictions: Numbers) -> float:
    """Returns Spearman's rank correlation, ties at their mean rank; nan where the labels or the predictions are all the same."""
    return pearson(_ranks(labels), _ranks(predictions))


def exact(labels: Sets, predictions: Sets) -> float:
    """Returns the share of rows whose labels are all predicted, and no others."""
    return float(np.mean(np.all(labels == predictions, axis=1)))


def micro_f1(labels: Sets, predictions: Sets) -> float:
    """Returns F1 over all (row, label) pairs; nan where there is none, neither labelled nor predicted."""
    return _f1(labels, predictions)


def macro_f1(labels: Sets, predictions: Sets) -> float:
    """Returns the mean of the labels' own F1; a label that no row has and none is predicted with does not count."""
    return _mean_f1([_f1(labels[:, id], predictions[:, id]) for id in range(labels.shape[1])])


CLASS_METRICS: Metrics = {"accuracy": accuracy, "f1": f1, "matthews": matthews, "macro_f1": class_macro_f1}
NUMBER_METRICS: Metrics = {"pearson": pearson, "spearman": spearman}
SET_METRICS: Metrics = {"micro_f1": micro_f1, "macro_f1": macro_f1, "accuracy": exact}

_TWO_CLASSES = ("f1", "matthews")
_ALL_THE_SAME = "all rows have the same label, or the same prediction"
_NO_ENTITY = "no token is labelled or predicted as part of an entity"
_WHY_UNDEFINED = {
    "f1": "no row is labelled or predicted as the positive class",
    "matthews": "all rows have the same label",
    "pearson": _ALL_THE_SAME,
    "spearman": _ALL_THE_SAME,
    "micro_f1": "no row has a label, labelled or predicted",
    "macro_f1": "no row has a label, labelled or predicted",
    "entity_f1": _NO_ENTITY,
    "entity_precision": _NO_ENTITY,
    "entity_recall": _NO_ENTITY,
    "loss": "there is no finite prediction to take the mean over",
}


def check(names: Sequence[str], metrics: Metrics, num_labels: int, where: str) -> None:
    """Checks that there are metrics, that all are known, and that they can score so many labels.

    Raises:
      InputError: One that is unknown, or made for two labels where there are more.
    """
    if not names:
        raise InputError(f"{where}: no metric; give one or more of {', '.join(metrics)}")
    for name in names:
        if name not in metrics:
            raise InputError(f"{where}: metric {name!r} is unknown; give one of {', '.join(metrics)}")
        if name in _TWO_CLASSES and num_labels != 2:
            raise InputError(f"{where}: metric {name} is for 2 labels, not {num_labels}; give accuracy")


def compute(names: Iterable[str], labels: npt.ArrayLike, predictions: npt.ArrayLike, metrics: Metrics = CLASS_METRICS) -> dict[str, float]:
    """Returns each named score.

    For example, `compute(["f1", "accuracy"], [1, 0, 1], [1, 1, 1])` is 0.8 and two thirds.

    Args:
      names: Keys of `metrics`.
      labels: What is right: int64[rows] label ids, float64[rows] numbers, or bool[rows, labels], as the metrics want it.
      predictions: What was predicted, in the same form.
      metrics: `CLASS_METRICS`, `NUMBER_METRICS` or `SET_METRICS`.
    """
    dtype: npt.DTypeLike = {id(NUMBER_METRICS): np.float64, id(SET_METRICS): np.bool_}.get(id(metrics), np.int64)
    right: npt.NDArray[Any] = np.asarray(labels, dtype)
    predicted: npt.NDArray[Any] = np.asarray(predictions, dtype)
    if right.ndim != (2 if metrics is SET_METRICS else 1) or right.shape != predicted.shape or not right.size:
        raise ValueError(f"labels {right.shape} and predictions {predicted.shape} must be two vectors of one length, at least 1")
    return {name: metrics[name](right, predicted) for name in names}


def undefined(scores: Mapping[str, float]) -> dict[str, str]:
    """Returns why, for each score that is nan."""
    return {name: _WHY_UNDEFINED[name] for name, score in scores.items() if math.isnan(score)}


def _f1(labels: Sets, predictions: Sets) -> float:
    """Returns F1 of what is marked, in arrays of any shape; nan where nothing is."""
    both = int(np.sum(labels) + np.sum(predictions))
    return 2 * int(np.sum(labels & predictions)) / both if both else math.nan


def _mean_f1(scores: Sequence[float]) -> float:
    defined = [score for score in scores if not math.isnan(score)]
    return float(np.mean(defined)) if defined else math.nan


def _ranks(values: Numbers) -> Numbers:
    """Returns each value's rank from 1, the mean of their places for equal ones: `_ranks([7, 5, 7])` is 2.5, 1, 2.5."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[places.reshape(-1)], np.float64)
