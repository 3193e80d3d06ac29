"""Losses and the sums behind training metrics, all in float32.

A loss is told as a sum and a weight, not as a mean: the mean over a global batch is then exact, however the batch is cut into
devices, micro batches or a last, partly filled batch.
"""

from collections.abc import Callable, Sequence
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


Batch = dict[str, tf.Tensor]
Weights = dict[str, tf.Tensor]
Sums = dict[str, WeightedSum]


class Objective(NamedTuple):
    """What a model is trained for.

    Attributes:
      weights: From a batch to how much each target counts, by the loss's name without `_loss`: float32[batch, ...] each. It needs no
        model, so the divisors of a whole batch are known before any part of it has been computed.
      sums: From (logits, batch) to the sums behind losses and metrics.
    """

    weights: Callable[[Batch], Weights]
    sums: Callable[[Batch, Batch], Sums]


def total_loss(sums: Sums, weights: Weights | None = None) -> tf.Tensor:
    """Returns the loss that training lowers, float32[]: the sum of the means of all losses (BERT paper, A.2).

    Args:
      sums: The sums over a batch, or over a part of one.
      weights: float32[] by loss, without `_loss`: the weight of the whole batch, where `sums` are over a part; the losses of all
        parts then add up to that of the whole.
    """
    losses = {name.removesuffix("_loss"): part for name, part in sums.items() if name.endswith("_loss")}
    if weights is not None:
        losses = {name: part._replace(weight=weights[name]) for name, part in losses.items()}
    return tf.add_n([part.mean() for part in losses.values()])


def pretraining_weights(batch: Batch) -> Weights:
    """Returns `masked_lm` float32[batch, masks] and `next_sentence` float32[batch]: 0 for what only fills up."""
    real = tf.cast(batch["is_real_example"], tf.float32)
    return {"masked_lm": batch["masked_lm_weights"] * real[:, None], "next_sentence": real}


def pretraining_sums(logits: Batch, batch: Batch) -> Sums:
    """Returns the sums behind masked_lm_loss and masked_lm_accuracy and, with NSP, next_sentence_loss and next_sentence_accuracy.

    Args:
      logits: What `PretrainingModel` returns.
      batch: masked_lm_ids int[batch, masks], masked_lm_weights float32[batch, masks], next_sentence_labels int[batch, 1],
        is_real_example int[batch].
    """
    weights = pretraining_weights(batch)
    sums = _class_sums("masked_lm", logits["masked_lm"], batch["masked_lm_ids"], weights["masked_lm"], WEIGHT_EPSILON)
    if "next_sentence" in logits:
        sums |= _class_sums("next_sentence", logits["next_sentence"], batch["next_sentence_labels"][:, 0], weights["next_sentence"])
    return sums


def next_token_weights(batch: Batch) -> Weights:
    """Returns `next_token` float32[batch, masks]: 0 for what only fills up."""
    return {"next_token": pretraining_weights(batch)["masked_lm"]}


def next_token_sums(logits: Batch, batch: Batch) -> Sums:
    """Returns the sums behind next_token_loss and next_token_accuracy.

    Args:
      logits: What `PretrainingModel` returns.
      batch: What `data/next_token.py` makes: masked_lm_ids int[batch, masks], masked_lm_weights float32[batch, masks], and is_real_example
        int[batch].
    """
    weights = next_token_weights(batch)["next_token"]
    return _class_sums("next_token", logits["masked_lm"], batch["masked_lm_ids"], weights, WEIGHT_EPSILON)


def classification_weights(batch: Batch) -> Weights:
    """Returns `classifier` float32[batch]: 0 for what only fills up."""
    return {"classifier": tf.cast(batch["is_real_example"], tf.float32)}


def classification_sums(logits: Batch, batch: Batch) -> Sums:
    """Returns the sums behind classifier_loss and classifier_accuracy.

    Args:
      logits: What `ClassificationModel` returns.
      batch: label_ids int[batch], is_real_example int[batch].
    """
    return _class_sums("classifier", logits["classifier"], batch["label_ids"], classification_weights(batch)["classifier"])


def weighted_classification(class_weights: Sequence[float]) -> Objective:
    """Returns classification in which an example counts in the loss as much as its label does: the mean is a weighted one.

    Args:
      class_weights: A weight for each label id. The accuracy is of the examples, as ever.
    """

    def weights(batch: Batch) -> Weights:
        real = classification_weights(batch)["classifier"]
        return {"classifier": real * tf.gather(tf.constant(class_weights, tf.float32), batch["label_ids"])}

    def sums(logits: Batch, batch: Batch) -> Sums:
        weighted = _class_sums("classifier", logits["classifier"], batch["label_ids"], weights(batch)["classifier"])
        return classification_sums(logits, batch) | {"classifier_loss": weighted["classifier_loss"]}

    return Objective(weights, sums)


