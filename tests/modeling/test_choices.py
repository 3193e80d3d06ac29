"""One vector that scores choices: nothing depends on their order, their number or their padding."""

import dataclasses

import keras
import numpy as np
import tensorflow as tf

from bert_tf.modeling.losses import classification_sums, total_loss
from bert_tf.modeling.models import ChoiceModel
from tests.convert.tiny import CONFIG

RNG = np.random.default_rng(3)
IDS = RNG.integers(5, 11, (2, 4, 6)).astype(np.int32)
LENGTHS = np.array([[6, 4, 5, 3], [3, 6, 6, 4]])
MASK = (np.arange(6) < LENGTHS[..., None]).astype(np.int32)
BATCH = {"input_ids": IDS * MASK, "input_mask": MASK, "segment_ids": MASK * (np.arange(6) >= 2).astype(np.int32)}
TARGETS = {"label_ids": np.array([1, 3], np.int32), "is_real_example": np.array([1, 1], np.int32)}


def make_model():
    """Returns a model whose scores are well apart."""
    keras.utils.set_random_seed(3)
    return ChoiceModel(dataclasses.replace(CONFIG, initializer_range=0.3), 1)


def logits_and_gradients(model, batch):
    with tf.GradientTape() as tape:
        logits = model(batch)
        loss = total_loss(classification_sums(logits, batch))
    gradients = tape.gradient(loss, [variable.value for variable in model.trainable_variables])
    return logits["classifier"].numpy(), float(loss), [tf.convert_to_tensor(gradient).numpy() for gradient in gradients]


def test_scores_follow_the_choices_into_any_order_and_gradients_stay():
    model = make_model()
    logits, loss, gradients = logits_and_gradients(model, BATCH | TARGETS)
    assert logits.shape == (2, 4) and np.ptp(logits) > 1e-3
    for order in ([3, 2, 1, 0], [1, 3, 0, 2]):
        moved = {name: value[:, order] for name, value in BATCH.items()}
        labels = np.asarray([order.index(label) for label in TARGETS["label_ids"]], np.int32)
        others, other_loss, other_gradients = logits_and_gradients(model, moved | TARGETS | {"label_ids": labels})
        np.testing.assert_allclose(others, logits[:, order], atol=1e-5)
        np.testing.assert_allclose(other_loss, loss, rtol=1e-5)
        for variable, gradient, other in zip(model.trainable_variables, gradients, other_gradients, strict=True):
            np.testing.assert_allclose(other, gradient, atol=1e-5, err_msg=variable.path)


def test_a_choices_score_depends_on_no_other_choice():
    model = make_model()
    logits = model(BATCH)["classifier"].numpy()
    for choice in range(4):
        alone = model({name: value[:, choice : choice + 1] for name, value in BATCH.items()})["classifier"]
        np.testing.assert_allclose(alone[:, 0], logits[:, choice], atol=1e-5)


def test_padding_changes_nothing():
    model = make_model()
    logits, loss, gradients = logits_and_gradients(model, BATCH | TARGETS)
    longer = {name: np.pad(value, [(0, 0), (0, 0), (0, 5)]) for name, value in BATCH.items()}
    others, other_loss, other_gradients = logits_and_gradients(model, longer | TARGETS)
    np.testing.assert_allclose(others, logits, atol=1e-5)
    np.testing.assert_allclose(other_loss, loss, rtol=1e-5)
    for gradient, other in zip(gradients, other_gradients, strict=True):
        np.testing.assert_allclose(other, gradient, atol=1e-5)


def test_the_loss_is_a_softmax_over_the_choices():
    model = make_model()
    logits, loss, _ = logits_and_gradients(model, BATCH | TARGETS)
    exact = logits.astype(np.float64)
    expected = np.mean(np.logaddexp.reduce(exact, axis=1) - exact[[0, 1], TARGETS["label_ids"]])
    np.testing.assert_allclose(loss, expected, rtol=1e-6)
