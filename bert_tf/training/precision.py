"""In which precision matrices are multiplied, and how float16 gradients are kept from vanishing."""

import re

import keras
import tensorflow as tf
from absl import logging

# What /proc/cpuinfo calls processors that multiply bfloat16 numbers themselves.
_CPU_FLAGS = ("avx512_bf16", "amx_bf16")
_CPU_INFO = "/proc/cpuinfo"
# Ampere is the first NVIDIA generation that does.
_GPU_GENERATION = 8


def policy(precision: str, jit_compile: bool = False) -> keras.DTypePolicy:
    """Returns the Keras policy of a `--precision`: what is computed in it; variables are float32 always.

    Args:
      precision: float32, bfloat16, float16, or auto.
      jit_compile: Whether XLA compiles the step: on CPUs it has no bfloat16 products of its own, so auto means float32 there.
    """
    if precision == "auto":
        precision = "bfloat16" if _has_bfloat16(jit_compile) else "float32"
        if precision == "bfloat16":
            logging.info("matrix products in bfloat16, which this hardware computes in; --precision=float32 for full precision")
    return keras.DTypePolicy("float32" if precision == "float32" else f"mixed_{precision}")


def _has_bfloat16(jit_compile: bool) -> bool:
    """Returns whether the devices that TensorFlow sees multiply bfloat16 numbers faster than float32 ones."""
    if tf.config.list_logical_devices("TPU"):
        return True
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        capability = tf.config.experimental.get_device_details(gpus[0]).get("compute_capability", (0, 0))
        return capability[0] >= _GPU_GENERATION
    if jit_compile:
        return False
    try:
        with open(_CPU_INFO, encoding="ascii", errors="replace") as file:
            flags = re.search(r"^flags\s*:(.*)$", file.read(), re.MULTILINE)
    except OSError:  # not Linux
        return False
    return flags is not None and bool(set(_CPU_FLAGS) & set(flags[1].split()))


class LossScale:
    """The factor on the loss that lifts float16 gradients above the smallest float16 number: as large as does not overflow.

    It starts at 2^15, doubles after 2,000 steps without overflow, and halves at each one with (Micikevicius et al., 2018, section 3.2).
    """

    _START, _PATIENCE, _LEAST = 2.0**15, 2000, 1.0

    def __init__(self):
        """Creates the factor and the count of steps since it last changed."""
        options = dict(trainable=False, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
        self.scale = tf.Variable(self._START, dtype=tf.float32, name="loss_scale", **options)
        self._good_steps = tf.Variable(0, dtype=tf.int64, name="loss_scale_good_steps", **options)

    def state(self) -> dict[str, tf.Variable]:
        """Returns what a checkpoint must hold to go on, by name."""
        return {"loss_scale": self.scale, "loss_scale_good_steps": self._good_steps}

    def update(self, bad: tf.Tensor) -> tf.Tensor:
        """Takes whether a step overflowed, float32[] 0 or 1; returns whether a smaller factor would not have helped, float32[]."""
        overflowed, hopeless = bad > 0, tf.cast(self.scale <= self._LEAST, tf.float32) * bad
        steps = self._good_steps + 1
        grows = ~overflowed & (steps >= self._PATIENCE)
        factor = tf.where(overflowed, 0.5, tf.where(grows, 2.0, 1.0))
        self.scale.assign(tf.maximum(self._LEAST, self.scale * factor))
        self._good_steps.assign(tf.where(overflowed | grows, tf.zeros_like(steps), steps))
        return hopeless
