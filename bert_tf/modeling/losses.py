"""Losses and the sums behind training metrics, all in float32.

A loss is told as a sum and a weight, not as a mean: the mean over a global batch is then exact, however the batch is cut into
devices, micro batches or a last, partly filled batch.
"""

from typing import NamedTuple

import tensorflow as tf

# Keeps the masked-LM mean finite when a batch has no masked position; the original's value.
WEIGHT_EPSILON = 1e-5


class WeightedSum(NamedTuple):
    """A sum, its weight, and a constant beside the weight in the mean's divisor: float32[] each."""

    total: tf.Tensor
    weight: tf.Tensor
    epsilon: tf.Tensor

    def mean(self) -> tf.Tensor:
        """Returns total / (weight + epsilon), float32[]; 0 where there is no weight at all."""
        return tf.math.divide_no_nan(self.total, self.weight + self.epsilon)

    def plus(self, other: "WeightedSum") -> "WeightedSum":
        """Returns the sum over both parts."""
        return WeightedSum(self.total + other.total, self.weight + other.weight, self.epsilon)


def total_loss(sums: dict[str, WeightedSum]) -> tf.Tensor:
    """Returns the loss that training lowers, float32[]: the sum of the means of all losses (BERT paper, A.2)."""
    return tf.add_n([part.mean() for name, part in sums.items() if name.endswith("_loss")])


def pretraining_sums(logits, batch) -> dict[str, WeightedSum]:
    """Returns the sums behind masked_lm_loss and masked_lm_accuracy and, with NSP, next_sentence_loss and next_sentence_accuracy.

    Args:
      logits: What `PretrainingModel` returns.
      batch: masked_lm_ids int[batch, masks], masked_lm_weights float32[batch, masks], next_sentence_labels int[batch, 1],
        is_real_example int[batch].
    """
    real = tf.cast(batch["is_real_example"], tf.float32)
    weights = batch["masked_lm_weights"] * real[:, None]  # float32[batch, masks]
    sums = _class_sums("masked_lm", logits["masked_lm"], batch["masked_lm_ids"], weights, WEIGHT_EPSILON)
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


def _class_sums(name, logits, labels, weights, epsilon=0.0) -> dict[str, WeightedSum]:
    """Returns cross entropy and accuracy of logits float32[..., classes], labels int[...], weights float32[...]."""
    labels = tf.cast(labels, tf.int32)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    hits = tf.cast(tf.equal(tf.argmax(logits, -1, output_type=tf.int32), labels), tf.float32)
    weight, epsilon = tf.reduce_sum(weights), tf.constant(epsilon)
    return {
        f"{name}_loss": WeightedSum(tf.reduce_sum(losses * weights), weight, epsilon),
        f"{name}_accuracy": WeightedSum(tf.reduce_sum(hits * weights), weight, epsilon),
    }
