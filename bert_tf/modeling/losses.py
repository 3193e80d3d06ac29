"""Losses and the sums behind training metrics, all in float32.

A loss is told as a sum and a weight, not as a mean: the mean over a global batch is then exact, however the batch is cut into
devices, micro batches or a last, partly filled batch.
"""

from typing import NamedTuple

import tensorflow as tf

# Keeps the masked-LM mean finite when a batch has no masked position; the original's value.
WEIGHT_EPSILON = 1e-5


class WeightedSum(NamedTuple):
    """A sum and what to divide it by: float32[] each."""

    total: tf.Tensor
    weight: tf.Tensor


def pretraining_sums(logits, batch) -> dict[str, WeightedSum]:
    """Returns the sums behind masked_lm_loss and masked_lm_accuracy and, with NSP, next_sentence_loss and next_sentence_accuracy.

    Args:
      logits: What `PretrainingModel` returns.
      batch: masked_lm_ids int[batch, masks], masked_lm_weights float32[batch, masks], next_sentence_labels int[batch, 1],
        is_real_example int[batch].
    """
    real = tf.cast(batch["is_real_example"], tf.float32)
    sums = _class_sums("masked_lm", logits["masked_lm"], batch["masked_lm_ids"], batch["masked_lm_weights"] * real[:, None])
    if "next_sentence" in logits:
        sums |= _class_sums("next_sentence", logits["next_sentence"], batch["next_sentence_labels"][:, 0], real)
    return sums


def classification_sums(logits, batch) -> dict[str, WeightedSum]:
    """Returns the sums behind classifier_loss and classifier_accuracy.

    Args:
      logits: What `ClassificationModel` returns.
      batch: label_ids int[batch], is_real_example int[batch].
    """
    return _class_sums("classifier", logits["classifier"], batch["label_ids"], tf.cast(batch["is_real_example"], tf.float32))


def regression_sums(logits, batch) -> dict[str, WeightedSum]:
    """Returns the sum behind classifier_loss, the squared error.

    Args:
      logits: What `ClassificationModel` returns, with one output.
      batch: label_ids float32[batch], is_real_example int[batch].
    """
    real = tf.cast(batch["is_real_example"], tf.float32)
    error = tf.square(logits["classifier"][:, 0] - tf.cast(batch["label_ids"], tf.float32))
    return {"classifier_loss": WeightedSum(tf.reduce_sum(error * real), tf.reduce_sum(real))}


def _class_sums(name, logits, labels, weights) -> dict[str, WeightedSum]:
    """Returns cross entropy and accuracy of logits float32[..., classes], labels int[...], weights float32[...]."""
    labels = tf.cast(labels, tf.int32)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    hits = tf.cast(tf.equal(tf.argmax(logits, -1, output_type=tf.int32), labels), tf.float32)
    weight = tf.reduce_sum(weights)
    return {
        f"{name}_loss": WeightedSum(tf.reduce_sum(losses * weights), weight),
        f"{name}_accuracy": WeightedSum(tf.reduce_sum(hits * weights), weight),
    }
