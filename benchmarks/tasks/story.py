"""The driver: each row of the protocol as a sweep in a process of its own, skipped where it is finished, and one table of all."""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

import tensorflow as tf
from absl import logging

from benchmarks.tasks import data, table
from benchmarks.tasks.protocol import ROWS, TasksConfig, sweep_flags
from bert_tf.cli import flag_config
from bert_tf.config import SWEPT_SCRIPTS, SweepConfig, to_dict
from bert_tf.data.json_files import read_json
from bert_tf.errors import InputError, Preempted
from bert_tf.training import record
from bert_tf.workflows import model_folder, run_directory
from bert_tf.workflows.run_lock import held
from bert_tf.workflows.script_process import run_apart
from bert_tf.workflows.sweep_record import FAILED, RECORD_NAME

# A sweep whose driver was killed ends by itself, when its run has saved its state; a new driver waits for it as long as this.
_PATIENCE_SECS = 600.0


def run(config: TasksConfig) -> dict[str, Any]:
    """Returns what the JSON line tells, when the rows that were asked for are done.

    Raises:
      InputError: What the user can mend; or, when all others are done, rows that did not come to an end.
      Preempted: After SIGTERM, when the run that was under way has saved its state.
    """
    root = os.path.join(config.work_dir, f"first_{config.max_rows}") if config.max_rows else config.work_dir
    runs = os.path.join(root, "runs")
    starts = {True: _random_model(config.init_checkpoint), False: {"init_checkpoint": config.init_checkpoint}}
    rows = config.rows()
    folders = {row.data: data.prepare(row.data, config.data_dir, os.path.join(root, "data"), config.max_rows or None) for row in rows}
    os.makedirs(runs, exist_ok=True)
    unfinished = []
    with held(runs):
        for number, row in enumerate(rows, 1):
            folder = os.path.join(runs, row.name)
            flags = sweep_flags(row, folder, folders[row.data], starts[row.from_random])
            if is_finished(flags, folder):
                logging.info("row %d of %d, %s: is finished", number, len(rows), row.name)
                continue
            if os.path.isdir(folder):
                with held(folder, _PATIENCE_SECS):
                    pass
            logging.info("row %d of %d, %s: python -m bert_tf.cli.sweep %s", number, len(rows), row.name, " ".join(flags))
            ended = run_apart("bert_tf.cli.sweep", flags, f"{folder}.log")
            if ended.was_stopped:
                raise Preempted(f"{row.name} was stopped; the same command goes on from where it was")
            if not is_finished(flags, folder):
                logging.warning("%s did not come to its end: %s", row.name, ended.last_line)
                unfinished.append(row.name)
        content = _tell(root, runs)
    if unfinished:
        raise InputError(f"{', '.join(unfinished)}: not finished; {runs}/NAME.log tells why, and the same command tries again")
    return content


def is_finished(flags: list[str], folder: str) -> bool:
    """Returns whether the sweep that these flags ask for has been done, every run of it."""
    content = _sweep(folder)
    if content is None:
        return False
    outer, inner = flag_config.parse_nested(SweepConfig, SWEPT_SCRIPTS, ["sweep", *flags])
    same = all(content[name] == getattr(outer, name) for name in ("script", "grid", "restarts"))
    told = {name: value for name, value in to_dict(inner).items() if name in content["config"]}
    return same and content["config"] == told and not content["missing"] and all(run["state"] != FAILED for run in content["runs"])


def _sweep(folder: str) -> dict[str, Any] | None:
    """Returns what a sweep's folder tells, or None where it holds none yet."""
    path = os.path.join(folder, RECORD_NAME)
    return read_json(path, f"remove {folder}") if tf.io.gfile.exists(path) else None


def _random_model(checkpoint: str) -> Mapping[str, str]:
    """Returns the flags of a model of the checkpoint's shape with random weights."""
    vocab = model_folder.find_vocab(checkpoint)
    if vocab is None:
        raise InputError(f"init_checkpoint: {checkpoint} has no vocab.txt in its folder; put the model's there")
    return {"bert_config_file": model_folder.find_config(checkpoint), "vocab_file": vocab}


def _tell(root: str, runs: str) -> dict[str, Any]:
    """Prints the table and the JSON line of all rows that are finished, and keeps them."""
    found = []
    for row in ROWS:
        folder = os.path.join(runs, row.name)
        content = _sweep(folder)
        done = [] if content is None or content["missing"] else [run["name"] for run in content["runs"] if run["state"] != FAILED]
        if done:
            trained = read_json(os.path.join(folder, done[0], run_directory.RUN_RECORD), f"remove {folder}")
            found.append((row, content | {"precision": trained["precision"]}))
    content = table.content(found) | record.surroundings() | {"command": " ".join(sys.argv)}
    text = table.markdown(content)
    run_directory.write_text(root, "tasks.md", text)
    run_directory.write_text(root, "tasks.json", json.dumps(content, indent=2) + "\n")
    print(text, json.dumps(content), sep="\n", flush=True)
    return content
