"""Logits -> probabilities, in NumPy: without overflow, in the precision that comes in."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

# float32[rows, outputs]
Logits = npt.NDArray[np.float32]
_Float = TypeVar("_Float", np.float32, np.float64)


def log_softmax(logits: npt.NDArray[_Float]) -> npt.NDArray[_Float]:
    """Returns the logarithms of the probabilities of one label out of all: [rows, labels]."""
    return np.asarray(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))


def softmax(logits: Logits) -> Logits:
    """Returns the probabilities of one label out of all: float32[rows, labels], each row's adding up to 1."""
    return np.asarray(np.exp(log_softmax(logits)))


def sigmoid(logits: Logits) -> Logits:
    """Returns the probability of each label by itself: float32[rows, labels]."""
    return np.asarray(np.exp(-np.logaddexp(np.float32(0), -logits)))
