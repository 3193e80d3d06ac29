"""From which probability on a label is given: the threshold that is best for F1 on rows whose labels are known."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

# Where nothing better is known.
DEFAULT_THRESHOLD = 0.5


class Tuned(NamedTuple):
    """A label's threshold.

    Attributes:
      threshold: The probability from which the label is given.
      f1: F1 there; nan where no row has the label.
      default_f1: F1 at `DEFAULT_THRESHOLD`.
    """

    threshold: float
    f1: float
    default_f1: float


def best_threshold(labels: npt.NDArray[np.bool_], probabilities: npt.NDArray[np.float32]) -> Tuned:
    """Returns the threshold that gives a label the highest F1.

    It lies midway between two neighbouring probabilities, so that a small error in either changes nothing; of several that are equally
    good it is the one nearest to `DEFAULT_THRESHOLD`. Where no row has the label, nothing can be learned, and it is the default.

    For example, of the labels yes, no, yes with probabilities 0.5, 0.25 and 0.75 it is 0.375, where F1 is 1.

    Args:
      labels: bool[rows], which rows have the label.
      probabilities: float32[rows], as the model says it.
    """
    num_right = int(labels.sum())
    if not num_right:
        return Tuned(DEFAULT_THRESHOLD, math.nan, math.nan)
    order = np.argsort(-probabilities, kind="stable")
    falling = probabilities[order].astype(np.float64)
    hits, num_given = np.cumsum(labels[order]), np.arange(1, len(order) + 1)
    below = np.append(falling[1:], 0.0)
    cuts = np.flatnonzero((falling > below) | (num_given == len(order)))  # rows of equal probability go together
    f1 = 2 * hits[cuts] / (num_given[cuts] + num_right)
    thresholds = _midway(below[cuts], falling[cuts])
    best = f1 == f1.max()
    place = np.flatnonzero(best)[np.abs(thresholds[best] - DEFAULT_THRESHOLD).argmin()]
    given = probabilities >= np.float32(DEFAULT_THRESHOLD)
    default_f1 = 2 * int((given & labels).sum()) / (int(given.sum()) + num_right)
    return Tuned(float(thresholds[place]), float(f1[place]), default_f1)


def _midway(low: npt.NDArray[np.float64], high: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Returns float32 numbers above `low` and at most `high`, in the middle where there is one."""
    middle = ((low + high) / 2).astype(np.float32).astype(np.float64)
    return np.where(middle > low, middle, high)
