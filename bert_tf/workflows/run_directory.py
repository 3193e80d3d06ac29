"""A run's output directory: what run it belongs to, and when it may be gone on with."""

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf
from absl import logging

from bert_tf import config as configs
from bert_tf.data.files import atomic_write, expand_patterns, make_folder
from bert_tf.data.saved_logits import EVAL_LOGITS, PREDICT_LOGITS
from bert_tf.errors import InputError
from bert_tf.tasks.spec import DEV, TEST, TRAIN, file_of, role
from bert_tf.tasks.table import TASKS
from bert_tf.training.checkpoints import latest_checkpoint
from bert_tf.training.selection import EVALUATIONS
from bert_tf.workflows.eval_results import EVAL_RESULTS
from bert_tf.workflows.run_lock import held

RECORD = "run_config.json"
# How the training went: on what, and how fast.
RUN_RECORD = "run.json"
# What is hashed into it: see `identity`.
TRAINING_DATA = "training data"
# What fine-tuning writes of each set that it evaluates or predicts.
_WRITTEN_OF_SETS = {
    TRAIN: ("train.tf_record",),
    DEV: ("eval.tf_record", EVAL_LOGITS, "confusion_matrix.tsv", "label_scores.tsv"),
    TEST: ("predict.tf_record", PREDICT_LOGITS, "test_results.tsv", "predictions.tsv"),
}
# What each workflow's run writes, and so what --overwrite_output_dir throws away where such a run was; all else is left alone.
_WRITTEN = {
    "pretrain": (RECORD, RUN_RECORD, EVALUATIONS, "checkpoint", "bert_config.json", "vocab.txt", EVAL_RESULTS),
    "finetune": (
        *(RECORD, RUN_RECORD, EVALUATIONS, "checkpoint", "bert_config.json", "vocab.txt", "labels.txt", "thresholds.txt"),
        *("tuned_thresholds.json", EVAL_RESULTS),
        *dict.fromkeys(file_of(name, split) for task in TASKS for split in task.table.files for name in _WRITTEN_OF_SETS[role(split)]),
    ),
    "squad": (
        *(RECORD, RUN_RECORD, EVALUATIONS, "checkpoint", "bert_config.json", "vocab.txt", EVAL_RESULTS, "null_threshold.json"),
        *("predictions.json", "nbest_predictions.json", "null_odds.json", PREDICT_LOGITS, "train.tf_record", "eval.tf_record"),
    ),
}
_WRITTEN_PATTERNS = {  # by folder
    "": re.compile(r"model\.ckpt-\d+(\.partial-[^.]+)?\.(index|data-\d{5}-of-\d{5})"),
    "train": re.compile(r"events\.out\.tfevents\..+"),
    "export": re.compile(r"\d+/?|partial-\d+/?"),
}
# Flags that name what a run reads, and those of them that may name many files.
_READ = (
    *("init_checkpoint", "continue_from", "vocab_file", "bert_config_file", "data_dir", "tfds_data_dir"),
    *("train_file", "dev_file", "test_file", "predict_file"),
)
_READ_PATTERNS = ("input_file", "eval_input_file")


def identity(config: configs.TrainingConfig, model_config: configs.BertConfig, data: Mapping[str, str]) -> dict[str, Any]:
    """Returns what makes a run this run and no other: the content of run_config.json.

    Args:
      config: The run.
      model_config: Its model.
      data: Hashes of what it is made from, by what it is: TRAINING_DATA, and what its weights mean nothing without.
    """
    return {
        "workflow": workflow_of(config),
        "config": configs.to_dict(config),
        "model": configs.to_dict(model_config),
        "data": dict(data),
    }


def workflow_of(config: configs.TrainingConfig) -> str:
    """Returns the name of the workflow that a config is for: `workflow_of(SquadConfig(...))` is squad."""
    return type(config).__name__.removesuffix("Config").lower()


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


def start_of(config: configs.TrainingConfig) -> str | None:
    """Returns what the run's weights come from: its own newest checkpoint, else --continue_from or --init_checkpoint, else None."""
    own = None if config.overwrite_output_dir else latest_checkpoint(config.output_dir)
    return own or getattr(config, "continue_from", None) or config.init_checkpoint


