"""Encoder plus heads: from a batch of features to named logits."""

from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.modeling.encoder import BertEncoder
from bert_tf.modeling.heads import CLASSIFIER_DROPOUT, MaskedLanguageModelHead, OutputLayer

ENCODER_INPUTS = ("input_ids", "input_mask", "segment_ids")
# Where rows hold several examples.
PACKED_INPUTS = ("block_ids", "position_ids", "cls_positions")


class PretrainingModel(keras.Model):
    """Masked language model and, unless left out, next sentence prediction (BERT paper, section 3.1)."""

    def __init__(self, config: BertConfig, use_nsp: bool = True, recompute: bool = False, fuse: bool = False, **options):
        """Takes the model's shape, whether there is a next-sentence head, and the encoder's `recompute` and `fuse`."""
        super().__init__(name="pretraining", **options)
        self.encoder = BertEncoder(config, recompute=recompute, fuse=fuse, dtype=self.dtype_policy)
        self.masked_lm = MaskedLanguageModelHead(config, name="masked_lm", dtype=self.dtype_policy)
        self.next_sentence = OutputLayer(2, config, name="next_sentence", dtype=self.dtype_policy) if use_nsp else None
        self.masked_lm.build()
        if use_nsp:
            self.next_sentence.build((None, config.hidden_size))
        self.built = True

    def call(self, batch, training=False, seed=None):
        """Returns logits: masked_lm float32[batch, masks, vocab] and, with NSP, next_sentence float32[batch, 2].

        Args:
          batch: The encoder's inputs int[batch, seq] and masked_lm_positions int[batch, masks]; perhaps packed (`data/packing.py`).
          training: Whether dropout is on.
          seed: int32[2] behind all dropout masks, or None.
        """
        names = (*ENCODER_INPUTS, *(name for name in PACKED_INPUTS if name in batch))
        places = batch["masked_lm_positions"]
        # packed, positions count through all rows: each example sees all of them
        wanted = tf.reshape(places, [-1]) if "cls_positions" in batch else places
        encoded = self.encoder({name: batch[name] for name in names} | {"wanted_positions": wanted}, training=training, seed=seed)
        # [batch, masks, hidden], or [batch x masks, hidden]
        masked = self.masked_lm(encoded["sequence_output"], self.encoder.embeddings.word_embeddings)
        logits = {"masked_lm": tf.reshape(masked, tf.concat([tf.shape(places), [masked.shape[-1]]], 0))}
        if self.next_sentence is not None:
            logits["next_sentence"] = self.next_sentence(encoded["pooled_output"])
        return logits


class _OutputModel(keras.Model):
    """An encoder and one linear layer on its vectors; subclasses say on which of them.

    Attributes:
      encoder: The encoder.
      output_layer: The layer.
    """

    def __init__(self, name: str, config: BertConfig, recompute: bool, fuse: bool, layer: Mapping[str, Any], **options):
        """Takes the model's name and shape, the encoder's `recompute` and `fuse`, and what makes the layer."""
        super().__init__(name=name, **options)
        self.encoder = BertEncoder(config, recompute=recompute, fuse=fuse, dtype=self.dtype_policy)
        self.output_layer = OutputLayer(config=config, **{"dtype": self.dtype_policy, **layer})
        self.output_layer.build((None, config.hidden_size))
        self.built = True


class ClassificationModel(_OutputModel):
    """An answer for a sentence or a pair: a linear layer on the pooled output (BERT paper, section 4.1)."""

    def __init__(self, config: BertConfig, num_labels: int, recompute: bool = False, fuse: bool = False, **options):
        """Takes the model's shape, the number of labels (1 for a number), and the encoder's `recompute` and `fuse`."""
        super().__init__("classification", config, recompute, fuse, _classifier(num_labels), **options)

    def call(self, batch, training=False, seed=None):
        """Returns logits: {"classifier": float32[batch, labels]}.

        Args:
          batch: The encoder's inputs int[batch, seq].
          training: Whether dropout is on.
          seed: int32[2] behind all dropout masks, or None.
        """
        inputs = {name: batch[name] for name in ENCODER_INPUTS}
        inputs["wanted_positions"] = inputs["input_ids"][:, :0]  # none but [CLS]
        encoded = self.encoder(inputs, training=training, seed=seed)
        return {"classifier": self.output_layer(encoded["pooled_output"], training=training, seed=seed)}


class ChoiceModel(ClassificationModel):
    """Which of several sequences is right: one vector scores the pooled output of each (BERT paper, section 4.4)."""

    def call(self, batch, training=False, seed=None):
        """Returns logits: {"classifier": float32[batch, choices]}.

        Args:
          batch: The encoder's inputs int[batch, choices, seq].
          training: Whether dropout is on.
          seed: int32[2] behind all dropout masks, or None.
        """
        shape = tf.shape(batch["input_ids"])
        # [batch, choices, seq] -> [batch x choices, seq]
        inputs = {name: tf.reshape(batch[name], [-1, shape[2]]) for name in ENCODER_INPUTS}
        scores = super().call(inputs, training=training, seed=seed)["classifier"]
        return {"classifier": tf.reshape(scores, shape[:2])}  # [batch x choices, 1] -> [batch, choices]


class TaggingModel(_OutputModel):
    """An answer for every piece: a linear layer on every vector of the encoder (BERT paper, section 5.3)."""

    def __init__(self, config: BertConfig, num_labels: int, recompute: bool = False, fuse: bool = False, **options):
        """Takes the model's shape, the number of labels, and the encoder's `recompute` and `fuse`."""
        super().__init__("tagging", config, recompute, fuse, _classifier(num_labels), **options)

    def call(self, batch, training=False, seed=None):
        """Returns logits: {"classifier": float32[batch, seq, labels]}, padding included.

        Args:
          batch: The encoder's inputs int[batch, seq].
          training: Whether dropout is on.
          seed: int32[2] behind all dropout masks, or None.
        """
        encoded = self.encoder({name: batch[name] for name in ENCODER_INPUTS}, training=training, seed=seed)
        # [batch, seq, hidden] -> [batch, seq, labels]
        return {"classifier": self.output_layer(encoded["sequence_output"], training=training, seed=seed)}


class QuestionAnsweringModel(_OutputModel):
    """Where an answer begins and where it ends: a linear layer on every vector of the encoder (BERT paper, section 4.2)."""

    def __init__(self, config: BertConfig, recompute: bool = False, fuse: bool = False, **options):
        """Takes the model's shape, and the encoder's `recompute` and `fuse`."""
        super().__init__("question_answering", config, recompute, fuse, {"units": 2, "name": "squad"}, **options)

    def call(self, batch, training=False, seed=None):
        """Returns logits: start and end float32[batch, seq], padding included.

        Args:
          batch: The encoder's inputs int[batch, seq].
          training: Whether dropout is on.
          seed: int32[2] behind all dropout masks, or None.
        """
        encoded = self.encoder({name: batch[name] for name in ENCODER_INPUTS}, training=training, seed=seed)
        logits = self.output_layer(encoded["sequence_output"])  # [batch, seq, hidden] -> [batch, seq, 2]
        start, end = tf.unstack(logits, axis=-1)
        return {"start": start, "end": end}


def _classifier(num_labels: int) -> dict[str, Any]:
    """Returns what makes a layer that scores labels."""
    # in float32 whatever the precision: it costs next to nothing, and a predicted number in bfloat16 has two digits
    return {"units": num_labels, "dropout": CLASSIFIER_DROPOUT, "name": "classifier", "dtype": "float32"}
