"""Chains of elementwise operations that XLA makes one loop of, in a training step that it does not compile as a whole.

TensorFlow runs each operation of such a chain over the whole tensor and keeps most of what lies between for the backward pass. Here
a chain keeps its inputs alone and computes the rest again, in float32 registers. Exports hold none of this: they are core
operations.
"""

import math

import tensorflow as tf

_GELU_CUBIC = 0.044715
_GELU_SCALE = math.sqrt(2.0 / math.pi)


@tf.custom_gradient
def gelu(x: tf.Tensor):
    """Returns the tanh approximation of gelu, of the shape and dtype of x."""
    return _gelu(x), lambda upstream: _gelu_gradient(x, upstream)


@tf.custom_gradient
def add_norm(x: tf.Tensor, added: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor, epsilon: tf.Tensor):
    """Returns LayerNorm(x + added) over the last axis, of the shape and dtype of x.

    Args:
      x: [..., hidden].
      added: [..., hidden].
      gamma: float32[hidden], the scale.
      beta: float32[hidden], the offset.
      epsilon: float32[], added to the variance.
    """

    def gradient(upstream):
        both, gamma_gradient, beta_gradient = _add_norm_gradient(x, added, gamma, epsilon, upstream)
        return both, both, gamma_gradient, beta_gradient, None

    return _add_norm(x, added, gamma, beta, epsilon), gradient


def _inner(x):
    """Returns the argument of gelu's tanh and that argument's derivative."""
    return _GELU_SCALE * (x + _GELU_CUBIC * x * x * x), _GELU_SCALE * (1.0 + 3.0 * _GELU_CUBIC * x * x)


@tf.function(jit_compile=True)
def _gelu(x):
    wide = tf.cast(x, tf.float32)
    return tf.cast(0.5 * wide * (1.0 + tf.tanh(_inner(wide)[0])), x.dtype)


@tf.function(jit_compile=True)
def _gelu_gradient(x, upstream):
    wide = tf.cast(x, tf.float32)
    inner, slope = _inner(wide)
    tanh = tf.tanh(inner)
    gradient = 0.5 * (1.0 + tanh) + 0.5 * wide * (1.0 - tanh * tanh) * slope
    return tf.cast(gradient * tf.cast(upstream, tf.float32), x.dtype)


def _standardized(x, added, epsilon):
    """Returns x + added with mean 0 and variance 1 over the last axis, and the factor that made it so: float32."""
    total = tf.cast(x + added, tf.float32)
    centred = total - tf.reduce_mean(total, -1, keepdims=True)
    factor = tf.math.rsqrt(tf.reduce_mean(centred * centred, -1, keepdims=True) + epsilon)
    return centred * factor, factor


@tf.function(jit_compile=True)
def _add_norm(x, added, gamma, beta, epsilon):
    standardized, _ = _standardized(x, added, epsilon)
    return tf.cast(standardized * gamma + beta, x.dtype)


@tf.function(jit_compile=True)
def _add_norm_gradient(x, added, gamma, epsilon, upstream):
    standardized, factor = _standardized(x, added, epsilon)
    upstream = tf.cast(upstream, tf.float32)
    # [..., hidden] -> [hidden]
    rows = tf.range(tf.rank(upstream) - 1)
    gamma_gradient, beta_gradient = tf.reduce_sum(upstream * standardized, rows), tf.reduce_sum(upstream, rows)
    scaled = upstream * gamma
    along = tf.reduce_mean(scaled * standardized, -1, keepdims=True)
    total = factor * (scaled - tf.reduce_mean(scaled, -1, keepdims=True) - standardized * along)
    return tf.cast(total, x.dtype), gamma_gradient, beta_gradient