@contextlib.contextmanager
def begun(config: configs.TrainingConfig, this: Mapping[str, Any], files: Mapping[str, str], newest: str | None) -> Iterator[None]:
    """Makes the output directory this training run's own: to be entered when all that the run needs has been read and checked.

    Args:
      config: The run.
      this: Its identity.
      files: Texts that belong beside the checkpoints, by file name.
      newest: What `find_checkpoint` returned.

    Raises:
      InputError: The directory cannot be written, is a model's own, or another run is, or was until now, training in it.
    """
    folder = config.output_dir
    _check_places(folder, this["workflow"], files, is_new=newest is None)
    make_folder(folder)
    with held(folder):
        if config.overwrite_output_dir:
            _clear(folder)
        elif latest_checkpoint(folder) != newest:
            raise InputError(f"{folder}: another run has saved a checkpoint in it since this one started; start again to go on from it")
        # the record first: a run killed here is known as this one when it starts again
        record = json.dumps(this, indent=2, sort_keys=True) + "\n"
        for name, text in ({RECORD: record} | dict(files)).items():
            write_text(config.output_dir, name, text)
        yield


def write_text(folder: str, name: str, text: str) -> str:
    """Writes a file of the run, whole or not at all, and returns its path."""
    path = os.path.join(folder, name)
    with atomic_write(path) as file:
        file.write(text)
    return path


def write_eval_results(folder: str, results: dict[str, float | int]) -> None:
    """Writes eval_results.txt as the original does, one `key = value` a line by key, and shows it."""
    lines = [f"{key} = {results[key]}" for key in sorted(results)]
    path = write_text(folder, EVAL_RESULTS, "\n".join(lines) + "\n")
    logging.info("%s:\n%s", path, "\n".join(f"  {line}" for line in lines))


def _check_overwrite(config: configs.TrainingConfig) -> None:
    if not config.do_train:
        raise InputError("--overwrite_output_dir throws the earlier run away, so it needs --do_train; leave it out")
    if latest_checkpoint(config.output_dir) is not None and not tf.io.gfile.exists(os.path.join(config.output_dir, RECORD)):
        raise InputError(
            f"{config.output_dir}: holds checkpoints of an unknown run (no {RECORD}), which --overwrite_output_dir does not throw away; "
            "remove them, or give another --output_dir"
        )
    folder = os.path.realpath(config.output_dir)
    given = {name: getattr(config, name, None) for name in _READ + _READ_PATTERNS}
    for name, value in given.items():
        if value is None:
            continue
        for path in expand_patterns(value, name) if name in _READ_PATTERNS else [value]:
            if (os.path.realpath(os.path.expanduser(path)) + os.sep).startswith(folder + os.sep):
                raise InputError(
                    f"--overwrite_output_dir might throw away --{name}={path}, which lies in {config.output_dir}; give another --output_dir"
                )


def _check_same(config: configs.TrainingConfig, this: Mapping[str, Any], record: str) -> None:
    recorded = _read_record(record)
    recorded_config, recorded_model, recorded_data = recorded["config"], recorded["model"], recorded["data"]
    mend = "give another --output_dir, the same flags as before, or --overwrite_output_dir to start again"
    if recorded["workflow"] != this["workflow"]:
        raise InputError(f"{config.output_dir}: holds a run of {recorded['workflow']}, this is one of {this['workflow']}; {mend}")
    name = configs.differing_field(config, recorded_config) if config.do_train else None
    if name is not None:
        old, new = recorded_config.get(name), this["config"][name]
        if name in (
            "num_train_steps",
            "num_train_epochs",
        ):  # the rate falls towards the end of the schedule, so a longer one is another run
            mend += f"; to train on, a new schedule can start from it: --init_checkpoint={config.output_dir}, another --output_dir"
        old, new = (f"with {name}={value!r}" if value is not None else f"without {name}" for value in (old, new))
        raise InputError(f"{config.output_dir}: holds a run {old}, this one is {new}; {mend}")
    for name, value in this["model"].items():
        if recorded_model.get(name, value) != value:
            raise InputError(f"{config.output_dir}: holds a model with {name}={recorded_model[name]!r}, this one has {value!r}; {mend}")
    for name, value in this["data"].items():
        if name == TRAINING_DATA and not config.do_train:
            continue
        if recorded_data.get(name, value) != value:
            difference = f" ({recorded_data[name]}, now {value})" if name in ("labels", "masking") else ""
            raise InputError(
                f"{config.output_dir}: the {name} changed since this run began{difference}; give what it began with, or another "
                "--output_dir"
            )


