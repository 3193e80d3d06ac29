"""Thresholds of labels: scikit-learn finds none that is better, and a small error in a probability changes nothing."""

import math

import numpy as np
import pytest

from bert_tf.tasks.label_sets import SomeLabels
from bert_tf.tasks.metrics import SET_METRICS, compute
from bert_tf.tasks.thresholds import best_threshold

sklearn_metrics = pytest.importorskip("sklearn.metrics")


@pytest.mark.parametrize("seed", range(30))
def test_no_threshold_is_better(seed):
    rng = np.random.default_rng(seed)
    labels = rng.random(60) < rng.uniform(0.02, 0.9)
    labels[0] = True
    probabilities = np.clip(labels * rng.uniform(0, 0.5) + rng.random(60) * 0.7, 0, 1).astype(np.float32)
    if seed % 2:
        probabilities = np.round(probabilities, 1)  # many of one probability
    found = best_threshold(labels, probabilities)
    precision, recall, _ = sklearn_metrics.precision_recall_curve(labels, probabilities)
    best = np.nanmax(2 * precision * recall / np.maximum(precision + recall, 1e-12))
    assert found.f1 == pytest.approx(best, abs=1e-12)
    for threshold, f1 in ((found.threshold, found.f1), (0.5, found.default_f1)):
        given = probabilities >= np.float32(threshold)
        assert f1 == pytest.approx(sklearn_metrics.f1_score(labels, given, zero_division=0.0), abs=1e-12)
    assert np.abs(probabilities.astype(np.float64) - found.threshold).min() > 1e-5  # so that other hardware gives the same labels


@pytest.mark.parametrize(
    "labels, probabilities, threshold, f1, default_f1",
    [
        ([1, 0, 1], [0.5, 0.25, 0.75], 0.375, 1, 1),
        ([1, 1, 0], [0.9, 0.8, 0.7], 0.75, 1, 0.8),
        ([1, 1, 1], [0.2, 0.2, 0.2], 0.1, 1, 0),  # all of them have it
        ([0, 0, 1], [0.5, 0.5, 0.5], 0.25, 0.5, 0.5),  # equal ones go together
        ([1, 0, 0, 1, 0, 0], [0.875, 0.75, 0.7, 0.625, 0.25, 0.1], 0.4375, 2 / 3, 2 / 3),  # 0.8125 is as good, and further from 0.5
        ([1, 0], [1.0, 0.99999994], 1.0, 1, 2 / 3),  # neighbours in float32: there is nothing between them
        ([0, 1], [0.5, 0.0], 0.0, 2 / 3, 0),
        ([0, 0], [0.9, 0.1], 0.5, math.nan, math.nan),  # nothing to learn from
    ],
)
def test_by_hand(labels, probabilities, threshold, f1, default_f1):
    found = best_threshold(np.asarray(labels, bool), np.asarray(probabilities, np.float32))
    assert found == pytest.approx((threshold, f1, default_f1), nan_ok=True, abs=1e-7)


def test_each_label_has_its_own_and_scores_and_predictions_take_it():
    """Logits 0.5, 0.2 and 2.0 are probabilities 0.622, 0.550 and 0.881."""
    labels, logits = [("a", "c"), ("b",)], np.asarray([[0.5, 0.2, 2.0], [0.0, 0.6, 1.0]], np.float32)
    plain = SomeLabels("abc")
    tuned = [each.threshold for each in plain.tuned(labels, logits)]
    assert plain.is_tunable and [each.f1 for each in plain.tuned(labels, logits)] == [1, 1, 1]
    assert tuned == pytest.approx([(0.622459 + 0.5) / 2, (0.549834 + 0.645656) / 2, (0.880797 + 0.731059) / 2], abs=1e-6)
    answer = SomeLabels("abc", thresholds=tuned)
    assert not answer.is_tunable and answer.scores(["micro_f1"], labels, logits)["micro_f1"] == 1
    assert plain.scores(["micro_f1"], labels, logits)["micro_f1"] == pytest.approx(2 * 3 / (3 + 6))
    told = [line.split("\t")[1] for line in answer.prediction_lines(["0", "1"], [("x",)] * 2, logits)]
    assert told == ["labels", "a,c", "b"]


def test_tuning_raises_the_mean_of_the_labels_f1():
    rng = np.random.default_rng(3)
    right = rng.random((200, 5)) < [0.05, 0.1, 0.3, 0.5, 0.9]
    logits = (rng.normal(size=(200, 5)) + 1.5 * right + [-3, -2, 0, 1, 2]).astype(np.float32)
    names = [tuple(np.asarray(list("abcde"))[row]) for row in right]
    plain = SomeLabels("abcde")
    tuned = SomeLabels("abcde", thresholds=[each.threshold for each in plain.tuned(names, logits)])
    before, after = (answer.scores(["macro_f1"], names, logits)["macro_f1"] for answer in (plain, tuned))
    assert after > before + 0.1
    given = np.asarray([[name in line.split("\t")[1].split(",") for name in "abcde"] for line in _rows(tuned, logits)])
    assert after == pytest.approx(sklearn_metrics.f1_score(right, given, average="macro"), abs=1e-12)
    assert after == pytest.approx(compute(["macro_f1"], right, given, SET_METRICS)["macro_f1"])


def _rows(answer, logits):
    return list(answer.prediction_lines(list(map(str, range(len(logits)))), [("x",)] * len(logits), logits))[1:]
