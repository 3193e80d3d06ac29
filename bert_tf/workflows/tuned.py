"""What an evaluation tuned beside the weights, kept with the run and good for these weights alone: thresholds."""

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf
from absl import logging

from bert_tf.config import EpochsConfig
from bert_tf.convert.files import find_checkpoint
from bert_tf.data.json_files import read_json
from bert_tf.errors import InputError
from bert_tf.workflows import run_directory
from bert_tf.workflows.training_run import TrainingRun


def write(folder: str, name: str, values: Mapping[str, Any], weights: str, tuned_on: str) -> str:
    """Writes what was tuned into the run's folder and returns the file's path.

    Args:
      folder: The run's folder.
      name: The file's name.
      values: What was tuned, and what it reached; for JSON.
      weights: The checkpoint that it was tuned for: its name, or its path where it lies in another folder.
      tuned_on: A hash of what it was tuned on.
    """
    content = {**values, "weights": weights, "tuned_on": tuned_on}
    return run_directory.write_text(folder, name, json.dumps(content, indent=2) + "\n")


def read(folder: str, name: str, weights: str, is_sound: Callable[[Mapping[str, Any]], bool]) -> dict[str, Any] | None:
    """Returns what was tuned for a checkpoint, with the file's `path`; None where nothing was.

    Args:
      folder: A run's folder, or a checkpoint's.
      name: The file's name.
      weights: The checkpoint, as `write` takes it, or its path.
      is_sound: Whether the values are such as `write` was given.

    Raises:
      InputError: The file is damaged.
    """
    path = os.path.join(folder, name)
    if not tf.io.gfile.exists(path):
        return None
    mend = "remove it, and --do_eval tunes anew what it holds"
    content = read_json(path, mend)
    if not isinstance(content, dict) or not {"weights", "tuned_on"} <= content.keys() or not is_sound(content):
        raise InputError(f"{path}: is damaged; {mend}")
    if content["weights"] not in (weights, os.path.basename(weights)):
        logging.warning("%s: was tuned for %s, not for %s", path, content["weights"], weights)
        return None
    return content | {"path": path}


def before(config: EpochsConfig, training: TrainingRun, name: str, is_sound: Callable[[Mapping[str, Any]], bool]) -> dict[str, Any] | None:
    """Returns what was tuned for the weights in use: in this run, or where they come from as they are."""
    weights = weights_of(config, training)
    own = read(config.output_dir, name, weights, is_sound)
    return own if own is not None or training.is_own else read(os.path.dirname(weights), name, weights, is_sound)


def weights_of(config: EpochsConfig, training: TrainingRun) -> str:
    """Returns the name of the run's own checkpoint in use, or the path of the one it started from."""
    return f"model.ckpt-{training.step}" if training.is_own else find_checkpoint(config.init_checkpoint).weights
