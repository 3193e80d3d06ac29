"""Chains of elementwise operations that XLA makes one loop of, in a training step that it does not compile as a whole.

TensorFlow runs each operation of such a chain over the whole tensor and keeps most of what lies between for the backward pass. Here
a chain keeps its inputs alone and computes the rest again, in float32 registers. Exports hold none of this: they are core
operations.
"""

import functools
import math

import tensorflow as tf

_GELU_CUBIC = 0.044715
_GELU_SCALE = math.sqrt(2.0 / math.pi)


# XLA compiles for each shape it meets; the graph is traced for the first two only.
_compiled = functools.partial(tf.function, jit_compile=True, reduce_retracing=True, autograph=False)


def bias_gelu(x: tf.Tensor, bias: tf.Tensor, exact: bool = False) -> tf.Tensor:
    """Returns gelu of x + bias, of the shape and dtype of x.

    Args:
      x: [..., hidden].
      bias: [hidden], of the same dtype.
      exact: Whether by the normal distribution itself, not by the tanh approximation.
    """

    @tf.custom_gradient
    def biased(x, bias):
        def gradient(upstream):
            return _shaped(_bias_gelu_gradient(x, bias, upstream, exact), (x, bias))

        return _shaped([_bias_gelu(x, bias, exact)], [x])[0], gradient

    return biased(x, bias)


@tf.custom_gradient
def add_norm(x: tf.Tensor, added: tf.Tensor, bias: tf.Tensor, mask: tf.Tensor, gamma: tf.Tensor, beta: tf.Tensor, epsilon: tf.Tensor):
    """Returns LayerNorm(x + (added + bias) * mask) over the last axis, of the shape and dtype of x.

    Args:
      x: [..., hidden].
      added: [..., hidden], of the same dtype, as all up to `mask`.
      bias: [hidden].
      mask: [..., hidden], a dropout's, or [1].
      gamma: float32[hidden], the scale.
      beta: float32[hidden], the offset.
      epsilon: float32[], added to the variance.
    """

    def gradient(upstream):
        gradients = _add_norm_gradient(x, added, bias, mask, gamma, epsilon, upstream)
        of_x, of_added, of_bias, of_gamma, of_beta = _shaped(gradients, (x, added, bias, gamma, beta))
        return of_x, of_added, of_bias, None, of_gamma, of_beta, None

    return _shaped([_add_norm(x, added, bias, mask, gamma, beta, epsilon)], [x])[0], gradient


def _tanh_gelu(x):
    """Returns the approximation's value and derivative: x (1 + tanh(inner)) / 2."""
    inner, slope = _GELU_SCALE * (x + _GELU_CUBIC * x * x * x), _GELU_SCALE * (1.0 + 3.0 * _GELU_CUBIC * x * x)
    tanh = tf.tanh(inner)
    return 0.5 * x * (1.0 + tanh), 0.5 * (1.0 + tanh) + 0.5 * x * (1.0 - tanh * tanh) * slope


def _exact_gelu(x):
    """Returns value and derivative of x times the normal distribution function."""
    share = 0.5 * (1.0 + tf.math.erf(x * math.sqrt(0.5)))
    return x * share, share + x * tf.exp(-0.5 * x * x) * (1.0 / math.sqrt(2.0 * math.pi))


@_compiled
def _bias_gelu(x, bias, exact):
    wide = _wide(x) + _wide(bias)
    return tf.cast((_exact_gelu if exact else _tanh_gelu)(wide)[0], x.dtype)


@_compiled
def _bias_gelu_gradient(x, bias, upstream, exact):
    wide = _wide(x) + _wide(bias)
    gradient = (_exact_gelu if exact else _tanh_gelu)(wide)[1] * _wide(upstream)
    return tf.cast(gradient, x.dtype), tf.cast(_over_rows(gradient), bias.dtype)


def _standardized(x, added, bias, mask, epsilon):
    """Returns the sum with mean 0 and variance 1 over the last axis, and the factor that made it so: float32."""
    total = _wide(x) + (_wide(added) + _wide(bias)) * _wide(mask)
    centred = total - tf.reduce_mean(total, -1, keepdims=True)
    factor = tf.math.rsqrt(tf.reduce_mean(centred * centred, -1, keepdims=True) + epsilon)
    return centred * factor, factor


@_compiled
def _add_norm(x, added, bias, mask, gamma, beta, epsilon):
    standardized, _ = _standardized(x, added, bias, mask, epsilon)
    return tf.cast(standardized * gamma + beta, x.dtype)


@_compiled
def _add_norm_gradient(x, added, bias, mask, gamma, epsilon, upstream):
    """Returns the gradients of x, added, bias, gamma and beta."""
    standardized, factor = _standardized(x, added, bias, mask, epsilon)
    upstream = _wide(upstream)
    scaled = upstream * gamma
    along = tf.reduce_mean(scaled * standardized, -1, keepdims=True)
    total = factor * (scaled - tf.reduce_mean(scaled, -1, keepdims=True) - standardized * along)
    kept = total * _wide(mask)
    narrow = tf.cast(total, x.dtype), tf.cast(kept, x.dtype), tf.cast(_over_rows(kept), bias.dtype)
    return *narrow, _over_rows(upstream * standardized), _over_rows(upstream)


def _shaped(values, models):
    """Returns the values, each known to have its model's shape, which a graph traced for all shapes does not know."""
    for value, model in zip(values, models, strict=True):
        value.set_shape(model.shape)
    return values


def _wide(x):
    return tf.cast(x, tf.float32)


def _over_rows(x):
    """Returns the sum of x float32[..., hidden] over all but the last axis: [hidden].

    As a matrix product, of whose equal rows one is taken: XLA adds up down the columns one number after another, two to three times
    slower, and so it does in a product with a single row.
    """
    rows = tf.reshape(x, [-1, tf.shape(x)[-1]])
    return tf.matmul(tf.ones([8, tf.shape(rows)[0]]), rows)[0]
