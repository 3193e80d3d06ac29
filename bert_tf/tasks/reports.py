"""What is told label by label: the lines of confusion_matrix.tsv and label_scores.tsv, and which labels there are."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

# With more labels the tables are no longer looked at; predictions.tsv has all there is to count.
FEW_LABELS = 50

Ids = npt.NDArray[np.int64]
Sets = npt.NDArray[np.bool_]


def confusion_lines(names: Sequence[str], labels: Ids, predictions: Ids) -> Iterator[str]:
    """Yields a header, then a line a label: of the rows with that label, how many were predicted as each.

    For example, of labels no and yes, with right ids 0, 1, 1 and predicted ids 0, 0, 1: the lines "label, no, yes", "no, 1, 0" and
    "yes, 1, 1", with tabs.
    """
    counts = np.zeros((len(names), len(names)), np.int64)
    np.add.at(counts, (labels, predictions), 1)
    yield "\t".join(["label", *names])
    for name, row in zip(names, counts):
        yield "\t".join([name, *map(str, row)])


def label_score_lines(names: Sequence[str], labels: Sets, predictions: Sets) -> Iterator[str]:
    """Yields a header, then a line a label: precision, recall, F1, and how many rows have it and are predicted with it.

    A figure that the rows leave undefined is nan.

    Args:
      names: The labels.
      labels: bool[rows, labels], which label each row has.
      predictions: bool[rows, labels], which it is predicted with.
    """
    yield "label\tprecision\trecall\tf1\trows\tpredicted"
    right, has, predicted = (np.sum(marks, axis=0) for marks in (labels & predictions, labels, predictions))
    for name, hits, rows, chosen in zip(names, right, has, predicted):
        figures = (_share(hits, chosen), _share(hits, rows), _share(2 * hits, rows + chosen))
        yield "\t".join([name, *figures, str(rows), str(chosen)])


def not_one_of(labels: Sequence[str]) -> str:
    """Returns what is wrong with a label that is none of these: "is not one of red, green"."""
    more = f" and {len(labels) - FEW_LABELS} more" if len(labels) > FEW_LABELS else ""
    return f"is not one of {', '.join(labels[:FEW_LABELS])}{more}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.6f}" if whole else "nan"
