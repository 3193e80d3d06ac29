"""The last layer computed at the wanted places alone: what the whole output holds there, and the same gradients."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.data.packing import pack
from bert_tf.modeling.encoder import BertEncoder
from bert_tf.modeling.models import ENCODER_INPUTS, PACKED_INPUTS
from tests.modeling.test_packed_rows import CONFIG, features


def inputs_of(packed):
    batch = pack(features()) if packed else features()
    names = (*ENCODER_INPUTS, *(PACKED_INPUTS if packed else ()))
    return {name: tf.constant(batch[name]) for name in names}, tf.constant(batch["masked_lm_positions"])


@pytest.mark.parametrize("how", [{}, {"recompute": True}, {"fuse": True}, {"fuse": True, "recompute": True}], ids=str)
@pytest.mark.parametrize("packed", [False, True], ids=["rows", "packed"])
def test_values_and_gradients(packed, how):
    encoder, seed = BertEncoder(CONFIG, **how), tf.constant([1, 2])
    inputs, places = inputs_of(packed)
    variables = [v.value for v in encoder.trainable_variables]
    with tf.GradientTape() as tape:
        whole = encoder(inputs, training=True, seed=seed)
        sequence = tf.reshape(whole["sequence_output"], [1, -1, CONFIG.hidden_size]) if packed else whole["sequence_output"]
        places = tf.reshape(places, [1, -1]) if packed else places
        there = tf.gather(sequence, places, batch_dims=1)
        loss = tf.reduce_sum(there**3) + tf.reduce_sum(whole["pooled_output"] ** 3)
    expected_gradients = tape.gradient(loss, variables)
    with tf.GradientTape() as tape:
        found = encoder(inputs | {"wanted_positions": places[0] if packed else places}, training=True, seed=seed)
        loss = tf.reduce_sum(found["sequence_output"] ** 3) + tf.reduce_sum(found["pooled_output"] ** 3)
    gradients = tape.gradient(loss, variables)
    np.testing.assert_allclose(found["sequence_output"], there[0] if packed else there, atol=1e-5)
    np.testing.assert_allclose(found["pooled_output"], whole["pooled_output"], atol=1e-5)
    for variable, gradient, expected in zip(encoder.trainable_variables, gradients, expected_gradients):
        expected = tf.convert_to_tensor(expected)
        scale = float(tf.reduce_max(tf.abs(expected)))
        np.testing.assert_allclose(tf.convert_to_tensor(gradient), expected, atol=2e-6 * scale + 1e-5, err_msg=variable.path)


def test_none_but_the_first():
    encoder = BertEncoder(CONFIG)
    inputs, places = inputs_of(packed=False)
    found = encoder(inputs | {"wanted_positions": places[:, :0]})
    assert found["sequence_output"].shape == (len(places), 0, CONFIG.hidden_size)
    np.testing.assert_allclose(found["pooled_output"], encoder(inputs)["pooled_output"], atol=1e-6)