def regression_weights(batch: Batch) -> Weights:
    """Returns `regression` float32[batch]: 0 for what only fills up."""
    return {"regression": tf.cast(batch["is_real_example"], tf.float32)}


def regression_sums(logits: Batch, batch: Batch) -> Sums:
    """Returns the sums behind regression_loss, the mean squared error.

    Args:
      logits: What `ClassificationModel` of one output returns.
      batch: label_ids float32[batch], is_real_example int[batch].
    """
    weights = regression_weights(batch)["regression"]
    losses = tf.math.squared_difference(logits["classifier"][:, 0], batch["label_ids"])  # [batch, 1] -> [batch]
    return {"regression_loss": WeightedSum(tf.reduce_sum(losses * weights), tf.reduce_sum(weights), tf.zeros([]))}


def multilabel_weights(batch: Batch) -> Weights:
    """Returns `multilabel` float32[batch]: 0 for what only fills up."""
    return {"multilabel": tf.cast(batch["is_real_example"], tf.float32)}


def multilabel_sums(logits: Batch, batch: Batch) -> Sums:
    """Returns the sums behind multilabel_loss, the mean of the labels' cross entropies, and multilabel_accuracy at probability 0.5.

    Args:
      logits: What `ClassificationModel` returns.
      batch: label_ids int[batch, labels], is_real_example int[batch].
    """
    weights = multilabel_weights(batch)["multilabel"]
    given, scores = tf.cast(batch["label_ids"], tf.float32), logits["classifier"]
    # [batch, labels] -> [batch]
    losses = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(given, scores), axis=-1)
    hits = tf.reduce_mean(tf.cast(tf.equal(scores >= 0, given > 0), tf.float32), axis=-1)
    weight, epsilon = tf.reduce_sum(weights), tf.zeros([])
    return {
        "multilabel_loss": WeightedSum(tf.reduce_sum(losses * weights), weight, epsilon),
        "multilabel_accuracy": WeightedSum(tf.reduce_sum(hits * weights), weight, epsilon),
    }


def tagging_weights(batch: Batch) -> Weights:
    """Returns `tagger` float32[batch, seq]: 1 where a token is tagged."""
    return {"tagger": tf.cast(batch["label_mask"] * batch["is_real_example"][:, None], tf.float32)}


def tagging_sums(logits: Batch, batch: Batch) -> Sums:
    """Returns the sums behind tagger_loss, the mean over the tokens of a batch, and tagger_accuracy.

    Args:
      logits: What `TaggingModel` returns.
      batch: label_ids and label_mask int[batch, seq], is_real_example int[batch].
    """
    return _class_sums("tagger", logits["classifier"], batch["label_ids"], tagging_weights(batch)["tagger"])


def squad_weights(batch: Batch) -> Weights:
    """Returns `squad` float32[batch]: 0 for what only fills up."""
    return {"squad": tf.cast(batch["is_real_example"], tf.float32)}


def squad_sums(logits: Batch, batch: Batch) -> Sums:
    """Returns the sums behind squad_loss, the mean of both positions' cross entropies, and start_accuracy and end_accuracy.

    The softmax goes over all positions of the batch, as the original's does: over padding too.

    Args:
      logits: What `QuestionAnsweringModel` returns.
      batch: start_positions and end_positions int[batch], is_real_example int[batch].
    """
    weights = squad_weights(batch)["squad"]
    start = _class_sums("start", logits["start"], batch["start_positions"], weights)
    end = _class_sums("end", logits["end"], batch["end_positions"], weights)
    first, second = start["start_loss"], end["end_loss"]
    return {
        "squad_loss": first._replace(total=(first.total + second.total) / 2),
        "start_accuracy": start["start_accuracy"],
        "end_accuracy": end["end_accuracy"],
    }


PRETRAINING = Objective(pretraining_weights, pretraining_sums)
NEXT_TOKEN = Objective(next_token_weights, next_token_sums)
CLASSIFICATION = Objective(classification_weights, classification_sums)
REGRESSION = Objective(regression_weights, regression_sums)
MULTILABEL = Objective(multilabel_weights, multilabel_sums)
TAGGING = Objective(tagging_weights, tagging_sums)
SQUAD = Objective(squad_weights, squad_sums)


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
