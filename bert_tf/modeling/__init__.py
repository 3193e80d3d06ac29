"""Batches -> named logits: the encoder, the heads on it, and their losses, as Keras layers.

Axis legend: batch, seq, hidden, heads, head_dim, layers, masks, vocab, labels.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras

from bert_tf.errors import InputError

if keras.backend.backend() != "tensorflow":
    raise InputError(f"KERAS_BACKEND is {keras.backend.backend()!r}; set it to tensorflow before Keras is imported")
