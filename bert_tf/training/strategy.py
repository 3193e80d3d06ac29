"""Devices and randomness, set once before anything is built."""

import keras
import tensorflow as tf

from bert_tf.config import TrainingConfig


def set_up(config: TrainingConfig) -> None:
    """Seeds every generator and, where asked for, makes TensorFlow's operations deterministic."""
    keras.utils.set_random_seed(config.random_seed)
    if config.deterministic:
        tf.config.experimental.enable_op_determinism()
