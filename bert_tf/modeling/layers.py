"""What the encoder and the heads are built from: dense layers with BERT's initial weights, dropout with a seed, LayerNorm."""

import keras
import tensorflow as tf
from keras import ops

from bert_tf.config import BertConfig
from bert_tf.modeling import fused

# The original's LayerNorm epsilon (tf.contrib.layers.layer_norm); Keras' default is 1e-3.
LAYER_NORM_EPSILON = 1e-12

# hidden_act "gelu" of the original is the tanh approximation, Hugging Face's "gelu" the exact one
EXACT_GELU = "gelu_exact"
GELUS = ("gelu", EXACT_GELU)

_ACTIVATIONS = {
    "gelu": lambda x: ops.gelu(x, approximate=True),
    EXACT_GELU: lambda x: ops.gelu(x, approximate=False),
    "relu": ops.relu,
    "tanh": ops.tanh,
    "linear": lambda x: x,
}


def activation(config: BertConfig):
    """Returns the function that `config.hidden_act` names."""
    return _ACTIVATIONS[config.hidden_act]


def initializer(config: BertConfig) -> keras.initializers.Initializer:
    """Returns the truncated normal that every weight matrix starts from."""
    return keras.initializers.TruncatedNormal(stddev=config.initializer_range)


def dense(units: int, name: str, config: BertConfig, **options) -> keras.layers.Dense:
    """Returns a dense layer with BERT's initial weights."""
    return keras.layers.Dense(units, kernel_initializer=initializer(config), name=name, **options)


def product(x, *layers: keras.layers.Dense):
    """Returns x [..., inputs] times the kernels of all the layers side by side, without biases: [..., units of all]."""
    kernels = [layer.kernel for layer in layers]
    return tf.tensordot(x, ops.concatenate(kernels, axis=1) if len(kernels) > 1 else ops.convert_to_tensor(kernels[0]), 1)


def layer_norm() -> keras.layers.LayerNormalization:
    """Returns a LayerNorm that computes in float32 under every precision."""
    return keras.layers.LayerNormalization(epsilon=LAYER_NORM_EPSILON, dtype="float32", name="LayerNorm")


class Dropout(keras.layers.Dropout):
    """Dropout whose mask can be a pure function of a given seed.

    With `seed` (int32[2]) the same seed gives the same mask, which is what makes a resumed run equal an unbroken one and a
    recomputed layer equal itself; without it the mask comes from Keras' generator, as in `fit`. `salt` tells this layer's masks
    from those of the others that get the same seed.
    """

    def __init__(self, rate: float, salt: int, **options):
        """Takes the share of units dropped, and a number of its own within the model."""
        super().__init__(rate, **options)
        self.salt = salt

    def call(self, inputs, training=False, seed=None):
        """Returns `inputs` with a share of its values dropped in training, of the same shape."""
        if seed is None or not training or self.rate == 0:
            return super().call(inputs, training=training)
        return inputs * self.mask(inputs, seed)

    def mask(self, inputs, seed):
        """Returns 0 where one of `inputs` is dropped and elsewhere what makes up for it, of their shape and dtype."""
        return fused.dropout_mask(inputs, seed, self.salt, self.rate)


class AddNorm(keras.layers.LayerNormalization):
    """What ends each half of a layer: LayerNorm of its input and what it made of it, the last product's bias and dropout included.

    LayerNorm itself is computed in float32 under every precision; the result has the dtype of what comes in.
    """

    def __init__(self, dropout: float, salt: int, name: str):
        """Takes the dropout's rate and salt, and a name."""
        # no autocast: what comes in half precision is widened where it is used, and the variables stay float32
        super().__init__(epsilon=LAYER_NORM_EPSILON, dtype="float32", autocast=False, name=name)
        self.dropout = Dropout(dropout, salt, name="dropout", dtype="float32", autocast=False)

    def call(self, x, product, bias, training=False, seed=None, fuse=False):
        """Returns LayerNorm(x + dropout(product + bias)) of x and product [..., hidden], of that shape, and bias [hidden]."""
        if not fuse:
            added = self.dropout(tf.nn.bias_add(product, bias), training=training, seed=seed)
            return ops.cast(super().call(x + added), x.dtype)
        mask = self.dropout.mask(product, seed) if self.dropout.rate else tf.ones([1], x.dtype)
        gamma, beta = tf.convert_to_tensor(self.gamma), tf.convert_to_tensor(self.beta)
        return fused.add_norm(x, product, bias, mask, gamma, beta, tf.constant(self.epsilon))
