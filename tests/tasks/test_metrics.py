"""Scores against scikit-learn, by hand, and where they are undefined."""

import math

import numpy as np
import pytest

from bert_tf.tasks.metrics import NUMBER_METRICS, SET_METRICS, compute, undefined

stats = pytest.importorskip("scipy.stats")
sklearn_metrics = pytest.importorskip("sklearn.metrics")


@pytest.mark.parametrize("seed", range(20))
def test_two_classes_equal_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(2, 500))
    labels = rng.random(rows) < rng.random()
    labels[:2] = [False, True]
    predictions = np.where(rng.random(rows) < rng.random(), labels, rng.random(rows) < rng.random())
    scores = compute(["accuracy", "f1", "matthews"], labels, predictions)
    assert scores["accuracy"] == pytest.approx(sklearn_metrics.accuracy_score(labels, predictions), abs=1e-12)
    assert scores["f1"] == pytest.approx(sklearn_metrics.f1_score(labels, predictions, zero_division=0.0), abs=1e-12)
    assert scores["matthews"] == pytest.approx(sklearn_metrics.matthews_corrcoef(labels, predictions), abs=1e-12)
    assert list(scores) == ["accuracy", "f1", "matthews"] and all(type(score) is float for score in scores.values())


@pytest.mark.parametrize("seed", range(10))
def test_macro_f1_of_classes_equals_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    labels, predictions = rng.integers(0, 5, 40), rng.integers(1, 6, 40)
    right = sklearn_metrics.f1_score(labels, predictions, average="macro", zero_division=0.0)
    assert compute(["macro_f1"], labels, predictions)["macro_f1"] == pytest.approx(right, abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_correlations_equal_scipy(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 6, 300) / rng.choice([1, 2, 4])  # with ties, as averages of ratings have
    predictions = labels + rng.normal(scale=rng.uniform(0.1, 5), size=300)
    if seed % 2:
        predictions = np.round(predictions)
    scores = compute(["pearson", "spearman"], labels, predictions, NUMBER_METRICS)
    assert scores["pearson"] == pytest.approx(stats.pearsonr(labels, predictions).statistic, abs=1e-12)
    assert scores["spearman"] == pytest.approx(stats.spearmanr(labels, predictions).statistic, abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_scores_of_several_labels_equal_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    labels, predictions = (rng.random((50, 6)) < rng.random(6) * 0.4 for _ in range(2))
    labels[:, 5] = predictions[:, 5] = False  # a label that nobody has does not count
    scores = compute(["micro_f1", "macro_f1", "accuracy"], labels, predictions, SET_METRICS)
    for average in ("micro", "macro"):
        right = sklearn_metrics.f1_score(labels, predictions, average=average, zero_division=np.nan)
        assert scores[f"{average}_f1"] == pytest.approx(right, abs=1e-12)
    assert scores["accuracy"] == pytest.approx(sklearn_metrics.accuracy_score(labels, predictions), abs=1e-12)


def test_correlations_of_equal_numbers_are_undefined_and_say_why():
    for labels, predictions in (([1.0, 2.0], [3.0, 3.0]), ([2.0, 2.0], [1.0, 3.0]), ([1.0], [2.0])):
        scores = compute(["pearson", "spearman"], labels, predictions, NUMBER_METRICS)
        assert math.isnan(scores["pearson"]) and math.isnan(scores["spearman"])
        assert set(undefined(scores)) == {"pearson", "spearman"}
        assert undefined(scores)["pearson"] == "all rows have the same label, or the same prediction"


def test_labels_that_nobody_has_leave_their_scores_undefined():
    scores = compute(["micro_f1", "macro_f1", "accuracy"], np.zeros((3, 2)), np.zeros((3, 2)), SET_METRICS)
    assert math.isnan(scores["micro_f1"]) and math.isnan(scores["macro_f1"]) and scores["accuracy"] == 1.0
    assert set(undefined(scores)) == {"micro_f1", "macro_f1"}


def test_accuracy_of_three_classes():
    assert compute(["accuracy"], [0, 1, 2, 2], [0, 2, 2, 1]) == {"accuracy": 0.5}


def test_by_hand():
    scores = compute(["f1", "accuracy", "matthews"], [1, 1, 1, 0], [1, 1, 0, 1])
    assert scores["f1"] == pytest.approx(2 / 3)  # precision 2/3, recall 2/3
    assert scores["accuracy"] == 0.5
    assert scores["matthews"] == pytest.approx(-1 / 3)  # (2 * 0 - 1 * 1) / sqrt(3 * 3 * 1 * 1)


@pytest.mark.parametrize("constant", [0, 1])
def test_predictions_of_one_class_have_a_matthews_correlation_of_0(constant):
    scores = compute(["matthews"], [0, 1, 1], [constant] * 3)
    assert scores == {"matthews": 0.0} and undefined(scores) == {}


def test_undefined_scores_are_nan_and_say_why():
    scores = compute(["accuracy", "f1", "matthews"], [0, 0], [0, 0])
    assert scores["accuracy"] == 1.0 and math.isnan(scores["f1"]) and math.isnan(scores["matthews"])
    assert undefined(scores) == {
        "f1": "no row is labelled or predicted as the positive class",
        "matthews": "all rows have the same label",
    }
    assert math.isnan(compute(["matthews"], [1, 1], [0, 1])["matthews"])
    assert compute(["f1"], [0, 0], [0, 1]) == {"f1": 0.0}


@pytest.mark.parametrize("labels, predictions", [([], []), ([1], [1, 0]), ([[1]], [[1]])])
def test_vectors_that_do_not_match_are_refused(labels, predictions):
    with pytest.raises(ValueError, match="two vectors of one length"):
        compute(["accuracy"], labels, predictions)
