"""The BERT encoder (Devlin et al., 2018, section 3): embeddings, post-norm Transformer layers, pooler."""

import functools

import keras
import tensorflow as tf
from keras import ops

from bert_tf.config import BertConfig
from bert_tf.modeling import fused

# The original's LayerNorm epsilon (tf.contrib.layers.layer_norm); Keras' default is 1e-3.
LAYER_NORM_EPSILON = 1e-12

# Added to the attention score of a padding position before the softmax. Finite in every dtype, so a row that is all padding gives
# equal weights, not NaN; the original's value.
MASK_PENALTY = -10000.0

# hidden_act "gelu" of the original is the tanh approximation, Hugging Face's "gelu" the exact one
_EXACT_GELU = "gelu_exact"
_GELUS = ("gelu", _EXACT_GELU)

_ACTIVATIONS = {
    "gelu": lambda x: ops.gelu(x, approximate=True),
    _EXACT_GELU: lambda x: ops.gelu(x, approximate=False),
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


class Embeddings(keras.layers.Layer):
    """Sum of token, segment and position embeddings, normalised."""

    def __init__(self, config: BertConfig, **options):
        """Takes the model's shape."""
        # no autocast: what is gathered from the tables is narrowed, not whole tables
        super().__init__(autocast=False, **options)
        self.config = config
        self.norm = layer_norm()
        self.dropout = Dropout(config.hidden_dropout_prob, salt=0, name="dropout", dtype=self.dtype_policy)

    def build(self, input_shape=None):
        """Creates the three tables."""
        config, hidden = self.config, self.config.hidden_size

        def table(rows, name):
            return self.add_weight(shape=(rows, hidden), initializer=initializer(config), name=name)

        self.word_embeddings = table(config.vocab_size, "word_embeddings")
        self.token_type_embeddings = table(config.type_vocab_size, "token_type_embeddings")
        self.position_embeddings = table(config.max_position_embeddings, "position_embeddings")
        self.norm.build((None, None, hidden))

    def call(self, input_ids, segment_ids, position_ids=None, training=False, seed=None):
        """Returns compute_dtype[batch, seq, hidden] from int[batch, seq] ids, segments and, where they do not count up, positions."""
        x = ops.cast(tf.gather(self.word_embeddings, input_ids), self.compute_dtype)  # [batch, seq] -> [batch, seq, hidden]
        # Few segments: a product with a one-hot matrix has a cheaper gradient than a gather (no scatter over two rows).
        one_hot = ops.one_hot(segment_ids, self.config.type_vocab_size, dtype=self.compute_dtype)
        x = x + ops.matmul(one_hot, ops.cast(self.token_type_embeddings, self.compute_dtype))
        positions = ops.cast(self.position_embeddings, self.compute_dtype)
        x = x + (positions[: ops.shape(input_ids)[1]] if position_ids is None else tf.gather(positions, position_ids))
        return self.dropout(ops.cast(self.norm(x), self.compute_dtype), training=training, seed=seed)


class SelfAttention(keras.layers.Layer):
    """Multi-head scaled dot-product attention of a sequence, or of some places in it, on the sequence, and the output projection."""

    def __init__(self, config: BertConfig, salt: int, **options):
        """Takes the model's shape and the dropout's salt."""
        super().__init__(**options)
        self.heads = config.num_attention_heads
        self.head_dim = config.hidden_size // config.num_attention_heads
        self.query = dense(config.hidden_size, "query", config, dtype=self.dtype_policy)
        self.key = dense(config.hidden_size, "key", config, dtype=self.dtype_policy)
        self.value = dense(config.hidden_size, "value", config, dtype=self.dtype_policy)
        self.output_dense = dense(config.hidden_size, "output", config, dtype=self.dtype_policy)
        self.dropout = Dropout(config.attention_probs_dropout_prob, salt=salt, name="dropout", dtype=self.dtype_policy)

    def build(self, input_shape):
        """Creates the four projections."""
        for layer in (self.query, self.key, self.value, self.output_dense):
            layer.build(input_shape)

    def call(self, x, penalty, asking=None, training=False, seed=None, fuse=False):
        """Returns [batch, n, hidden], without the output's bias: what the places `asking`, of that shape, take from x [batch, seq, hidden].

        Args:
          x: The sequence.
          penalty: float32[batch, 1, 1 or n, seq], added to the scores.
          asking: The places; None for all of x.
          training: Whether dropout is on.
          seed: int32[2] behind the dropout mask, or None.
          fuse: Whether chains of elementwise operations are compiled; in training with a seed alone.
        """
        if asking is None:
            asking = x
            query, key, value = self._heads_of(x, fuse, self.query, self.key, self.value)
        else:
            query, key, value = *self._heads_of(asking, fuse, self.query), *self._heads_of(x, fuse, self.key, self.value)
        # [batch, heads, n, head_dim] x [batch, heads, seq, head_dim] -> [batch, heads, n, seq]
        scores = tf.matmul(query * (self.head_dim**-0.5), key, transpose_b=True)
        penalty = ops.cast(penalty, "float32")  # Keras hands it over in the layer's own, perhaps half, precision
        if fuse:
            shares = fused.dropped_softmax(scores, penalty, seed, self.dropout.salt, self.dropout.rate)
        else:
            shares = tf.nn.softmax(ops.cast(scores, "float32") + penalty, axis=-1)
            shares = self.dropout(ops.cast(shares, self.compute_dtype), training=training, seed=seed)
        mixed = ops.transpose(ops.matmul(shares, value), (0, 2, 1, 3))  # -> [batch, n, heads, head_dim]
        return product(ops.reshape(mixed, ops.shape(asking)), self.output_dense)

    def _heads_of(self, x, fuse, *projections):
        """Returns what each of the projections makes of x [batch, seq, hidden], in one product: [batch, heads, seq, head_dim] each."""
        bias = ops.concatenate([layer.bias for layer in projections], axis=0)
        both = (fused.bias_add if fuse else tf.nn.bias_add)(product(x, *projections), bias)
        batch, seq = ops.shape(x)[0], ops.shape(x)[1]
        both = ops.reshape(both, (batch, seq, len(projections), self.heads, self.head_dim))
        # [batch, seq, projections, heads, head_dim] -> projections x [batch, heads, seq, head_dim]
        return tf.unstack(tf.transpose(both, (2, 0, 3, 1, 4)), len(projections))


class TransformerLayer(keras.layers.Layer):
    """One post-norm block: attention and feed-forward, each with dropout, residual and LayerNorm."""

    def __init__(self, config: BertConfig, index: int, fuse: bool = False, **options):
        """Takes the model's shape, the layer's number from 0 and the encoder's `fuse`."""
        super().__init__(**options)
        self.config, self.fuse = config, fuse
        salt = 1 + 3 * index
        self.attention = SelfAttention(config, salt, name="attention", dtype=self.dtype_policy)
        self.attention_norm = AddNorm(config.hidden_dropout_prob, salt + 1, name="attention_norm")
        self.intermediate = dense(config.intermediate_size, "intermediate", config, dtype=self.dtype_policy)
        self.output_dense = dense(config.hidden_size, "output", config, dtype=self.dtype_policy)
        self.output_norm = AddNorm(config.hidden_dropout_prob, salt + 2, name="output_norm")

    def build(self, input_shape, penalty_shape=None):
        """Creates the block's variables."""
        self.attention.build(input_shape)
        self.attention_norm.build(input_shape)
        self.intermediate.build(input_shape)
        self.output_dense.build((*input_shape[:-1], self.config.intermediate_size))
        self.output_norm.build(input_shape)

    def call(self, x, penalty, wanted=None, training=False, seed=None):
        """Returns [batch, seq, hidden] from x of that shape, or its values at the wanted places: [batch, n, hidden] or [n, hidden].

        Args:
          x: The layer's input.
          penalty: float32[batch, 1, 1 or seq, seq], added to the attention scores.
          wanted: int[batch, n], places in each row, or int[n], counted through all rows; None for all. Elsewhere nothing is computed
            that other places do not need: the keys and values, and, where places count through the rows, the attention.
          training: Whether dropout is on.
          seed: int32[2] behind all dropout masks, or None.
        """
        in_rows = wanted is not None and len(wanted.shape) == 2
        fuse = self.fuse and training and seed is not None
        asking = tf.gather(x, wanted, batch_dims=1) if in_rows else x
        if in_rows and penalty.shape[2] != 1:  # [batch, 1, seq, seq] -> [batch, 1, n, seq]
            penalty = tf.gather(penalty[:, 0], wanted, batch_dims=1)[:, None]
        # not over the few places of a last layer: each shape is compiled anew
        attended = self.attention(x, penalty, asking if in_rows else None, training=training, seed=seed, fuse=fuse and not in_rows)
        fuse = fuse and wanted is None
        if wanted is not None and not in_rows:
            asking, attended = (tf.gather(ops.reshape(value, (-1, value.shape[-1])), wanted) for value in (asking, attended))
        bias = tf.convert_to_tensor(self.attention.output_dense.bias)
        x = self.attention_norm(asking, attended, bias, training=training, seed=seed, fuse=fuse)
        # [..., hidden] -> [..., intermediate] -> [..., hidden]
        wide = product(x, self.intermediate)
        bias = tf.convert_to_tensor(self.intermediate.bias)
        if fuse and self.config.hidden_act in _GELUS:
            wide = fused.bias_gelu(wide, bias, exact=self.config.hidden_act == _EXACT_GELU)
        else:
            wide = activation(self.config)(tf.nn.bias_add(wide, bias))
        fed = product(wide, self.output_dense)
        return self.output_norm(x, fed, tf.convert_to_tensor(self.output_dense.bias), training=training, seed=seed, fuse=fuse)


@keras.saving.register_keras_serializable("bert_tf")
class BertEncoder(keras.Model):
    """The encoder with its pooler: a Keras model from the three BERT inputs to named outputs."""

    def __init__(self, config: BertConfig, name: str = "bert", recompute: bool = False, fuse: bool = False, **options):
        """Creates all variables, so that a checkpoint can be read before the first batch.

        Args:
          config: The model's shape.
          name: The model's name, the first part of its variables' paths.
          recompute: Whether the backward pass computes each layer again, in place of keeping its activations.
          fuse: Whether XLA compiles the elementwise parts of a training step (`fused.py`): where it does not compile the whole.
          **options: Keras' own, as dtype.
        """
        super().__init__(name=name, **options)
        self.config, self.recompute = config, recompute
        self.embeddings = Embeddings(config, name="embeddings", dtype=self.dtype_policy)
        self.transformer = [
            TransformerLayer(config, index, fuse, name=f"layer_{index}", dtype=self.dtype_policy)
            for index in range(config.num_hidden_layers)
        ]
        self.pooler = dense(config.hidden_size, "pooler", config, activation="tanh", dtype=self.dtype_policy)
        self.build()

    def build(self, input_shape=None):
        """Creates all variables; shapes come from the config alone."""
        if self.built:
            return
        self.embeddings.build()
        for layer in self.transformer:
            layer.build((None, None, self.config.hidden_size))
        self.pooler.build((None, self.config.hidden_size))
        self.built = True

    def call(self, inputs, training=False, seed=None):
        """Returns the encoder's outputs for a batch.

        Args:
          inputs: Dict of input_ids, input_mask, segment_ids: int[batch, seq]. Rows that hold several examples come with block_ids and
            position_ids int[batch, seq] and cls_positions int[examples], as `data/packing.py` makes them. With wanted_positions,
            int[batch, n] (where rows hold several examples int[n], counted through all rows), sequence_output is computed there alone.
          training: Whether dropout is on.
          seed: int32[2], from which all dropout masks follow; None draws from Keras' generator.

        Returns:
          Dict of sequence_output [batch, seq, hidden], pooled_output [examples, hidden] and all_layers, a tuple of the embeddings'
          and every layer's output, each [batch, seq, hidden]. With wanted_positions, sequence_output and the last of all_layers are
          [batch, n, hidden], or [n, hidden] where the positions count through all rows. pooled_output is made of [CLS]; of a model that
          reads from left to right of the last piece, which alone sees the whole text, or of cls_positions where these are given.
        """
        seen = ops.cast(inputs["input_mask"], "float32")[:, None, None, :]  # [batch, seq] -> [batch, 1, 1, seq]
        blocks = inputs.get("block_ids")
        if blocks is not None:
            seen = seen * ops.cast(ops.equal(blocks[:, None, :, None], blocks[:, None, None, :]), "float32")  # -> [batch, 1, seq, seq]
        if self.config.left_to_right:
            places = tf.range(tf.shape(inputs["input_ids"])[1])
            seen = seen * tf.cast(places[:, None] >= places[None, :], tf.float32)  # -> [batch, 1, seq, seq]
        penalty = (1.0 - seen) * MASK_PENALTY
        x = self.embeddings(inputs["input_ids"], inputs["segment_ids"], inputs.get("position_ids"), training=training, seed=seed)
        firsts, wanted = inputs.get("cls_positions"), inputs.get("wanted_positions")
        pooled_places = self._pooled_places(inputs) if firsts is None else firsts
        if wanted is not None:
            wanted = ops.concatenate([pooled_places, wanted], axis=-1)
        all_layers = [x]
        for index, layer in enumerate(self.transformer):
            run = functools.partial(layer, training=training, seed=seed)
            # with a seed of its own, dropout drops the same again
            run = tf.recompute_grad(run) if self.recompute and training else run
            is_last = index + 1 == len(self.transformer)
            x = run(x, penalty, wanted) if is_last and wanted is not None else run(x, penalty)
            all_layers.append(x)
        if wanted is None:
            # [batch, seq, hidden] -> [examples, hidden]
            if firsts is not None:
                summary = tf.gather(ops.reshape(x, (-1, self.config.hidden_size)), firsts)
            else:
                summary = tf.gather(x, pooled_places[:, 0], batch_dims=1) if self.config.left_to_right else x[:, 0]
        elif firsts is None:
            summary, x = x[:, 0], x[:, 1:]
        else:
            count = ops.shape(firsts)[0]
            summary, x = x[:count], x[count:]
        all_layers[-1] = x
        pooled = self.pooler(summary)
        return {"sequence_output": x, "pooled_output": pooled, "all_layers": tuple(all_layers)}

    def _pooled_places(self, inputs):
        """Returns which place of each row the pooler reads, int[batch, 1]: [CLS], or the last that is no padding."""
        ids = inputs["input_ids"]
        if not self.config.left_to_right:
            return ops.zeros_like(ids[:, :1])
        lengths = ops.sum(ops.cast(inputs["input_mask"], ids.dtype), axis=1, keepdims=True)
        return ops.maximum(lengths - 1, 0)  # a row of padding only has a place too

    def get_config(self):
        """Returns what `from_config` makes the same encoder from."""
        return {"config": self.config.to_json(), "name": self.name, "dtype": keras.dtype_policies.serialize(self.dtype_policy)}

    @classmethod
    def from_config(cls, config):
        """Returns the encoder that `get_config` described."""
        return cls(BertConfig.from_json(config["config"]), name=config["name"], dtype=config["dtype"])
