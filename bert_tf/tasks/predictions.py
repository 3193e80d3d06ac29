"""The lines of prediction files, without line ends."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float32]


def number_lines(numbers: Numbers) -> Iterator[str]:
    """Yields the lines of test_results.tsv as google-research/bert writes them: each row's numbers, no header.

    Args:
      numbers: float32[rows, outputs].
    """
    for row in numbers:
        yield "\t".join(map(_shortest, row))


def prediction_lines(ids: Sequence[str], labels: Sequence[str], probabilities: Numbers) -> Iterator[str]:
    """Yields the lines of predictions.tsv: a header, then for each row its id, the likeliest label and each label's probability.

    For example, `prediction_lines(["7"], ["no", "yes"], np.float32([[0.25, 0.75]]))` gives the columns id, label, probability_no,
    probability_yes and the row 7, yes, 0.25, 0.75.

    Args:
      ids: The rows' ids.
      labels: The labels in the order of their ids.
      probabilities: float32[rows, labels].
    """
    _check(ids, labels, probabilities)
    yield "\t".join(["id", "label", *(f"probability_{label}" for label in labels)])
    for id, row, best in zip(ids, probabilities, probabilities.argmax(axis=1)):
        yield "\t".join([id, labels[best], *map(_shortest, row)])


def set_lines(
    ids: Sequence[str], labels: Sequence[str], probabilities: Numbers, given: npt.NDArray[np.bool_], separator: str
) -> Iterator[str]:
    """Yields the lines of predictions.tsv where a row may have several labels: in the column `labels`, the separator between two.

    Args:
      ids: The rows' ids.
      labels: The labels in the order of their ids.
      probabilities: float32[rows, labels].
      given: bool[rows, labels], the labels that each row gets.
      separator: What stands between two labels.
    """
    _check(ids, labels, probabilities)
    yield "\t".join(["id", "labels", *(f"probability_{label}" for label in labels)])
    for id, row, chosen in zip(ids, probabilities, given):
        yield "\t".join([id, separator.join(label for label, yes in zip(labels, chosen) if yes), *map(_shortest, row)])


def _check(ids: Sequence[str], labels: Sequence[str], probabilities: Numbers) -> None:
    if probabilities.shape != (len(ids), len(labels)):
        raise ValueError(f"probabilities of shape {probabilities.shape} for {len(ids)} rows and {len(labels)} labels")


def _shortest(value: np.float32) -> str:
    """Returns the fewest digits that give this float32 back."""
    return str(np.float32(value))
