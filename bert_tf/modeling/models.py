"""Encoder plus heads: from a batch of features to named logits."""

import keras

from bert_tf.config import BertConfig
from bert_tf.modeling.encoder import BertEncoder
from bert_tf.modeling.heads import CLASSIFIER_DROPOUT, MaskedLanguageModelHead, OutputLayer

ENCODER_INPUTS = ("input_ids", "input_mask", "segment_ids")


class PretrainingModel(keras.Model):
    """Masked language model and, unless left out, next sentence prediction (BERT paper, section 3.1)."""

    def __init__(self, config: BertConfig, use_nsp: bool = True, **options):
        """Takes the model's shape and whether there is a next-sentence head."""
        super().__init__(name="pretraining", **options)
        self.encoder = BertEncoder(config, dtype=self.dtype_policy)
        self.masked_lm = MaskedLanguageModelHead(config, name="masked_lm", dtype=self.dtype_policy)
        self.next_sentence = OutputLayer(2, config, name="next_sentence", dtype=self.dtype_policy) if use_nsp else None
        self.masked_lm.build()
        if use_nsp:
            self.next_sentence.build((None, config.hidden_size))
        self.built = True

    def call(self, batch, training=False, seed=None):
        """Returns logits: masked_lm float32[batch, masks, vocab] and, with NSP, next_sentence float32[batch, 2].

        Args:
          batch: The encoder's inputs int[batch, seq] and masked_lm_positions int[batch, masks].
          training: Whether dropout is on.
          seed: int32[2] behind all dropout masks, or None.
        """
        encoded = self.encoder({name: batch[name] for name in ENCODER_INPUTS}, training=training, seed=seed)
        table = self.encoder.embeddings.word_embeddings
        logits = {"masked_lm": self.masked_lm(encoded["sequence_output"], batch["masked_lm_positions"], table)}
        if self.next_sentence is not None:
            logits["next_sentence"] = self.next_sentence(encoded["pooled_output"])
        return logits


class ClassificationModel(keras.Model):
    """One label for a sentence or a pair: a linear layer on the pooled output (BERT paper, section 4.1)."""

    def __init__(self, config: BertConfig, num_labels: int, **options):
        """Takes the model's shape and the number of labels to choose from."""
        super().__init__(name="classification", **options)
        self.encoder = BertEncoder(config, dtype=self.dtype_policy)
        self.classifier = OutputLayer(num_labels, config, dropout=CLASSIFIER_DROPOUT, name="classifier", dtype=self.dtype_policy)
        self.classifier.build((None, config.hidden_size))
        self.built = True

    def call(self, batch, training=False, seed=None):
        """Returns logits: {"classifier": float32[batch, labels]}.

        Args:
          batch: The encoder's inputs int[batch, seq].
          training: Whether dropout is on.
          seed: int32[2] behind all dropout masks, or None.
        """
        encoded = self.encoder({name: batch[name] for name in ENCODER_INPUTS}, training=training, seed=seed)
        return {"classifier": self.classifier(encoded["pooled_output"], training=training, seed=seed)}
