"""Tags from a frozen encoder: a BiLSTM on the vectors of some of its layers (BERT paper, section 5.3, table 7)."""

from collections.abc import Sequence

import keras
import tensorflow as tf
from keras import ops

from bert_tf.config import BertConfig, TaggerConfig
from bert_tf.modeling.encoder import BertEncoder
from bert_tf.modeling.heads import CLASSIFIER_DROPOUT, OutputLayer
from bert_tf.modeling.layers import Dropout
from bert_tf.modeling.lstm import BidirectionalLSTM
from bert_tf.modeling.models import ENCODER_INPUTS

# "A randomly initialized two-layer 768-dimensional BiLSTM before the classification layer".
NUM_LSTM_LAYERS = 2


class LayerSum(keras.layers.Layer):
    """A sum of layers with weights that are learned: scale x sum of softmax(weights) x layer, as ELMo mixes its layers.

    At the start all layers count the same and the scale is 1.
    """

    def build(self, input_shape):
        """Creates a weight a layer, and the scale."""
        self.layer_weights = self.add_weight(shape=(input_shape[-2],), initializer="zeros", name="layer_weights")
        self.scale = self.add_weight(shape=(), initializer="ones", name="scale")

    def call(self, x):
        """Returns [..., hidden] of x [..., layers, hidden]."""
        shares = ops.cast(self.scale * ops.softmax(self.layer_weights), self.compute_dtype)
        return tf.einsum("...lh,l->...h", x, shares)


class FeatureTagger(keras.layers.Layer):
    """Layers' vectors of tokens -> logits of their tags: the mix, two bidirectional LSTM layers, a linear layer."""

    def __init__(self, tagger: TaggerConfig, config: BertConfig, num_labels: int, **options):
        """Takes the tagger's shape, the encoder's and the number of labels."""
        super().__init__(autocast=False, **options)
        self.num_layers = len(tagger.layers(config.num_hidden_layers))
        self._hidden, self._lstm_size = config.hidden_size, tagger.lstm_size
        self.mix = LayerSum(name="mix", dtype="float32") if tagger.is_sum else None
        # salts beyond those of the encoder and of the output layer
        salt = 2 + 3 * config.num_hidden_layers
        self.dropouts = [
            Dropout(config.hidden_dropout_prob, salt + n, name=f"dropout_{n}", dtype=self.dtype_policy) for n in range(NUM_LSTM_LAYERS)
        ]
        self.lstms = [BidirectionalLSTM(tagger.lstm_size, name=f"lstm_{n}", dtype=self.dtype_policy) for n in range(NUM_LSTM_LAYERS)]
        self.classifier = OutputLayer(num_labels, config, dropout=CLASSIFIER_DROPOUT, name="classifier", dtype="float32")

    def build(self, input_shape=None):
        """Creates all variables; shapes come from the configs alone."""
        if self.mix is not None:
            self.mix.build((None, None, self.num_layers, self._hidden))
        width = self._hidden if self.mix is not None else self.num_layers * self._hidden
        for lstm in self.lstms:
            lstm.build((None, None, width))
            width = 2 * self._lstm_size
        self.classifier.build((None, None, width))
        self.built = True

    def call(self, vectors, is_token, training=False, seed=None):
        """Returns logits float32[batch, seq, labels], padding included.

        Args:
          vectors: [batch, seq, layers, hidden], of the layers that are read, token by token.
          is_token: int[batch, seq], 1 for a token; they begin at the left of each row.
          training: Whether dropout is on.
          seed: int32[2] behind all dropout masks, or None.
        """
        if self.mix is not None:
            x = self.mix(ops.cast(vectors, "float32"))  # [batch, seq, layers, hidden] -> [batch, seq, hidden]
        else:
            x = ops.reshape(vectors, (*ops.shape(vectors)[:2], self.num_layers * self._hidden))  # -> [batch, seq, layers x hidden]
        for dropout, lstm in zip(self.dropouts, self.lstms):
            x = lstm(dropout(ops.cast(x, self.compute_dtype), training=training, seed=seed), is_token)
        return self.classifier(x, training=training, seed=seed)


class FeatureTaggingModel(keras.Model):
    """A frozen encoder and a tagger on its vectors; what is trained is the tagger.

    The encoder computes in float32 whatever the precision: its vectors are computed once, and are then those of the export.
    """

    def __init__(self, tagger: TaggerConfig, config: BertConfig, num_labels: int, recompute: bool = False, fuse: bool = False, **options):
        """Takes the tagger's shape, the encoder's, the number of labels, and what does not matter to an encoder that is not trained."""
        del recompute, fuse
        super().__init__(name="feature_tagging", autocast=False, **options)
        self.layers_read: Sequence[int] = tagger.layers(config.num_hidden_layers)
        self.encoder = BertEncoder(config, dtype="float32")
        self.encoder.trainable = False
        self.tagger = FeatureTagger(tagger, config, num_labels, name="tagger", dtype=self.dtype_policy)
        self.tagger.build()
        self.built = True

    def call(self, batch, training=False, seed=None):
        """Returns logits: {"classifier": float32[batch, seq, labels]}.

        Args:
          batch: Either what the encoder has said of the tokens of a sentence, token_vectors [batch, seq, layers, hidden] and input_mask
            int[batch, seq], 1 for a token; or its inputs int[batch, seq] and label_mask int[batch, seq], 1 at each token's first piece.
            Then every place gets the logits of its token: those of the last token that begins there or before.
          training: Whether dropout is on.
          seed: int32[2] behind all dropout masks, or None.
        """
        if "token_vectors" in batch:
            return {"classifier": self.tagger(batch["token_vectors"], batch["input_mask"], training=training, seed=seed)}
        places, is_token = _to_the_left(batch["label_mask"])
        all_layers = self.encoder({name: batch[name] for name in ENCODER_INPUTS})["all_layers"]
        # layers x [batch, seq, hidden] -> [batch, tokens, layers, hidden]
        vectors = tf.stack([tf.gather(all_layers[layer], places, batch_dims=1) for layer in self.layers_read], axis=2)
        logits = self.tagger(vectors, is_token, training=training, seed=seed)
        owners = tf.maximum(tf.cumsum(tf.cast(batch["label_mask"], tf.int32), axis=1) - 1, 0)
        return {"classifier": tf.gather(logits, owners, batch_dims=1)}  # [batch, tokens, labels] -> [batch, seq, labels]


def _to_the_left(mask):
    """Returns the places where the mask is 1, int32[batch, tokens], in their order, and which of them are there, int32[batch, tokens].

    Args:
      mask: int[batch, seq]; tokens are as many as the row with most of them has, and at least 1.
    """
    mask = tf.cast(mask, tf.int32)
    count = tf.maximum(tf.reduce_max(tf.reduce_sum(mask, axis=1)), 1)
    places = tf.argsort(mask, axis=1, direction="DESCENDING", stable=True)[:, :count]
    return places, tf.gather(mask, places, batch_dims=1)
