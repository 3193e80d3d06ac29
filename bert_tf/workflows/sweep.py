"""The paper's protocol (section 4.1): a grid of flags x random restarts, the best on dev kept, and one table of all.

Each run is the script itself in a process of its own, so that memory and TensorFlow start clean, in a folder of its own, where it goes on
as any run does. sweep.json tells which runs are done, so that the same command goes on where it was stopped.
"""

import dataclasses
import os
import re
import tempfile
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow as tf
from absl import logging

from bert_tf.config import EpochsConfig, FinetuneConfig, Setting, SquadConfig, SweepConfig, settings_of, to_flags, with_setting
from bert_tf.data import saved_logits
from bert_tf.data.files import make_folder
from bert_tf.errors import InputError, Preempted
from bert_tf.serving.export import has_export
from bert_tf.training.checkpoints import latest_checkpoint
from bert_tf.workflows import finetune, run_directory, squad, sweep_record, sweep_table
from bert_tf.workflows.epochs import Examined
from bert_tf.workflows.eval_results import read_eval_results
from bert_tf.workflows.run_lock import held
from bert_tf.workflows.script_process import run_apart
from bert_tf.workflows.sweep_record import COLLAPSED, FAILED, FINISHED, Outcome, Record

_WORKFLOWS = {FinetuneConfig: finetune, SquadConfig: squad}
# Where a run says what collapsed.
_LOGITS = {FinetuneConfig: saved_logits.EVAL_LOGITS, SquadConfig: saved_logits.PREDICT_LOGITS}
# A run whose sweep was killed saves a checkpoint and ends; a new sweep waits for it as long as this.
_PATIENCE_SECS = 600.0
# Most characters of a run's name: file systems take 255 bytes, and its log has a longer one.
_LONGEST_NAME = 200
# What is thrown away of a run that is not the best: what takes room and is made again by the same command.
_LARGE = re.compile(r"model\.ckpt-\d+\.(index|data-\d{5}-of-\d{5})|checkpoint|train\.tf_record")


class Planned(NamedTuple):
    """A run of a sweep: its folder's name, what it has that others have not, and all it is told."""

    name: str
    setting: Setting
    config: EpochsConfig


def run(config: SweepConfig, base: EpochsConfig) -> dict[str, Any]:
    """Returns what sweep.json holds in the end: every run, mean and standard deviation of each setting, and the best run.

    Args:
      config: The sweep.
      base: What every run is told.

    Raises:
      InputError: What the user can mend: before anything is trained, as far as it shows then.
      Preempted: After SIGTERM, when the run that was under way has saved its state.
    """
    runs = plan(config, base)
    examined = _examine(runs)
    make_folder(config.output_dir)
    with held(config.output_dir):
        record = sweep_record.open_record(config, base, [planned.name for planned in runs], examined)
        logging.info("%d runs, %d of them done; sweep.json and sweep.md in %s", len(runs), len(record.done), config.output_dir)
        for number, planned in enumerate(runs, 1):
            if planned.name in record.done:
                continue
            logging.info("run %d of %d: %s", number, len(runs), planned.name)
            outcome = _outcome(planned, config.script, examined.metric)
            record.add(outcome)
            _tell(outcome, examined.metric)
            _keep_best(config.output_dir, record)
        _keep_best(config.output_dir, record)
        if base.do_export:
            _export(config, runs, record)
        content = record.write()
        table = sweep_table.markdown(content)
        run_directory.write_text(config.output_dir, sweep_record.TABLE_NAME, table)
        print(table, end="")
    return content


def plan(config: SweepConfig, base: EpochsConfig) -> list[Planned]:
    """Returns the runs, restarts of one setting one after another.

    Raises:
      InputError: A grid that is none, or values that a run refuses.
    """
    if base.overwrite_output_dir:
        raise InputError("overwrite_output_dir would throw away finished runs; leave it out, and remove the sweep's folder yourself")
    settings = settings_of(config.grid, base)
    digits, runs = len(str(len(settings) * config.restarts)), []
    for setting in settings:
        for seed in range(base.random_seed, base.random_seed + config.restarts):
            told = [f"{name}-{re.sub('[^A-Za-z0-9.+-]+', '_', str(value))}" for name, value in (setting | {"seed": seed}).items()]
            name = "_".join([f"{len(runs) + 1:0{digits}d}", *told])[:_LONGEST_NAME]
            one = with_setting(base, setting, seed, os.path.join(config.output_dir, name))
            runs.append(Planned(name, setting, dataclasses.replace(one, do_export=False)))
    return runs


