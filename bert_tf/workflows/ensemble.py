"""Runs of one task -> the scores and predictions of their averaged logits, made as one run's are.

The paper's SQuAD ensemble (section 4.2) is of this kind: seven systems, from several pre-trained checkpoints and seeds.
"""

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from absl import logging

from bert_tf.config import EnsembleConfig, EpochsConfig, FinetuneConfig, SquadConfig
from bert_tf.data import saved_logits
from bert_tf.data.files import make_folder
from bert_tf.data.saved_logits import About
from bert_tf.errors import InputError
from bert_tf.squad.windows import Windower
from bert_tf.tasks.spec import DEV, Row, TaskSpec, role
from bert_tf.text.wordpiece import WordPieceTokenizer
from bert_tf.workflows import finetune, label_thresholds, model_folder, null_threshold, run_directory, task_results, task_rows, tuned
from bert_tf.workflows.answering import Answering
from bert_tf.workflows.epochs import vocabulary_and_model

# Writes into a folder; returns the figures of an evaluation.
_Writer = Callable[[str], dict[str, float]]


class _Averaged(NamedTuple):
    """The mean of some runs' logits, and what they are of: as the first run says it."""

    path: str
    logits: Mapping[str, np.ndarray]
    about: About
    members: str


def run(config: EnsembleConfig) -> dict[str, Any]:
    """Returns the evaluation's figures and `num_runs`; scores, tables and predictions are in output_dir, in the files of a run.

    Raises:
      InputError: Runs without logits, of different tasks, rows or windows, or whose data has changed since.
    """
    folders = _folders(config)
    # everything is read and checked before anything is written
    writers = []
    for name in _names(folders):
        averaged = _averaged(folders, name)
        if averaged.about.workflow not in _WORKFLOWS:
            raise InputError(f"{averaged.path}: holds logits of {averaged.about.workflow!r}; evaluate or predict again")
        writers.append(_WORKFLOWS[averaged.about.workflow](averaged, folders[0]))
    make_folder(config.output_dir)
    results: dict[str, Any] = {}
    for write in writers:
        results |= write(config.output_dir)
    results |= {"num_runs": len(folders)}
    if len(results) > 1:
        run_directory.write_eval_results(config.output_dir, results)
    return results


def _folders(config: EnsembleConfig) -> list[str]:
    folders = [folder for part in config.run_dirs.split(",") if part.strip() for folder in _matching(os.path.expanduser(part.strip()))]
    if len(folders) < 2:
        raise InputError(f"run_dirs names {len(folders)} runs; give two or more, separated by commas")
    real = [os.path.realpath(folder) for folder in folders]
    for number, folder in enumerate(folders):
        if real[number] in real[:number]:
            raise InputError(f"run_dirs: names {folder} twice; give each run once")
        if real[number] == os.path.realpath(config.output_dir):
            raise InputError(f"run_dirs: {folder} is the output_dir too, whose files would be written over; give another --output_dir")
    if tf.io.gfile.exists(os.path.join(config.output_dir, run_directory.RECORD)):
        raise InputError(f"{config.output_dir}: holds a run, whose results would be written over; give another --output_dir")
    return folders


def _matching(pattern: str) -> list[str]:
    """Returns the folders that a path or pattern means; a sweep's logs, which lie beside its runs, are none."""
    if not set(pattern) & set("*?["):
        return [pattern]
    folders = [path for path in sorted(tf.io.gfile.glob(pattern)) if tf.io.gfile.isdir(path)]
    if not folders:
        raise InputError(f"run_dirs: no folder matches {pattern!r}; check the path")
    return folders


def _names(folders: Sequence[str]) -> list[str]:
    """Returns the names of the files of logits that the runs have."""
    first = saved_logits.names_in(folders[0])
    for folder in folders:
        if not tf.io.gfile.isdir(folder):
            raise InputError(f"{folder}: is not there; give the output directories of runs")
        names = saved_logits.names_in(folder)
        if not names:
            raise InputError(f"{folder}: has no saved logits; evaluate or predict with the run first (--do_eval, --do_predict)")
        if names != first:
            name = min(set(names) ^ set(first))
            lacking, having = (folder, folders[0]) if name in first else (folders[0], folder)
            raise InputError(f"{lacking}: has no {name}, which {having} has; evaluate or predict the same sets with both")
    return first


def _averaged(folders: Sequence[str], name: str) -> _Averaged:
    """Returns the mean of the runs' logits of one set, taken in float64."""
    paths = [os.path.join(folder, name) for folder in folders]
    first, about = saved_logits.read(paths[0])
    sums = {key: array.astype(np.float64) for key, array in first.items() if key != "lengths"}
    abouts, told = [about], [f"{os.path.realpath(folders[0])}/model.ckpt-{about.step}"]
    for folder, path in zip(folders[1:], paths[1:]):
        logits, other = saved_logits.read(path)
        _check_same(paths[0], about, path, other)
        for key in sorted(first.keys() | logits.keys()):
            if key not in first or key not in logits or first[key].shape != logits[key].shape:
                raise InputError(f"{path}: its array {key} is not like that of {paths[0]}; evaluate or predict again")
            if key in sums:
                sums[key] += logits[key]
        told.append(f"{os.path.realpath(folder)}/model.ckpt-{other.step}")
        abouts.append(other)
    for path, each in zip(paths, abouts):
        if each.all_alike is not None:
            logging.warning("%s: its run collapsed (all predicted as %s), and counts in the mean all the same", path, each.all_alike)
    means = {key: (total / len(folders)).astype(np.float32) for key, total in sums.items()}
    return _Averaged(paths[0], {**first, **means}, about, "the mean of " + ", ".join(told))


