"""A label for every piece: logits, loss and gradients by hand, and what padding does not change."""

import numpy as np
import tensorflow as tf

from bert_tf.convert.names import tf1_name
from bert_tf.modeling.losses import tagging_sums, tagging_weights, total_loss
from bert_tf.modeling.models import TaggingModel
from tests.convert.tiny import BATCH, CONFIG

TARGETS = {
    "label_ids": np.array([[0, 2, 0, 1, 0], [0, 1, 0, 0, 0]], np.int32),
    "label_mask": np.array([[0, 1, 0, 1, 0], [0, 1, 0, 0, 0]], np.int32),
    "is_real_example": np.array([1, 1], np.int32),
}


def padded(batch, more):
    return {name: np.pad(value, [(0, 0), (0, more)]) if value.ndim == 2 else value for name, value in batch.items()}


def test_logits_are_a_product_with_every_vector():
    model = TaggingModel(CONFIG, 3)
    model.output_layer.output_bias.assign([0.5, -0.25, 1.0])
    vectors = model.encoder(BATCH)["sequence_output"].numpy()
    expected = vectors @ model.output_layer.output_weights.numpy().T + [0.5, -0.25, 1.0]
    np.testing.assert_allclose(model(BATCH)["classifier"], expected, atol=1e-6)


def test_the_loss_is_the_mean_over_the_tokens_that_are_tagged():
    logits = np.random.default_rng(1).normal(0, 2, (2, 5, 3)).astype(np.float32)
    asked = np.float64(logits)[[0, 0, 1], [1, 3, 1]]
    losses = np.logaddexp.reduce(asked, axis=1) - asked[np.arange(3), [2, 1, 1]]
    sums = tagging_sums({"classifier": logits}, TARGETS)
    np.testing.assert_allclose(total_loss(sums), losses.mean(), rtol=1e-6)
    np.testing.assert_allclose(sums["tagger_accuracy"].mean(), np.mean(asked.argmax(axis=1) == [2, 1, 1]))
    assert float(sums["tagger_loss"].weight) == 3 == tagging_weights(TARGETS)["tagger"].numpy().sum()
    half = tagging_sums({"classifier": logits}, TARGETS | {"is_real_example": np.array([1, 0], np.int32)})
    np.testing.assert_allclose(total_loss(half), losses[:2].mean(), rtol=1e-6)
    none = tagging_sums({"classifier": logits}, TARGETS | {"label_mask": np.zeros((2, 5), np.int32)})
    assert float(total_loss(none)) == 0  # a batch of sentences without pieces


def test_logits_and_gradients_do_not_depend_on_the_length_of_the_padding():
    model = TaggingModel(CONFIG, 3)

    def logits_and_gradients(batch):
        with tf.GradientTape() as tape:
            logits = model(batch)
            loss = total_loss(tagging_sums(logits, batch))
        return logits["classifier"].numpy(), tape.gradient(loss, [variable.value for variable in model.trainable_variables])

    logits, gradients = logits_and_gradients(BATCH | TARGETS)
    for more in (1, 7):
        longer, others = logits_and_gradients(padded(BATCH | TARGETS, more))
        real = BATCH["input_mask"].astype(bool)
        np.testing.assert_allclose(longer[:, :5][real], logits[real], atol=1e-5)
        for variable, gradient, other in zip(model.trainable_variables, gradients, others, strict=True):
            assert (gradient is None) == (other is None) == variable.path.startswith("bert/pooler/")
            if gradient is not None:
                np.testing.assert_allclose(tf.convert_to_tensor(other), tf.convert_to_tensor(gradient), atol=1e-5, err_msg=variable.path)


def test_its_head_has_the_names_of_a_classifiers():
    names = [tf1_name(variable.path, CONFIG.num_hidden_layers) for variable in TaggingModel(CONFIG, 3).weights]
    assert {"output_weights", "output_bias"} <= set(names) and len(set(names)) == len(names)