def recorded_config(folder: str) -> dict[str, Any]:
    """Returns the config of the run in the folder, as its record has it.

    Raises:
      InputError: There is no record, or it is damaged.
    """
    record = os.path.join(folder, RECORD)
    if not tf.io.gfile.exists(record):
        raise InputError(f"{folder}: has no {RECORD}; give the --output_dir of a training")
    return _read_record(record, "give the --output_dir of another training")["config"]


def _holds(path: str, text: str) -> bool:
    with tf.io.gfile.GFile(path, "rb") as file:
        return file.read() == text.encode()


def check_schedule(config: configs.TrainingConfig, folder: str) -> None:
    """Checks that a run goes on in the schedule of the run in `folder`, where that has a record.

    Raises:
      InputError: Another length, warm-up or rate.
    """
    record = os.path.join(folder, RECORD)
    if not config.do_train or not tf.io.gfile.exists(record):
        return
    recorded = _read_record(record)["config"]
    for name in ("num_train_steps", "num_warmup_steps", "learning_rate", "lr_schedule", "optimizer", "bias_correction", "layer_decay"):
        value = getattr(config, name)
        if recorded.get(name, value) != value:
            raise InputError(
                f"--continue_from={folder}: its schedule has {name}={recorded[name]!r}, this run {value!r}; give the same, or "
                "--init_checkpoint to start a new schedule from its weights"
            )


def _read_record(record: str, mend: str = "give another --output_dir, or --overwrite_output_dir to start again") -> dict[str, Any]:
    with tf.io.gfile.GFile(record) as file:
        try:
            content = json.loads(file.read())
            return {
                "workflow": content["workflow"],
                "config": dict(content["config"]),
                "model": dict(content["model"]),
                "data": dict(content.get("data", {})),
            }
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"{record}: is damaged; {mend}") from error


def _check_places(folder: str, workflow: str, files: Mapping[str, str], is_new: bool) -> None:
    """Checks that what the run will write does not meet something else of that name.

    Raises:
      InputError: A directory where a file is to be, or the reverse; or, where no run was before, a file that would be lost.
    """
    for name in _WRITTEN[workflow]:
        path = os.path.join(folder, name)
        if tf.io.gfile.isdir(path):
            raise InputError(f"{path}: is a directory, where this run writes a file; give another --output_dir")
    for name in _WRITTEN_PATTERNS:
        path = os.path.join(folder, name) if name else folder
        if tf.io.gfile.exists(path) and not tf.io.gfile.isdir(path):
            raise InputError(f"{path}: is a file, where this run makes a directory; give another --output_dir")
    if not is_new or tf.io.gfile.exists(os.path.join(folder, RECORD)):
        return
    for name in _WRITTEN[workflow]:
        path = os.path.join(folder, name)
        if tf.io.gfile.exists(path) and not (name in files and _holds(path, files[name])):
            raise InputError(f"{folder}: holds a {name} of its own, which this run would write over; give another --output_dir")


def _clear(folder: str) -> None:
    """Removes what an earlier run wrote; where there is no record of a run, nothing."""
    record = os.path.join(folder, RECORD)
    if not tf.io.gfile.exists(record):
        return
    try:
        workflow = _read_record(record)["workflow"]
    except InputError:  # damaged: what all workflows write
        workflow = "pretrain"
    for within, pattern in _WRITTEN_PATTERNS.items():
        place = os.path.join(folder, within)
        for name in tf.io.gfile.listdir(place) if tf.io.gfile.isdir(place) else ():
            if pattern.fullmatch(name):
                path = os.path.join(place, name)
                (tf.io.gfile.rmtree if tf.io.gfile.isdir(path) else tf.io.gfile.remove)(path)
    for name in reversed(_WRITTEN.get(workflow, ())):  # the record last: killed here, the same command clears the rest
        path = os.path.join(folder, name)
        if tf.io.gfile.exists(path):
            tf.io.gfile.remove(path)
