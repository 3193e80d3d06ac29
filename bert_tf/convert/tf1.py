"""Reads checkpoints in google-research/bert's format, which is also this project's own: NAME.index and NAME.data-..."""

import numpy as np
import tensorflow as tf

from bert_tf.convert.names import GLOBAL_STEP, tf1_spellings
from bert_tf.convert.source import SourceWeights
from bert_tf.errors import InputError, one_line

# What training keeps beside the variables: Adam's two averages of each, and the step.
_SLOTS = ("/adam_m", "/adam_v")


def read(prefix: str) -> SourceWeights:
    """Returns the variables of the checkpoint with this prefix: its path without .index.

    Raises:
      InputError: The files are missing, damaged or no checkpoint.
    """
    if not tf.io.gfile.exists(f"{prefix}.index"):
        raise InputError(f"{prefix}: no checkpoint ({prefix}.index does not exist); give the path without .index or .data-00000-of-00001")
    # TensorFlow's checkpoint reader reports damage under many exception types (OpError, IndexError, RuntimeError, ...).
    try:
        reader = tf.train.load_checkpoint(prefix)
        shapes = reader.get_variable_to_shape_map()
    except Exception as error:
        raise _damaged(prefix, error) from error

    def read_tensor(name: str) -> np.ndarray:
        try:
            return reader.get_tensor(name)
        except Exception as error:
            raise _damaged(prefix, error) from error

    def is_training_state(name: str) -> bool:
        return name == GLOBAL_STEP or any(name.endswith(slot) and name.removesuffix(slot) in shapes for slot in _SLOTS)

    step = np.asarray(read_tensor(GLOBAL_STEP)) if GLOBAL_STEP in shapes else np.int64(0)
    is_number = step.ndim == 0 and np.issubdtype(step.dtype, np.integer)  # else something else of that name
    return SourceWeights(prefix, shapes, read_tensor, tf1_spellings(), quiet=is_training_state, step=int(step) if is_number else 0)


def _damaged(prefix: str, error: Exception) -> InputError:
    return InputError(
        f"{prefix}: cannot be read as a checkpoint ({one_line(error)}); copy its .index and .data files again, or give another"
    )
