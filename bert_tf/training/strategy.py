"""Devices and randomness, set once before anything is built."""

import keras
import tensorflow as tf

from bert_tf.config import TrainingConfig
from bert_tf.errors import InputError


def set_up(config: TrainingConfig) -> None:
    """Seeds every generator and, where asked for, makes TensorFlow's operations deterministic."""
    if config.use_tpu:
        raise InputError("--use_tpu: this release trains on CPU or one GPU only; leave the flag out")
    keras.utils.set_random_seed(config.random_seed)
    if config.deterministic:
        tf.config.experimental.enable_op_determinism()
