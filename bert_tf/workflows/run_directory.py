"""A run's output directory: what run it belongs to, and when it may be gone on with."""

import json
import os
from typing import Any

import tensorflow as tf
from absl import logging

from bert_tf import config as configs
from bert_tf.data.records import atomic_write, make_folder
from bert_tf.errors import InputError
from bert_tf.training.checkpoints import checkpoint_steps, latest_checkpoint

RECORD = "run_config.json"
# What a run writes, and so what --overwrite_output_dir throws away; anything else in the directory is left alone.
_WRITTEN = (RECORD, "checkpoint", "bert_config.json", "vocab.txt", "labels.txt", "eval_results.txt", "test_results.tsv", "predictions.tsv")
_WRITTEN_PATTERNS = ("model.ckpt-*", "*.tf_record", "events.out.tfevents.*")
_WRITTEN_FOLDERS = ("train", "eval", "export")


def open_run(config: configs.TrainingConfig, model_config: configs.BertConfig) -> str | None:
    """Makes the output directory ready for this run and returns the newest checkpoint in it, or None.

    A run that only evaluates, predicts or exports may do so with other flags than those of the training; the model must be the same.

    Raises:
      InputError: The directory holds another run (naming the field), or cannot be written.
    """
    folder = config.output_dir
    if config.overwrite_output_dir:
        _clear(folder)
    identity = {"workflow": type(config).__name__, "config": configs.to_dict(config), "model": configs.to_dict(model_config)}
    record = os.path.join(folder, RECORD)
    make_folder(folder)
    if tf.io.gfile.exists(record):
        _check_same(config, identity, record)
    elif config.do_train:
        if checkpoint_steps(folder):
            logging.warning("%s holds checkpoints of an unknown run (no %s); going on from the newest one", folder, RECORD)
        with atomic_write(record) as file:
            file.write(json.dumps(identity, indent=2, sort_keys=True) + "\n")
    return latest_checkpoint(folder)


def write_text(folder: str, name: str, text: str) -> str:
    """Writes a file of the run, whole or not at all, and returns its path."""
    path = os.path.join(folder, name)
    with atomic_write(path) as file:
        file.write(text)
    return path


def write_eval_results(folder: str, results: dict[str, float | int]) -> None:
    """Writes eval_results.txt as the original does, one `key = value` a line by key, and shows it."""
    lines = [f"{key} = {results[key]}" for key in sorted(results)]
    path = write_text(folder, "eval_results.txt", "\n".join(lines) + "\n")
    logging.info("%s:\n%s", path, "\n".join(f"  {line}" for line in lines))


def _check_same(config: configs.TrainingConfig, identity: dict[str, Any], record: str) -> None:
    with tf.io.gfile.GFile(record) as file:
        try:
            recorded = json.loads(file.read())
            recorded_config, recorded_model = recorded["config"], recorded["model"]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{record}: is damaged; give another --output_dir, or --overwrite_output_dir to start again") from error
    mend = "give another --output_dir, the same flags as before, or --overwrite_output_dir to start again"
    if recorded["workflow"] != identity["workflow"]:
        raise InputError(f"{config.output_dir}: holds a run of {recorded['workflow']}, this is {identity['workflow']}; {mend}")
    name = configs.differing_field(config, recorded_config) if config.do_train else None
    if name is not None:
        old, new = recorded_config.get(name), identity["config"][name]
        raise InputError(f"{config.output_dir}: holds a run with {name}={old!r}, this one has {new!r}; {mend}")
    for name, value in identity["model"].items():
        if recorded_model.get(name, value) != value:
            raise InputError(f"{config.output_dir}: holds a model with {name}={recorded_model[name]!r}, this one has {value!r}; {mend}")


def _clear(folder: str) -> None:
    for name in _WRITTEN:
        path = os.path.join(folder, name)
        if tf.io.gfile.exists(path):
            tf.io.gfile.remove(path)
    for pattern in _WRITTEN_PATTERNS:
        for path in tf.io.gfile.glob(os.path.join(folder, pattern)):
            tf.io.gfile.remove(path)
    for name in _WRITTEN_FOLDERS:
        path = os.path.join(folder, name)
        if tf.io.gfile.isdir(path):
            tf.io.gfile.rmtree(path)
