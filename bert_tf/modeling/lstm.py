"""A bidirectional LSTM (Hochreiter and Schmidhuber, 1997) that is fast on CPUs: one loop for both directions, the rest large products.

Keras' LSTM multiplies the input step by step, and TensorFlow's gradient of a loop adds up the weights' gradients step by step. Here the
input is multiplied once for all steps, and the gradient of the recurrent weights is one product after the loop: what stays inside is
the product of the state with the recurrent weights, and in the backward pass its counterpart.

Axes: batch, seq, inputs, directions (2: from the left, from the right), units.
"""

from collections.abc import Callable

import keras
import tensorflow as tf
from keras import ops

_NUM_GATES = 4  # input, forget, candidate, output: Keras' order


class BidirectionalLSTM(keras.layers.Layer):
    """Two LSTMs, one from each end, side by side; products in the layer's precision, everything else in float32.

    Weights start as Keras' do: Glorot uniform, orthogonal for the state, a forget bias of 1.
    """

    def __init__(self, units: int, **options):
        """Takes the units of each direction."""
        # no autocast: the products alone are narrowed, and the bias is added in float32
        super().__init__(autocast=False, **options)
        self.units = units

    def build(self, input_shape):
        """Creates the weights of both directions: kernel, recurrent_kernel and bias."""
        width = _NUM_GATES * self.units

        def weight(name, shape, make):
            return self.add_weight(shape=(2, *shape), initializer=_for_each_direction(make), name=name)

        self.kernel = weight("kernel", (input_shape[-1], width), keras.initializers.GlorotUniform)
        self.recurrent_kernel = weight("recurrent_kernel", (self.units, width), keras.initializers.Orthogonal)
        self.bias = weight("bias", (width,), _ForgetBias)

    def call(self, x, is_text):
        """Returns float32[batch, seq, 2 x units], the states from the left, then those from the right; 0 where there is no text.

        Args:
          x: [batch, seq, inputs].
          is_text: int[batch, seq], 1 for the text, which begins at the left of each row.
        """
        x = tf.transpose(ops.cast(x, self.compute_dtype), [1, 0, 2])  # -> [seq, batch, inputs]
        kernel = ops.cast(self.kernel, self.compute_dtype)
        # [seq, batch, inputs] x [inputs, directions x 4 x units] -> [seq, batch, directions x 4 x units]
        both = tf.tensordot(x, ops.concatenate([kernel[0], kernel[1]], axis=1), 1)
        left, right = tf.split(ops.cast(both, "float32"), 2, axis=-1)
        own = tf.stack([left, right[::-1]], axis=1) + ops.cast(self.bias, "float32")[:, None]  # -> [seq, directions, batch, 4 x units]
        there = tf.transpose(ops.cast(is_text, "float32"))[..., None]  # -> [seq, batch, 1]
        states = recurrence(own, tf.stack([there, there[::-1]], axis=1), ops.cast(self.recurrent_kernel, self.compute_dtype))
        states = tf.concat([states[:, 0], states[::-1, 1]], axis=-1)  # -> [seq, batch, 2 x units]
        return tf.transpose(states, [1, 0, 2])


class _ForgetBias(keras.initializers.Initializer):
    """1 for the forget gate, 0 for the others."""

    def __call__(self, shape, dtype=None):
        units = shape[0] // _NUM_GATES
        return ops.concatenate([ops.zeros((units,), dtype), ops.ones((units,), dtype), ops.zeros((2 * units,), dtype)])


def _for_each_direction(make: Callable[[], keras.initializers.Initializer]):
    """Returns an initializer of [directions, ...], each direction drawn anew."""
    return lambda shape, dtype=None: ops.stack([make()(shape[1:], dtype) for _ in range(shape[0])])


@tf.custom_gradient
def recurrence(own: tf.Tensor, mask: tf.Tensor, kernel: tf.Tensor):
    """Returns the states h of an LSTM in every direction: float32[seq, directions, batch, units].

    With gates i, f, g, o = own + h W, in this order: c <- f c + i g; h <- o tanh(c), each times the mask.

    Args:
      own: float32[seq, directions, batch, 4 x units], what the gates take from the input, in the order in which each direction reads.
      mask: float32[seq, directions, batch, 1]; where it is 0 the states are 0 and begin anew.
      kernel: [directions, units, 4 x units], W, in the precision of the product.
    """
    states, cells, gates = _forward(own, mask, kernel)

    def gradient(upstream):
        of_own = _backward(upstream, mask, cells, gates, kernel)
        before = tf.pad(states[:-1], [[1, 0], [0, 0], [0, 0], [0, 0]])
        of_kernel = tf.einsum("tdbh,tdbg->dhg", tf.cast(before, kernel.dtype), tf.cast(of_own, kernel.dtype))
        return of_own, None, of_kernel

    return states, gradient


def _forward(own, mask, kernel):
    """Returns h and c, [seq, directions, batch, units], and the gates' values, [seq, directions, batch, 4 x units]."""
    num_steps, nothing = tf.shape(own)[0], tf.zeros_like(own[0, ..., : own.shape[-1] // _NUM_GATES])
    arrays = [tf.TensorArray(tf.float32, num_steps, element_shape=shape) for shape in (nothing.shape, nothing.shape, own.shape[1:])]

    def step(t, h, c, arrays):
        i, f, g, o = tf.split(own[t] + tf.cast(tf.matmul(tf.cast(h, kernel.dtype), kernel), tf.float32), _NUM_GATES, axis=-1)
        i, f, g, o = tf.sigmoid(i), tf.sigmoid(f), tf.tanh(g), tf.sigmoid(o)
        c = mask[t] * (f * c + i * g)
        h = o * tf.tanh(c)
        found = (h, c, tf.concat([i, f, g, o], axis=-1))
        return [t + 1, h, c, [array.write(t, value) for array, value in zip(arrays, found)]]

    *_, arrays = tf.while_loop(lambda t, *_: t < num_steps, step, [0, nothing, nothing, arrays], maximum_iterations=num_steps)
    return [array.stack() for array in arrays]


def _backward(upstream, mask, cells, gates, kernel):
    """Returns the gradient of `own`."""
    num_steps, nothing = tf.shape(gates)[0], tf.zeros_like(cells[0])
    array = tf.TensorArray(tf.float32, num_steps, element_shape=gates.shape[1:])

    def step(t, of_h, of_c, array):
        i, f, g, o = tf.split(gates[t], _NUM_GATES, axis=-1)
        squashed = tf.tanh(cells[t])
        before = cells[tf.maximum(t - 1, 0)] * tf.cast(t > 0, tf.float32)
        of_h = of_h + upstream[t]
        of_c = mask[t] * (of_c + of_h * o * (1 - squashed * squashed))
        of_gates = [of_c * g * i * (1 - i), of_c * before * f * (1 - f), of_c * i * (1 - g * g), of_h * squashed * o * (1 - o)]
        of_own = tf.concat(of_gates, axis=-1)
        of_state = tf.matmul(tf.cast(of_own, kernel.dtype), kernel, transpose_b=True)
        return [t - 1, tf.cast(of_state, tf.float32), of_c * f, array.write(t, of_own)]

    *_, array = tf.while_loop(lambda t, *_: t >= 0, step, [num_steps - 1, nothing, nothing, array], maximum_iterations=num_steps)
    return array.stack()
