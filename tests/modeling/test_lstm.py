"""The bidirectional LSTM beside Keras' own and beside the equations by hand: outputs, gradients, padding, initial weights."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.modeling.lstm import BidirectionalLSTM

INPUTS, UNITS = 5, 3
LENGTHS = np.array([4, 1, 3, 0])
RNG = np.random.default_rng(3)
X = RNG.normal(0, 1, (len(LENGTHS), 4, INPUTS)).astype(np.float32)
MASK = (np.arange(4) < LENGTHS[:, None]).astype(np.int32)


def made(dtype="float32"):
    keras.utils.set_random_seed(5)
    layer = BidirectionalLSTM(UNITS, dtype=dtype)
    layer.build((None, None, INPUTS))
    layer.bias.assign(RNG.normal(0, 0.5, layer.bias.shape))
    return layer


def keras_twin(layer):
    twin = keras.layers.Bidirectional(keras.layers.LSTM(UNITS, return_sequences=True))
    twin.build((None, None, INPUTS))
    parts = [np.asarray(weight) for weight in (layer.kernel, layer.recurrent_kernel, layer.bias)]
    twin.set_weights([part[direction] for direction in (0, 1) for part in parts])
    return twin


def by_hand(layer, x):
    """Returns float64[seq, 2 x units] for one sentence [seq, inputs]."""

    def sigmoid(z):
        return 1 / (1 + np.exp(-z))

    columns = []
    for direction in (0, 1):
        kernel, recurrent, bias = (np.float64(part[direction]) for part in (layer.kernel, layer.recurrent_kernel, layer.bias))
        h, c, states = np.zeros(UNITS), np.zeros(UNITS), []
        for row in x[::-1] if direction else x:
            i, f, g, o = np.split(row @ kernel + h @ recurrent + bias, 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            states.append(h)
        columns.append(states[::-1] if direction else states)
    return np.concatenate(columns, axis=1)


def test_it_is_the_equations():
    layer = made()
    found = layer(X, MASK).numpy()
    for row, x, length in zip(found, X, LENGTHS):
        if length:
            np.testing.assert_allclose(row[:length], by_hand(layer, x[:length]), atol=1e-6)
        assert not row[length:].any()


def test_outputs_and_gradients_are_those_of_keras():
    layer = made()
    twin = keras_twin(layer)
    wanted = tf.constant(RNG.normal(0, 1, (*MASK.shape, 2 * UNITS)) * MASK[..., None], tf.float32)
    results = []
    for model, call in ((layer, lambda x: layer(x, MASK)), (twin, lambda x: twin(x, mask=tf.cast(MASK, tf.bool)))):
        x = tf.constant(X)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = call(x) * wanted
            loss = tf.reduce_sum(y * y)
        results.append((y.numpy(), *(part.numpy() for part in tape.gradient(loss, [x, *(v.value for v in model.trainable_variables)]))))
    (y, of_x, *ours), (twins_y, twins_of_x, *theirs) = results
    np.testing.assert_allclose(y[:3], twins_y[:3], atol=1e-6)
    np.testing.assert_allclose(of_x[:3], twins_of_x[:3], atol=1e-6)  # Keras has nothing sensible to say of a row without text
    assert len(ours) == 3 and len(theirs) == 6
    for number, gradient in enumerate(ours):
        np.testing.assert_allclose(gradient, np.stack([theirs[number], theirs[3 + number]]), atol=1e-5)


def test_padding_changes_nothing_whatever_stands_in_it():
    layer = made()
    longer = np.concatenate([np.where(MASK[..., None], X, 99), np.full((len(LENGTHS), 3, INPUTS), -99, np.float32)], axis=1)

    def run(x, mask):
        with tf.GradientTape() as tape:
            y = layer(x, mask)
            loss = tf.reduce_sum(y * y)
        return y.numpy(), tape.gradient(loss, [v.value for v in layer.trainable_variables])

    (y, gradients), (others_y, others) = run(X, MASK), run(np.float32(longer), np.pad(MASK, [(0, 0), (0, 3)]))
    np.testing.assert_allclose(others_y[:, :4], y, atol=1e-6)
    for gradient, other in zip(gradients, others):
        np.testing.assert_allclose(other, gradient, atol=1e-5)


def test_inside_a_graph_of_any_length_it_is_the_same():
    layer = made()
    specs = [tf.TensorSpec([None, None, INPUTS]), tf.TensorSpec([None, None], tf.int32)]
    graph = tf.function(lambda x, mask: layer(x, mask), input_signature=specs)
    for length in (1, 4):
        np.testing.assert_allclose(graph(X[:, :length], MASK[:, :length]), layer(X[:, :length], MASK[:, :length]), atol=1e-6)


def test_half_precision_is_near_and_its_weights_are_not_narrowed():
    layer = made("mixed_bfloat16")
    found = layer(X, MASK)
    assert found.dtype == tf.float32 and layer.kernel.dtype == "float32"
    np.testing.assert_allclose(found, keras_twin(layer)(X, mask=tf.cast(MASK, tf.bool)) * MASK[..., None], atol=0.02)


def test_initial_weights():
    layer = BidirectionalLSTM(64)
    layer.build((None, None, 32))
    kernel, recurrent, bias = (np.asarray(part) for part in (layer.kernel, layer.recurrent_kernel, layer.bias))
    assert np.abs(kernel).max() == pytest.approx(np.sqrt(6 / (32 + 256)), rel=0.01)  # Glorot: of [inputs, 4 x units]
    assert np.abs(kernel[0] - kernel[1]).max() > 0.1 and np.abs(recurrent[0] - recurrent[1]).max() > 0.1
    for of_direction in recurrent:
        np.testing.assert_allclose(of_direction @ of_direction.T, np.eye(64), atol=1e-5)
    np.testing.assert_array_equal(bias, np.tile(np.repeat([0, 1, 0, 0], 64), (2, 1)))
