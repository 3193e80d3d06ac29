"""The fused chains: the values and the gradients of the operations that they stand for."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.modeling import fused
from bert_tf.modeling.encoder import AddNorm, BertEncoder, Dropout
from tests.modeling.test_packed_rows import CONFIG, features


def with_gradients(function, *arguments):
    arguments = [tf.constant(argument) for argument in arguments]
    with tf.GradientTape() as tape:
        tape.watch(arguments)
        output = function(*arguments)
        loss = tf.reduce_sum(tf.cast(output, tf.float32) ** 2)
    return [output, *tape.gradient(loss, arguments)]


@pytest.mark.parametrize("exact", [False, True])
def test_bias_gelu(exact):
    rng = np.random.default_rng(2)
    x, bias = np.linspace(-8, 8, 400 * 48).reshape(20, 20, 48).astype(np.float32), rng.normal(0, 1, 48).astype(np.float32)
    found = with_gradients(lambda *values: fused.bias_gelu(*values, exact), x, bias)
    expected = with_gradients(
        lambda *values: tf.nn.gelu(tf.nn.bias_add(*values), approximate=not exact), *(v.astype(np.float64) for v in (x, bias))
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=5e-6, atol=5e-6)
    half = fused.bias_gelu(tf.constant(x, tf.bfloat16), tf.constant(bias, tf.bfloat16), exact)
    assert half.dtype == tf.bfloat16
    # one rounding at the end, of what was computed in float32
    total = tf.cast(tf.constant(x, tf.bfloat16), tf.float32) + tf.cast(tf.constant(bias, tf.bfloat16), tf.float32)
    np.testing.assert_allclose(tf.cast(half, tf.float32), tf.nn.gelu(total, approximate=not exact), rtol=2**-8, atol=1e-6)


@pytest.mark.parametrize("drops", [False, True])
@pytest.mark.parametrize("shape", [(3, 5, 48), (7, 48)])
def test_add_norm(shape, drops):
    rng = np.random.default_rng(3)
    x, added, bias = rng.normal(1, 2, shape), rng.normal(0, 1, shape), rng.normal(0, 1, shape[-1])
    mask = (rng.random(shape) < 0.8) / 0.8 if drops else np.ones(1)
    gamma, beta = rng.normal(1, 0.3, shape[-1]), rng.normal(0, 0.3, shape[-1])

    def written_out(x, added, bias, gamma, beta):
        total = x + (added + bias) * mask
        mean, variance = tf.nn.moments(total, -1, keepdims=True)
        return (total - mean) / tf.sqrt(variance + 1e-12) * gamma + beta

    def fused_one(x, added, bias, gamma, beta):
        return fused.add_norm(x, added, bias, tf.constant(mask, tf.float32), gamma, beta, tf.constant(1e-12))

    values = (x, added, bias, gamma, beta)
    expected = with_gradients(written_out, *values)  # in float64
    found = with_gradients(fused_one, *(value.astype(np.float32) for value in values))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-4)


@pytest.mark.parametrize("dropout, recompute", [(0.0, False), (0.1, False), (0.1, True)])
def test_gradients_of_a_whole_encoder(dropout, recompute):
    inputs = {name: tf.constant(features()[name]) for name in ("input_ids", "input_mask", "segment_ids")}
    config = BertConfig(**(vars(CONFIG) | {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}))
    plain, quick = BertEncoder(config), BertEncoder(config, recompute=recompute, fuse=True)
    for variable, other in zip(quick.trainable_variables, plain.trainable_variables):
        variable.assign(other)

    def gradients(encoder):
        with tf.GradientTape() as tape:
            outputs = encoder(inputs, training=True, seed=tf.constant([3, 4]))
            loss = tf.reduce_sum(outputs["sequence_output"] ** 3) + tf.reduce_sum(outputs["pooled_output"] ** 3)
        return tape.gradient(loss, [v.value for v in encoder.trainable_variables])

    found, expected = ([tf.convert_to_tensor(each).numpy() for each in gradients(encoder)] for encoder in (quick, plain))
    # a share of the largest: the keys' biases have none but rounding errors, as softmax does not see them
    largest = max(np.abs(each).max() for each in expected)
    for variable, one, other in zip(plain.trainable_variables, found, expected):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6 * largest, err_msg=variable.path)


@pytest.mark.parametrize("fuse", [False, True])
def test_scale_and_offset_stay_float32_under_half_precision(fuse):
    class Half(keras.layers.Layer):
        def __init__(self):
            super().__init__(dtype="mixed_bfloat16")
            self.norm = AddNorm(0.0, 1, name="norm")
            self.norm.build((None, 8))

        def call(self, x):
            wide, seed = tf.cast(x, tf.float32), tf.constant([1, 2])
            return self.norm(wide, wide, tf.zeros(8), training=True, seed=seed, fuse=fuse)

    layer, exact = Half(), 1 + 2.0**-12  # which bfloat16 rounds to 1
    layer.norm.gamma.assign(tf.zeros(8))
    layer.norm.beta.assign(tf.fill([8], exact))
    np.testing.assert_array_equal(layer(tf.ones([2, 8])), np.full((2, 8), exact, np.float32))


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_dropped_softmax(rate):
    rng = np.random.default_rng(5)
    scores, penalty = rng.normal(0, 2, (2, 3, 5, 7)), np.where(rng.random((2, 1, 1, 7)) < 0.3, -10000.0, 0.0)
    seed = tf.constant([3, 4])
    mask = fused.dropout_mask(tf.ones(scores.shape, tf.float64), seed, 8, rate)
    assert (mask.numpy() == 0).any() == bool(rate)
    expected = with_gradients(lambda scores: tf.nn.softmax(scores + penalty) * mask, scores)  # in float64
    found = with_gradients(
        lambda scores: fused.dropped_softmax(scores, tf.constant(penalty, tf.float32), seed, 8, rate), scores.astype(np.float32)
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_bias_add():
    rng = np.random.default_rng(6)
    x, bias = rng.normal(0, 1, (2, 9, 5)), rng.normal(0, 1, 5)
    expected = with_gradients(lambda x, bias: x + bias, x, bias)
    for one, other in zip(with_gradients(fused.bias_add, x.astype(np.float32), bias.astype(np.float32)), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def masks(shape, rate, *seeds_and_salts):
    """Returns for each (seed, salt) where a mask drops, one after another: bool[places]."""
    ones = tf.ones(shape)
    return [fused.dropout_mask(ones, tf.constant(seed), salt, rate).numpy().reshape(-1) == 0 for seed, salt in seeds_and_salts]


def far_apart(one, other, rate):
    """Returns by how many standard deviations two masks agree more often than two that have nothing to do with each other."""
    chance = rate**2 + (1 - rate) ** 2
    return abs(np.mean(one == other) - chance) / np.sqrt(chance * (1 - chance) / len(one))


@pytest.mark.parametrize("rate", [0.1, 0.5])
@pytest.mark.parametrize("shape", [(400, 333), (7, 31, 613)])
def test_dropout_drops_its_share_everywhere(rate, shape):
    kept = Dropout(rate, salt=4)(tf.ones(shape), training=True, seed=tf.constant([1, 2])).numpy()
    assert set(np.unique(kept)) == {0.0, np.float32(1 / (1 - rate))}
    dropped = kept == 0
    spread = np.sqrt(rate * (1 - rate))
    flat = dropped.reshape(-1)
    for part in (flat, flat[::2], flat[1::2], flat[: len(flat) // 2], flat[3::16]):
        assert abs(part.mean() - rate) < 4 * spread / np.sqrt(len(part))
    # rows and columns spread as much as chance has it: chi-square divided by its degrees of freedom
    for axis in range(len(shape)):
        sums = dropped.sum(axis=axis).reshape(-1)
        ratio = sums.var() / (shape[axis] * rate * (1 - rate))
        assert abs(ratio - 1) < 5 * np.sqrt(2 / len(sums))


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_masks_of_layers_steps_and_places_have_nothing_in_common(rate):
    first, *others = masks(
        (200, 768), rate, ([1, 2], 4), ([1, 2], 5), ([1, 3], 4), ([2, 2], 4), ([2, 1], 4), ([-7, 2**31 - 1], 4), ([0, 0], 0)
    )
    for other in others:
        assert far_apart(first, other, rate) < 4
    for shift in (1, 2, 3, 16, 64, 768, 2 * 768, 4096):
        assert far_apart(first[:-shift], first[shift:], rate) < 4
        for other in others:
            assert far_apart(first[:-shift], other[shift:], rate) < 4


def test_a_mask_is_the_hash_that_it_is_told_to_be():
    def hashed(word, on_the_way=0):
        word %= 2**32
        word = (word ^ word >> 16) * 0x7FEB352D % 2**32
        word = (word ^ word >> 15 ^ on_the_way) * 0x846CA68B % 2**32
        return word ^ word >> 16

    before, on_the_way = hashed(11 + hashed(22 + hashed(4))), hashed(22 + hashed(11 + hashed(~4)))
    (found,) = masks((5, 40), 0.3, ([11, 22], 4))
    assert found.tolist() == [hashed(place * 0x9E3779B9 + before, on_the_way) < round(0.3 * 2**32) for place in range(200)]
