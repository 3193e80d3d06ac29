"""Losses of fine-tuning, as sums and weights, against NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.modeling import losses

REAL = np.int32([1, 1, 1, 0])
LOGITS = np.float32([[0.5, -1.0, 2.0], [1.5, 0.0, -0.5], [-2.0, 0.3, 0.1], [9.0, 9.0, 9.0]])


def means(objective, logits, labels):
    """Returns every mean, once of the whole batch and once of two parts that are added up."""
    batch = {"label_ids": tf.constant(labels), "is_real_example": tf.constant(REAL)}
    whole = objective.sums({"classifier": tf.constant(logits)}, batch)
    halves = [
        objective.sums({"classifier": tf.constant(logits[part])}, {name: value[part] for name, value in batch.items()})
        for part in (slice(0, 2), slice(2, 4))
    ]
    assert losses.total_loss(whole).numpy() == pytest.approx(whole[next(name for name in whole if name.endswith("_loss"))].mean().numpy())
    for name, weight in objective.weights(batch).items():
        assert tf.reduce_sum(weight).numpy() == pytest.approx(whole[f"{name}_loss"].weight.numpy())
    found = {name: float(part.mean()) for name, part in whole.items()}
    added = {name: float(part.plus(halves[1][name]).mean()) for name, part in halves[0].items()}
    assert added == pytest.approx(found, abs=1e-6)
    return found


def cross_entropies(labels):
    logits = LOGITS[:3].astype(float)
    return np.log(np.exp(logits).sum(1)) - logits[np.arange(3), labels[:3]]


def test_regression_is_the_mean_squared_error_of_real_examples():
    labels = np.float32([1.0, 1.0, -2.5, 100.0])
    found = means(losses.REGRESSION, LOGITS[:, :1], labels)
    assert found == pytest.approx({"regression_loss": np.mean([0.5**2, 0.5**2, 0.5**2])})


def test_multilabel_is_the_mean_over_labels_and_real_examples():
    labels = np.int32([[1, 0, 1], [0, 0, 0], [0, 1, 1], [1, 1, 1]])
    sigmoid = 1 / (1 + np.exp(-LOGITS[:3].astype(float)))
    found = means(losses.MULTILABEL, LOGITS, labels)
    right = np.where(labels[:3] == 1, sigmoid, 1 - sigmoid)
    assert found["multilabel_loss"] == pytest.approx(-np.log(right).mean(), abs=1e-6)
    assert found["multilabel_accuracy"] == pytest.approx(np.mean((LOGITS[:3] >= 0) == labels[:3]))


def test_class_weights_weigh_the_loss_and_not_the_accuracy():
    labels, weights = np.int32([2, 1, 1, 0]), [5.0, 1.0, 3.0]
    found = means(losses.weighted_classification(weights), LOGITS, labels)
    assert found["classifier_loss"] == pytest.approx(np.average(cross_entropies(labels), weights=[3, 1, 1]), abs=1e-6)
    assert found["classifier_accuracy"] == pytest.approx(2 / 3)


def test_equal_class_weights_change_nothing():
    labels = np.int32([2, 1, 1, 0])
    assert means(losses.weighted_classification([2.0] * 3), LOGITS, labels) == pytest.approx(
        means(losses.CLASSIFICATION, LOGITS, labels), abs=1e-6
    )