def _examine(runs: Sequence[Planned]) -> Examined:
    """Returns what there is to know of the runs before any begins; each setting is checked."""
    found: dict[str, Examined] = {}
    for planned in runs:
        if repr(planned.setting) not in found:
            found[repr(planned.setting)] = _WORKFLOWS[type(planned.config)].examine(planned.config)
    first, *others = found.values()
    for other in others:
        if other != first:
            raise InputError("grid: its settings are of different tasks or rows, and so cannot be compared; leave those flags out of it")
    return first


def _outcome(planned: Planned, script: str, metric: str) -> Outcome:
    """Does one run and returns what became of it.

    Raises:
      InputError: It did not begin, by a mistake of the user's.
      Preempted: It was asked to stop.
    """
    folder = planned.config.output_dir
    if tf.io.gfile.isdir(folder):
        with held(folder, _PATIENCE_SECS):
            pass
    begin = time.monotonic()
    ended = run_apart(script, to_flags(planned.config), _log_path(folder))
    outcome = Outcome(planned.name, planned.setting, planned.config.random_seed, FAILED, {}, "", time.monotonic() - begin)
    if ended.was_stopped:
        raise Preempted(f"{planned.name} was stopped; the same command goes on from where it was")
    if ended.code:
        if not tf.io.gfile.exists(os.path.join(folder, run_directory.RECORD)):
            raise InputError(f"{planned.name} did not begin: {ended.last_line.removeprefix('error: ')}")
        return outcome._replace(note=ended.last_line)
    _, about = saved_logits.read(os.path.join(folder, _LOGITS[type(planned.config)]))
    results = read_eval_results(folder)
    if about.all_alike is not None:
        return outcome._replace(state=COLLAPSED, results=results, note=f"all predicted as {about.all_alike}")
    return outcome._replace(state=FINISHED, results=results)


def _log_path(folder: str) -> str:
    """Returns where what a run says goes: beside its folder, or where that is on no disk of this machine, among temporary files."""
    return os.path.join(tempfile.gettempdir(), f"{os.path.basename(folder)}.log") if "://" in folder else f"{folder}.log"


def _tell(outcome: Outcome, metric: str) -> None:
    figure = f"{metric} {outcome.results[metric]:.4g}, " if metric in outcome.results else ""
    note = f" ({outcome.note})" if outcome.note else ""
    (logging.info if outcome.state == FINISHED else logging.warning)("%s: %s%s%s", outcome.name, figure, outcome.state, note)


def _keep_best(folder: str, record: Record) -> None:
    """Throws away the checkpoints of the runs that are done and not the best."""
    best = record.best()
    for name in record.done:
        place = os.path.join(folder, name)
        if best is None or name == best.name or not tf.io.gfile.isdir(place):
            continue
        for file in tf.io.gfile.listdir(place):
            if _LARGE.fullmatch(file):
                tf.io.gfile.remove(os.path.join(place, file))


def _export(config: SweepConfig, runs: Sequence[Planned], record: Record) -> None:
    """Exports the best run, where that has not been done: its command again, with --do_export."""
    best = record.best()
    if best is None:
        return
    planned = next(planned for planned in runs if planned.name == best.name)
    folder = planned.config.output_dir
    if has_export(os.path.join(folder, "export")):
        return
    if latest_checkpoint(folder) is None:
        logging.warning("%s: its checkpoint is gone, so it is not exported", planned.name)
        return
    ended = run_apart(config.script, to_flags(dataclasses.replace(planned.config, do_export=True)), _log_path(folder))
    if ended.was_stopped:
        raise Preempted(f"{planned.name} was stopped while it was exported; the same command exports it")
    if ended.code:
        raise InputError(f"{planned.name} is not exported: {ended.last_line.removeprefix('error: ')}")
    logging.info("%s: exported to %s", planned.name, os.path.join(folder, "export"))
