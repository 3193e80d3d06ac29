"""The answer's beginning and end: logits, loss and gradients by an implementation in NumPy, and the original's variable names."""

import numpy as np
import tensorflow as tf

from bert_tf.convert.names import tf1_name
from bert_tf.modeling.losses import squad_sums, total_loss
from bert_tf.modeling.models import QuestionAnsweringModel
from tests.convert.tiny import BATCH, CONFIG

TARGETS = {
    "start_positions": np.array([1, 0], np.int32),
    "end_positions": np.array([3, 0], np.int32),
    "is_real_example": np.array([1, 1], np.int32),
}


def cross_entropy(logits, places):
    logits = logits.astype(np.float64)
    return np.logaddexp.reduce(logits, axis=1) - logits[np.arange(len(places)), places]


def test_logits_are_a_product_with_every_vector():
    model = QuestionAnsweringModel(CONFIG)
    model.output_layer.output_bias.assign([0.5, -0.25])
    logits = model(BATCH)
    vectors = model.encoder(BATCH)["sequence_output"].numpy()
    for row, (name, bias) in enumerate((("start", 0.5), ("end", -0.25))):
        assert logits[name].shape == (2, 5)
        np.testing.assert_allclose(logits[name], vectors @ model.output_layer.output_weights.numpy()[row] + bias, atol=1e-6)


def test_the_loss_is_the_mean_of_both_ends_padding_included():
    rng = np.random.default_rng(1)
    logits = {name: rng.normal(0, 2, (2, 5)).astype(np.float32) for name in ("start", "end")}
    ends = [cross_entropy(logits[name], TARGETS[f"{name}_positions"]) for name in ("start", "end")]
    sums = squad_sums(logits, TARGETS)
    assert set(sums) == {"squad_loss", "start_accuracy", "end_accuracy"}
    np.testing.assert_allclose(total_loss(sums), np.mean(ends), atol=1e-6)
    # a window that only fills up does not count
    half = squad_sums(logits, TARGETS | {"is_real_example": np.array([1, 0], np.int32)})
    np.testing.assert_allclose(total_loss(half), np.mean([end[0] for end in ends]), atol=1e-6)
    for name in ("start", "end"):
        expected = np.mean(logits[name].argmax(axis=1) == TARGETS[f"{name}_positions"])
        np.testing.assert_allclose(sums[f"{name}_accuracy"].mean(), expected)


def test_every_variable_has_the_originals_name_and_a_gradient_but_the_pooler():
    model = QuestionAnsweringModel(CONFIG)
    with tf.GradientTape() as tape:
        loss = total_loss(squad_sums(model(BATCH), TARGETS))
    gradients = tape.gradient(loss, [variable.value for variable in model.trainable_variables])
    names = {tf1_name(variable.path, CONFIG.num_hidden_layers): gradient for variable, gradient in zip(model.weights, gradients)}
    assert {"cls/squad/output_weights", "cls/squad/output_bias"} <= names.keys()
    # as in the original, whose optimizer leaves it alone
    assert {name for name, gradient in names.items() if gradient is None} == {"bert/pooler/dense/kernel", "bert/pooler/dense/bias"}
