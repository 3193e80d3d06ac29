"""How sure "no answer" must be: the threshold on null odds that an evaluation tuned, kept with the model it was tuned for."""

import json
import os
from typing import Any

import tensorflow as tf
from absl import logging

from bert_tf.data.json_files import read_json
from bert_tf.errors import InputError
from bert_tf.workflows import run_directory

NAME = "null_threshold.json"
_FIELD = "null_score_diff_threshold"


def to_json(threshold: float) -> str:
    """Returns the file's text for an export, whose threshold belongs to its own weights."""
    return json.dumps({_FIELD: threshold}) + "\n"


def write(folder: str, threshold: float, best_f1: float, weights: str, tuned_on: str) -> None:
    """Writes the threshold into the run's folder.

    Args:
      folder: The run's folder.
      threshold: The threshold.
      best_f1: What it reached where it was tuned, in percent.
      weights: The checkpoint that it was tuned for: its name, or its path where it lies in another folder.
      tuned_on: A hash of the questions it was tuned on.
    """
    content = {_FIELD: threshold, "best_f1": best_f1, "weights": weights, "tuned_on": tuned_on}
    path = run_directory.write_text(folder, NAME, json.dumps(content, indent=2) + "\n")
    logging.info("null threshold %.4g, tuned here for F1 %.2f, is in %s", threshold, best_f1, path)


def read(folder: str, weights: str) -> dict[str, Any] | None:
    """Returns what was tuned for a checkpoint, with `threshold` and `path`; None where nothing was.

    Args:
      folder: A run's folder, or a checkpoint's.
      weights: The checkpoint, as `write` takes it, or its path.

    Raises:
      InputError: The file is damaged.
    """
    path = os.path.join(folder, NAME)
    if not tf.io.gfile.exists(path):
        return None
    mend = "remove it, and --do_eval tunes the threshold anew"
    content = read_json(path, mend)
    sound = isinstance(content, dict) and isinstance(content.get(_FIELD), int | float) and {"weights", "tuned_on"} <= content.keys()
    if not sound:
        raise InputError(f"{path}: is damaged; {mend}")
    if content["weights"] not in (weights, os.path.basename(weights)):
        logging.warning("%s: was tuned for %s, not for %s", path, content["weights"], weights)
        return None
    return content | {"threshold": float(content[_FIELD]), "path": path}