def _check_same(path: str, about: About, other_path: str, other: About) -> None:
    """Checks that two files hold logits of the same."""
    mine = {"workflow": about.workflow, "split": about.split, **about.made_of}
    theirs = {"workflow": other.workflow, "split": other.split, **other.made_of}
    for name in mine:
        if mine[name] != theirs.get(name):
            # hashes say nothing to anybody
            values = "" if name in ("rows", "questions", "vocabulary") else f" ({mine[name]!r} and {theirs.get(name)!r})"
            raise InputError(f"{path} and {other_path} differ in their {name}{values}; only logits of the same can be averaged")


def _config_of(config_class: type[EpochsConfig], about: About, changes: Mapping[str, Any]) -> Any:
    """Returns the config of the run that computed the logits, changed to train nothing."""
    known = config_class.__dataclass_fields__
    values = {name: value for name, value in about.config.items() if name in known}
    nothing = {"do_train": False, "do_export": False, "overwrite_output_dir": False, "eval_steps": 0, "early_stopping_patience": 0}
    return config_class(**(values | nothing | changes))


def _of_task(averaged: _Averaged, run_dir: str) -> _Writer:
    """Returns what writes what the logits say of one set of a task."""
    split = averaged.about.split
    config = _config_of(FinetuneConfig, averaged.about, {})
    # the labels of rows of one's own lie beside the model that learned them
    start = run_dir if tf.io.gfile.exists(os.path.join(run_dir, task_rows.LABELS_NAME)) else config.init_checkpoint
    spec = task_rows.find(config, start)
    rows = task_rows.read(config, spec, split)
    if finetune.logits_made_of(spec, rows) != averaged.about.made_of:
        raise InputError(f"{averaged.path}: the rows or labels of {split} changed since it was written; evaluate or predict again")
    return functools.partial(_write_task, spec, split, rows, averaged)


def _write_task(spec: TaskSpec, split: str, rows: Sequence[Row], averaged: _Averaged, output_dir: str) -> dict[str, float]:
    """Writes tables, or predictions; returns the figures where labels are known."""
    logits = averaged.logits["logits"]
    dev = label_thresholds.Dev(rows, logits, averaged.about.made_of["rows"]) if split == DEV else None
    is_sound = functools.partial(label_thresholds.is_sound, spec)
    before = functools.partial(tuned.read, output_dir, label_thresholds.NAME, averaged.members, is_sound)
    spec = label_thresholds.settled(spec, output_dir, averaged.members, before, dev)
    if role(split) != DEV:
        task_results.write_predictions(output_dir, spec, split, rows, logits)
        return {}
    task_results.write_tables(output_dir, spec, split, rows, logits)
    return task_results.scores_of(spec, split, rows, logits)


def _of_squad(averaged: _Averaged, run_dir: str) -> _Writer:
    """Returns what writes what the logits say of the questions."""
    beside = {
        "vocab_file": os.path.join(run_dir, model_folder.VOCAB_NAME),
        "bert_config_file": os.path.join(run_dir, model_folder.CONFIG_NAME),
    }
    files = {name: path for name, path in beside.items() if tf.io.gfile.exists(path)}
    config = _config_of(SquadConfig, averaged.about, files | {"do_predict": True})
    vocab, model_config = vocabulary_and_model(config)
    tokenizer = WordPieceTokenizer(vocab, bool(model_config.do_lower_case))
    answering = Answering(config, Windower(tokenizer, config.max_seq_length, config.doc_stride, config.max_query_length))
    if answering.made_of != averaged.about.made_of:
        raise InputError(f"{averaged.path}: the questions or the vocabulary changed since it was written; predict again")
    return functools.partial(_write_squad, answering, averaged, config.do_eval)


def _write_squad(answering: Answering, averaged: _Averaged, evaluates: bool, output_dir: str) -> dict[str, float]:
    """Writes predictions; returns the figures where answers are known."""
    ends = np.cumsum(averaged.logits["lengths"])[:-1]
    predictions = answering.predictions({name: np.split(averaged.logits[name], ends) for name in ("start", "end")})
    best = answering.best_thresholds(predictions) if evaluates else {}
    tuned_before = functools.partial(tuned.read, output_dir, null_threshold.NAME, averaged.members, null_threshold.is_sound)
    threshold = answering.threshold(best, output_dir, averaged.members, tuned_before)
    answering.write(output_dir, predictions, threshold)
    logging.info("%s", averaged.members)
    return answering.scores(predictions, threshold) | best if evaluates else {}


# What makes files of the averaged logits, by the workflow that computed them.
_WORKFLOWS: Mapping[str, Callable[[_Averaged, str], _Writer]] = {"finetune": _of_task, "squad": _of_squad}
