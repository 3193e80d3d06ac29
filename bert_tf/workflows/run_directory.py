"""A run's output directory: what run it belongs to, and when it may be gone on with."""

import contextlib
import fnmatch
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import filelock
import tensorflow as tf
from absl import logging

from bert_tf import config as configs
from bert_tf.data.records import atomic_write, make_folder
from bert_tf.errors import InputError
from bert_tf.training.checkpoints import latest_checkpoint

RECORD = "run_config.json"
# Held by the process that trains here; the system lets go of it when the process ends, however it ends.
_LOCK = "run.lock"
# What a run writes, and so what --overwrite_output_dir throws away; anything else in the directory is left alone.
_WRITTEN = (RECORD, "checkpoint", "bert_config.json", "vocab.txt", "labels.txt", "eval_results.txt", "test_results.tsv", "predictions.tsv")
_WRITTEN_PATTERNS = ("model.ckpt-*", "*.tf_record", "events.out.tfevents.*")
_WRITTEN_FOLDERS = ("train", "eval", "export")


def identity(config: configs.TrainingConfig, model_config: configs.BertConfig, data: Mapping[str, str]) -> dict[str, Any]:
    """Returns what makes a run this run and no other: the content of run_config.json.

    Args:
      config: The run.
      model_config: Its model.
      data: Hashes of what it is trained on, by what it is.
    """
    return {
        "workflow": type(config).__name__,
        "config": configs.to_dict(config),
        "model": configs.to_dict(model_config),
        "data": dict(data),
    }


def find_checkpoint(config: configs.TrainingConfig, this: Mapping[str, Any]) -> str | None:
    """Returns the newest checkpoint of this run in its output directory, or None; writes nothing.

    A run that only evaluates, predicts or exports may do so with other flags than those of the training; the model must be the same.

    Args:
      config: The run.
      this: Its identity.

    Raises:
      InputError: The directory holds another run (naming the field), or --overwrite_output_dir would throw away what is needed.
    """
    folder = config.output_dir
    if config.overwrite_output_dir:
        _check_overwrite(config)
        return None
    newest, record = latest_checkpoint(folder), os.path.join(folder, RECORD)
    if newest is not None and tf.io.gfile.exists(record):
        _check_same(config, this, record)
    elif newest is not None and config.do_train:
        logging.warning("%s holds checkpoints of an unknown run (no %s); going on from the newest one", folder, RECORD)
    return newest


@contextlib.contextmanager
def begun(config: configs.TrainingConfig, this: Mapping[str, Any], files: Mapping[str, str]) -> Iterator[None]:
    """Makes the output directory this training run's own: to be entered when all that the run needs has been read and checked.

    Args:
      config: The run.
      this: Its identity.
      files: Texts that belong beside the checkpoints, by file name.

    Raises:
      InputError: The directory cannot be written, or another run is training in it.
    """
    make_folder(config.output_dir)
    with _locked(config.output_dir):
        if config.overwrite_output_dir:
            _clear(config.output_dir)
        record = json.dumps(this, indent=2, sort_keys=True) + "\n"
        for name, text in (dict(files) | {RECORD: record}).items():
            write_text(config.output_dir, name, text)
        yield


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[None]:
    if "://" in folder:  # object stores have no locks
        yield
        return
    lock = filelock.FileLock(os.path.join(folder, _LOCK), timeout=0)
    try:
        lock.acquire()
    except filelock.Timeout:
        raise InputError(f"{folder}: another run is training in it; wait until it ends, or give another --output_dir") from None
    except NotImplementedError:  # a file system without locks
        yield
        return
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); check its permissions") from error
    try:
        yield
    finally:
        lock.release()


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


def _check_overwrite(config: configs.TrainingConfig) -> None:
    if not config.do_train:
        raise InputError("--overwrite_output_dir throws the earlier run away, so it needs --do_train; leave it out")
    folder = os.path.realpath(config.output_dir)
    for name in ("init_checkpoint", "continue_from", "vocab_file", "bert_config_file"):
        path = getattr(config, name, None)
        if path is not None and os.path.commonpath([folder, os.path.realpath(path)]) == folder:
            raise InputError(
                f"--overwrite_output_dir would throw away --{name}={path}, which lies in {config.output_dir}; give another --output_dir"
            )


def _check_same(config: configs.TrainingConfig, this: Mapping[str, Any], record: str) -> None:
    with tf.io.gfile.GFile(record) as file:
        try:
            recorded = json.loads(file.read())
            recorded_config, recorded_model, recorded_workflow = dict(recorded["config"]), dict(recorded["model"]), recorded["workflow"]
            recorded_data = dict(recorded.get("data", {}))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"{record}: is damaged; give another --output_dir, or --overwrite_output_dir to start again") from error
    mend = "give another --output_dir, the same flags as before, or --overwrite_output_dir to start again"
    if recorded_workflow != this["workflow"]:
        raise InputError(f"{config.output_dir}: holds a run of {recorded_workflow}, this is {this['workflow']}; {mend}")
    name = configs.differing_field(config, recorded_config) if config.do_train else None
    if name is not None:
        old, new = recorded_config.get(name), this["config"][name]
        raise InputError(f"{config.output_dir}: holds a run with {name}={old!r}, this one has {new!r}; {mend}")
    for name, value in this["model"].items():
        if recorded_model.get(name, value) != value:
            raise InputError(f"{config.output_dir}: holds a model with {name}={recorded_model[name]!r}, this one has {value!r}; {mend}")
    for name, value in this["data"].items() if config.do_train else ():
        if recorded_data.get(name, value) != value:
            raise InputError(
                f"{config.output_dir}: the {name} changed since this run began; give what it began with, another --output_dir, or "
                "--overwrite_output_dir to start again"
            )


def _clear(folder: str) -> None:
    for name in _WRITTEN:
        path = os.path.join(folder, name)
        if tf.io.gfile.exists(path):
            tf.io.gfile.remove(path)
    # names are matched, not globbed: the folder's own name may hold a * or a [
    for name in tf.io.gfile.listdir(folder):
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in _WRITTEN_PATTERNS):
            tf.io.gfile.remove(os.path.join(folder, name))
    for name in _WRITTEN_FOLDERS:
        path = os.path.join(folder, name)
        if tf.io.gfile.isdir(path):
            tf.io.gfile.rmtree(path)
