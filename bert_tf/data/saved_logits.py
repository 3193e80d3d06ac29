"""What a model said, raw: a .npz of logits and of what they are logits of, so that runs can be averaged later (`workflows/ensemble.py`)."""

import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from bert_tf.data.files import atomic_write
from bert_tf.data.json_files import read_bytes
from bert_tf.errors import InputError

# In a run's directory; of a further set, as dev_mismatched, with its suffix: eval_logits_mismatched.npz.
EVAL_LOGITS, PREDICT_LOGITS = "eval_logits.npz", "predict_logits.npz"
# The array that holds `About` as JSON.
_ABOUT = "about"


@dataclass(frozen=True, kw_only=True)
class About:
    """What logits are logits of.

    Attributes:
      workflow: What computed them: finetune or squad.
      config: Its config's fields.
      split: Which set of the task; empty for squad.
      made_of: What must be equal for two files of logits to be averaged, by what it is: hashes and settings.
      step: How many steps the model was trained for.
      all_alike: What everything is predicted as, where that is the same though the right answers differ.
    """

    workflow: str
    config: Mapping[str, Any]
    split: str
    made_of: Mapping[str, Any]
    step: int
    all_alike: str | None


def write(folder: str, name: str, logits: Mapping[str, npt.NDArray[Any]], about: About) -> str:
    """Writes the file, whole or not at all, and returns its path; the same logits give the same bytes.

    Args:
      folder: A run's directory.
      name: The file's name.
      logits: Arrays by name.
      about: What they are of.
    """
    content = io.BytesIO()
    text = json.dumps(vars(about), sort_keys=True)
    np.savez(content, **{_ABOUT: np.frombuffer(text.encode(), np.uint8)}, **logits)
    path = os.path.join(folder, name)
    with atomic_write(path, "wb") as file:
        file.write(content.getvalue())
    return path


def read(path: str) -> tuple[dict[str, npt.NDArray[Any]], About]:
    """Returns the arrays of a file and what they are logits of.

    Raises:
      InputError: It cannot be read, or is something else.
    """
    try:
        with np.load(io.BytesIO(read_bytes(path)), allow_pickle=False) as arrays:
            logits = {name: arrays[name] for name in arrays.files}
        about = About(**json.loads(logits.pop(_ABOUT).tobytes()))
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: is no file of logits, or damaged; evaluate or predict again") from error
    return logits, about


def names_in(folder: str) -> list[str]:
    """Returns the names of the files of logits in a run's directory."""
    stems = tuple(name.removesuffix(".npz") for name in (EVAL_LOGITS, PREDICT_LOGITS))
    names = tf.io.gfile.listdir(folder) if tf.io.gfile.isdir(folder) else []
    return sorted(name for name in names if name.startswith(stems) and name.endswith(".npz"))
