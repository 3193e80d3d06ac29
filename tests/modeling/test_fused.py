"""The fused chains: the values and the gradients of the operations that they stand for."""

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


def test_gelu():
    x = np.linspace(-8, 8, 4001).astype(np.float32)
    for found, expected in zip(with_gradients(fused.gelu, x), with_gradients(lambda x: tf.nn.gelu(x, approximate=True), x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=5e-6, atol=2e-6)
    half = fused.gelu(tf.constant(x, tf.bfloat16))
    assert half.dtype == tf.bfloat16
    # one rounding at the end, of what was computed in float32
    exact = tf.nn.gelu(tf.cast(tf.constant(x, tf.bfloat16), tf.float32), approximate=True)
    np.testing.assert_allclose(tf.cast(half, tf.float32), exact, rtol=2**-8, atol=1e-6)


@pytest.mark.parametrize("shape", [(3, 5, 48), (7, 48)])
def test_add_norm(shape):
    rng = np.random.default_rng(3)
    x, added = rng.normal(1, 2, shape), rng.normal(0, 1, shape)
    gamma, beta = rng.normal(1, 0.3, shape[-1]), rng.normal(0, 0.3, shape[-1])

    def written_out(x, added, gamma, beta):
        mean, variance = tf.nn.moments(x + added, -1, keepdims=True)
        return (x + added - mean) / tf.sqrt(variance + 1e-12) * gamma + beta

    expected = with_gradients(written_out, x, added, gamma, beta)  # in float64
    narrow = [value.astype(np.float32) for value in (x, added, gamma, beta)]
    found = with_gradients(lambda *values: fused.add_norm(*values, tf.constant(1e-12)), *narrow)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-4)


def test_gradients_of_a_whole_encoder():
    inputs = {name: tf.constant(features()[name]) for name in ("input_ids", "input_mask", "segment_ids")}
    plain, quick = BertEncoder(CONFIG), BertEncoder(CONFIG, fuse=True)
    for variable, other in zip(quick.trainable_variables, plain.trainable_variables):
        variable.assign(other)

    def gradients(encoder):
        with tf.GradientTape() as tape:
            outputs = encoder(inputs, training=True)
            loss = tf.reduce_sum(outputs["sequence_output"] ** 3) + tf.reduce_sum(outputs["pooled_output"] ** 3)
        return tape.gradient(loss, [v.value for v in encoder.trainable_variables])

    found, expected = ([tf.convert_to_tensor(each).numpy() for each in gradients(encoder)] for encoder in (quick, plain))
    # a share of the largest: the keys' biases have none but rounding errors, as softmax does not see them
    largest = max(np.abs(each).max() for each in expected)
    for variable, one, other in zip(plain.trainable_variables, found, expected):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6 * largest, err_msg=variable.path)


def test_scale_and_offset_stay_float32_in_a_half_precision_layer():
    config = BertConfig(**(vars(CONFIG) | {"num_hidden_layers": 1}))
    for fuse in (False, True):
        encoder = BertEncoder(config, fuse=fuse, dtype="mixed_bfloat16")
        layer = encoder.transformer[0]
        layer.output_dense.kernel.assign(tf.zeros_like(layer.output_dense.kernel))
        exact = 1 + 2.0**-12  # which bfloat16 rounds to 1
        norm = AddNorm(fuse, name="norm")
        norm.build((None, config.hidden_size))
        norm.beta.assign(tf.fill([config.hidden_size], exact))
        norm.gamma.assign(tf.zeros([config.hidden_size]))

        def inside(x, norm=norm):
            return norm(tf.cast(x, tf.float32), tf.cast(x, tf.float32), training=True)

        layer.call = lambda x, penalty, training, seed, inside=inside: inside(x)
        inputs = {name: tf.constant(features()[name]) for name in ("input_ids", "input_mask", "segment_ids")}
        found = encoder(inputs, training=True)["all_layers"][-1]
        np.testing.assert_array_equal(found, np.full(found.shape, exact, np.float32))


@pytest.mark.parametrize("rate", [0.1, 0.5])
@pytest.mark.parametrize("shape", [(400, 333), (7, 31, 613)])
def test_dropout_drops_its_share_everywhere(rate, shape):
    dropout = Dropout(rate, salt=4)
    kept = dropout(tf.ones(shape), training=True, seed=tf.constant([1, 2])).numpy()
    assert set(np.unique(kept)) == {0.0, np.float32(1 / (1 - round(rate * 2**16) / 2**16))}
    dropped = (kept == 0).reshape(-1)
    spread = np.sqrt(rate * (1 - rate))
    for part in (dropped, dropped[::2], dropped[1::2]):
        assert abs(part.mean() - rate) < 4 * spread / np.sqrt(len(part))
    # neighbours come from one draw, yet know nothing of each other
    pairs = dropped[: len(dropped) // 2 * 2].reshape(-1, 2)
    assert abs(np.corrcoef(pairs[:, 0], pairs[:, 1])[0, 1]) < 4 / np.sqrt(len(pairs))
