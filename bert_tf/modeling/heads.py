"""What sits on the encoder: one small layer a task."""

import keras
import tensorflow as tf
from keras import ops

from bert_tf.config import BertConfig
from bert_tf.modeling.encoder import Dropout, activation, dense, initializer, layer_norm

# Dropout before a classifier's output layer: fixed in the original, whatever the config says.
CLASSIFIER_DROPOUT = 0.1


class MaskedLanguageModelHead(keras.layers.Layer):
    """Scores every piece of the vocabulary for masked positions; the output matrix is the token embedding table."""

    def __init__(self, config: BertConfig, **options):
        """Takes the model's shape."""
        super().__init__(**options)
        self.config = config
        self.transform = dense(config.hidden_size, "transform", config, dtype=self.dtype_policy)
        self.norm = layer_norm()

    def build(self, *shapes):
        """Creates the transform and the output bias."""
        hidden = (None, None, self.config.hidden_size)
        self.transform.build(hidden)
        self.norm.build(hidden)
        self.output_bias = self.add_weight(shape=(self.config.vocab_size,), initializer="zeros", name="output_bias")
        self.built = True

    def call(self, x, embedding_table):
        """Returns float32[..., vocab] logits.

        Args:
          x: [..., hidden], the encoder's output at the masked positions.
          embedding_table: float32[vocab, hidden], the encoder's token embeddings.
        """
        x = activation(self.config)(self.transform(x))
        x = ops.cast(self.norm(x), self.compute_dtype)
        rows = ops.reshape(x, (-1, self.config.hidden_size))
        # [rows, hidden] x [vocab, hidden] -> [rows, vocab]; a transposed table would have its gradient transposed back
        logits = tf.matmul(rows, ops.cast(embedding_table, self.compute_dtype), transpose_b=True)
        logits = ops.reshape(logits, (*ops.shape(x)[:-1], self.config.vocab_size))
        return ops.cast(logits, "float32") + ops.cast(self.output_bias, "float32")


class OutputLayer(keras.layers.Layer):
    """A linear layer whose kernel is stored [labels, hidden], as the original stores the kernels of its output layers."""

    def __init__(self, units: int, config: BertConfig, dropout: float = 0.0, **options):
        """Takes the number of logits, the model's shape and the dropout on the way in."""
        super().__init__(**options)
        self.units, self.config = units, config
        # every block of the encoder has three dropouts and the embeddings one
        self.dropout = Dropout(dropout, salt=1 + 3 * config.num_hidden_layers, name="dropout", dtype=self.dtype_policy)

    def build(self, input_shape):
        """Creates kernel and bias."""
        shape = (self.units, self.config.hidden_size)
        self.output_weights = self.add_weight(shape=shape, initializer=initializer(self.config), name="output_weights")
        self.output_bias = self.add_weight(shape=(self.units,), initializer="zeros", name="output_bias")

    def call(self, x, training=False, seed=None):
        """Returns float32[..., labels] logits of x [..., hidden]."""
        x = self.dropout(x, training=training, seed=seed)
        logits = ops.matmul(x, ops.transpose(ops.cast(self.output_weights, self.compute_dtype)))
        return ops.cast(logits, "float32") + ops.cast(self.output_bias, "float32")
