"""The lines of prediction files, without line ends."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

Probabilities = npt.NDArray[np.float32]


def probability_lines(probabilities: Probabilities) -> Iterator[str]:
    """Yields the lines of test_results.tsv as google-research/bert writes them: the labels' probabilities, no header.

    Args:
      probabilities: float32[rows, labels].
    """
    for row in probabilities:
        yield "\t".join(map(_shortest, row))


def prediction_lines(ids: Sequence[str], labels: Sequence[str], probabilities: Probabilities) -> Iterator[str]:
    """Yields the lines of predictions.tsv: a header, then for each row its id, the likeliest label and each label's probability.

    For example, `prediction_lines(["7"], ["no", "yes"], np.float32([[0.25, 0.75]]))` gives the columns id, label, probability_no,
    probability_yes and the row 7, yes, 0.25, 0.75.

    Args:
      ids: The rows' ids.
      labels: The labels in the order of their ids.
      probabilities: float32[rows, labels].
    """
    if probabilities.shape != (len(ids), len(labels)):
        raise ValueError(f"probabilities of shape {probabilities.shape} for {len(ids)} rows and {len(labels)} labels")
    yield "\t".join(["id", "label", *(f"probability_{label}" for label in labels)])
    for id, row, best in zip(ids, probabilities, probabilities.argmax(axis=1)):
        yield "\t".join([id, labels[best], *map(_shortest, row)])


def _shortest(value: np.float32) -> str:
    """Returns the fewest digits that give this float32 back."""
    return str(np.float32(value))
