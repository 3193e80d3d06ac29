"""Devices and randomness, set once before anything is built."""

import os

import keras
import tensorflow as tf
from absl import logging

from bert_tf.config import TrainingConfig

_NVIDIA_DEVICE = "/dev/nvidia0"


def device() -> str:
    """Returns what training runs on, in words."""
    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        if os.path.exists(_NVIDIA_DEVICE):
            logging.warning(
                "there is an NVIDIA GPU that TensorFlow cannot use: pip install 'tensorflow[and-cuda]'; TF_CPP_MIN_LOG_LEVEL=0 shows "
                "what is missing"
            )
        return "the CPU"
    return tf.config.experimental.get_device_details(gpus[0]).get("device_name", "a GPU")


def set_up(config: TrainingConfig) -> None:
    """Seeds every generator and, where asked for, makes TensorFlow's operations deterministic."""
    keras.utils.set_random_seed(config.random_seed)
    if config.deterministic:
        tf.config.experimental.enable_op_determinism()
