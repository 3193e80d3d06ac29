"""Tables of an evaluation against scikit-learn."""

import numpy as np
import pytest

from bert_tf.tasks.reports import confusion_lines, label_score_lines

sklearn_metrics = pytest.importorskip("sklearn.metrics")
NAMES = ("a", "b", "c", "d")


def cells(lines):
    return [line.split("\t") for line in lines]


@pytest.mark.parametrize("seed", range(5))
def test_the_confusion_matrix_equals_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    labels, predictions = rng.integers(0, 4, (2, 60))
    header, *rows = cells(confusion_lines(NAMES, labels, predictions))
    assert header == ["label", *NAMES] and [row[0] for row in rows] == list(NAMES)
    right = sklearn_metrics.confusion_matrix(labels, predictions, labels=range(4))
    np.testing.assert_array_equal(np.asarray([row[1:] for row in rows], int), right)


@pytest.mark.parametrize("seed", range(5))
def test_label_scores_equal_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    labels, predictions = rng.random((2, 40, 4)) < 0.4
    predictions[:, 3] = False
    _, *rows = cells(label_score_lines(NAMES, labels, predictions))
    right = sklearn_metrics.precision_recall_fscore_support(labels, predictions, average=None, zero_division=np.nan)
    for column in range(4):
        np.testing.assert_allclose([float(row[column + 1]) for row in rows], right[column], atol=5e-7)
    assert [int(row[5]) for row in rows] == predictions.sum(axis=0).tolist()
