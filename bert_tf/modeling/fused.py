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


def dropout_mask(like: tf.Tensor, seed: tf.Tensor, salt: int, rate: float) -> tf.Tensor:
    """Returns what dropout multiplies with, 0 or 1 / (1 - rate), of the shape and dtype of `like`.

    Args:
      like: Of any shape.
      seed: int[2], random from step to step.
      salt: Tells this layer's masks from those of others that get the same seed.
      rate: The share of zeros.
    """
    return _shaped([_dropout_mask(like, seed, tf.constant(salt, tf.uint32), rate)], [like])[0]


def dropped_softmax(scores: tf.Tensor, penalty: tf.Tensor, seed: tf.Tensor, salt: int, rate: float) -> tf.Tensor:
    """Returns the softmax of scores + penalty over the last axis, computed in float32, after dropout: of the shape and dtype of scores.

    Args:
      scores: [batch, heads, n, seq].
      penalty: float32, of a shape that goes with it; it has no gradient.
      seed: int[2], as for `dropout_mask`.
      salt: As for `dropout_mask`.
      rate: The share that is dropped.
    """

    @tf.custom_gradient
    def dropped(scores):
        shares = tf.nn.softmax(_shaped([_penalized(scores, penalty)], [scores])[0])
        kept = _shaped([_dropped(shares, scores, seed, tf.constant(salt, tf.uint32), rate)], [scores])[0]

        def gradient(upstream):
            return _shaped([_dropped_softmax_gradient(shares, kept, upstream)], [scores])[0]

        return kept, gradient

    return dropped(scores)


@tf.custom_gradient
def bias_add(x: tf.Tensor, bias: tf.Tensor):
    """Returns x [..., hidden] + bias [hidden], of one dtype; the gradient of the bias is summed up as a matrix product."""

    def gradient(upstream):
        return upstream, _over_rows(upstream)

    return tf.nn.bias_add(x, bias), gradient


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
            of_x = _shaped([_bias_gelu_gradient(x, bias, upstream, exact)], [x])[0]
            return of_x, _over_rows(of_x)

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
        of_x, of_added, of_gamma, of_beta = _shaped(gradients, (x, added, gamma, beta))
        return of_x, of_added, _over_rows(of_added), None, of_gamma, of_beta, None

    return _shaped([_add_norm(x, added, bias, mask, gamma, beta, epsilon)], [x])[0], gradient


@_compiled
def _dropout_mask(like, seed, salt, rate):
    return tf.cast(_keeps(tf.shape(like), seed, salt, rate), like.dtype)


@_compiled
def _penalized(scores, penalty):
    return _wide(scores) + penalty


@_compiled
def _dropped(shares, like, seed, salt, rate):
    kept = shares * _keeps(tf.shape(shares), seed, salt, rate) if rate else shares
    return tf.cast(kept, like.dtype)


@_compiled
def _dropped_softmax_gradient(shares, kept, upstream):
    """Returns the gradient of the scores: shares are what the softmax gave, `kept` what dropout left of them."""
    reached = _wide(kept) * _wide(upstream)
    return tf.cast(reached - shares * tf.reduce_sum(reached, -1, keepdims=True), kept.dtype)


def _keeps(shape, seed, salt, rate):
    """Returns a dropout mask, float32 of this shape.

    A hash of each value's place takes the place of a random generator: it costs a fifth, and only whether it falls below the rate is
    asked of it. Step and layer come in as two numbers that a hash has made unlike those of every other step and layer: one before
    the places are mixed and one on the way, without which all masks would be stretches of one sequence.
    """
    first, second = (tf.cast(part, tf.uint32) for part in tf.unstack(seed))
    before = _hash(first + _hash(second + _hash(salt)))
    on_the_way = _hash(second + _hash(first + _hash(tf.bitwise.invert(salt))))
    places = tf.bitcast(tf.range(tf.reduce_prod(shape)), tf.uint32) * tf.constant(0x9E3779B9, tf.uint32)
    kept = _hash(places + before, on_the_way) >= tf.constant(round(rate * 2**32), tf.uint32)
    return tf.reshape(tf.where(kept, tf.constant(1.0 / (1.0 - rate)), 0.0), shape)


def _hash(x, on_the_way=0):
    """Returns uint32 of the shape of x: every bit of x decides on every bit of it with nearly even chances (lowbias32, Wellons 2018)."""
    x = _xor_high(x, 16) * tf.constant(0x7FEB352D, tf.uint32)
    x = tf.bitwise.bitwise_xor(_xor_high(x, 15), tf.cast(on_the_way, tf.uint32)) * tf.constant(0x846CA68B, tf.uint32)
    return _xor_high(x, 16)


def _xor_high(x, bits):
    return tf.bitwise.bitwise_xor(x, tf.bitwise.right_shift(x, tf.constant(bits, tf.uint32)))


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
    return tf.cast(gradient, x.dtype)


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
    """Returns the gradients of x, added, gamma and beta."""
    standardized, factor = _standardized(x, added, bias, mask, epsilon)
    upstream = _wide(upstream)
    scaled = upstream * gamma
    along = tf.reduce_mean(scaled * standardized, -1, keepdims=True)
    total = factor * (scaled - tf.reduce_mean(scaled, -1, keepdims=True) - standardized * along)
    narrow = tf.cast(total, x.dtype), tf.cast(total * _wide(mask), x.dtype)
    return *narrow, _over_rows(upstream * standardized), _over_rows(upstream)


def _shaped(values, models):
    """Returns the values, each known to have its model's shape, which a graph traced for all shapes does not know."""
    for value, model in zip(values, models, strict=True):
        value.set_shape(model.shape)
    return values


def _wide(x):
    return tf.cast(x, tf.float32)


def _over_rows(x):
    """Returns the sum of x [..., hidden] over all but the last axis: [hidden].

    As a matrix product, of whose equal rows one is taken: XLA adds up down the columns one number after another, two to three times
    slower, and so it does in a product with a single row.
    """
    rows = tf.reshape(x, [-1, tf.shape(x)[-1]])
    return tf.matmul(tf.ones([8, tf.shape(rows)[0]], x.dtype), rows)[0]
