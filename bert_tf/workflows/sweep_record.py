"""sweep.json: which sweep a folder holds, and what became of each of its runs."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from bert_tf.config import EpochsConfig, Setting, SweepConfig, to_dict
from bert_tf.data.json_files import read_json
from bert_tf.errors import InputError
from bert_tf.tasks.paper import paper_figures
from bert_tf.workflows import run_directory
from bert_tf.workflows.epochs import Examined
from bert_tf.workflows.sweep_table import figures_of_settings

RECORD_NAME, TABLE_NAME = "sweep.json", "sweep.md"
# What a run can come to: done; done, but the model says the same of everything; ended by a fault while it trained.
FINISHED, COLLAPSED, FAILED = STATES = ("finished", "collapsed", "failed")


class Outcome(NamedTuple):
    """What became of a run.

    Attributes:
      name: Its folder's name.
      setting: What it has that runs of other settings have not.
      random_seed: Its seed.
      state: One of `STATES`.
      results: What its eval_results.txt tells.
      note: Why it failed, or what it collapsed to.
      seconds: How long it took, its last part if it was interrupted.
    """

    name: str
    setting: Setting
    random_seed: int
    state: str
    results: Mapping[str, float]
    note: str
    seconds: float

    def figure(self, metric: str) -> float:
        """Returns a figure of its results, nan where there is none."""
        return float(self.results.get(metric, math.nan))


class Record:
    """The state of a sweep, on disk after every run."""

    def __init__(self, folder: str, identity: Mapping[str, Any], names: Sequence[str], outcomes: Mapping[str, Outcome]):
        """Takes what makes the sweep this one, the names of its runs in order, and what became of those that have ended."""
        self._folder, self._identity, self._names, self._outcomes = folder, identity, names, dict(outcomes)

    @property
    def done(self) -> list[str]:
        """The names of the runs that need not be done again; a failed one is tried again by the next command."""
        return [name for name, outcome in self._outcomes.items() if outcome.state != FAILED]

    def add(self, outcome: Outcome) -> None:
        """Writes down what became of a run."""
        self._outcomes[outcome.name] = outcome
        self.write()

    def best(self) -> Outcome | None:
        """Returns the run that is best on dev, of equals the first; one that collapsed only where no other has a figure."""
        metric = self._identity["metric"]
        defined = [outcome for outcome in self._in_order() if math.isfinite(outcome.figure(metric))]
        sound = [outcome for outcome in defined if outcome.state == FINISHED] or defined
        return max(sound, key=lambda outcome: outcome.figure(metric), default=None)

    def write(self) -> dict[str, Any]:
        """Writes sweep.json and returns what it holds."""
        best, metric, outcomes = self.best(), self._identity["metric"], self._in_order()
        content = {
            **self._identity,
            "runs": [outcome._asdict() | {"results": _finite(outcome.results)} for outcome in outcomes],
            "missing": [name for name in self._names if name not in self._outcomes],
            "settings": [_finite(row) for row in figures_of_settings(metric, outcomes)],
            "best": None if best is None else best.name,
            "paper": [figure._asdict() for figure in paper_figures(self._identity["task"])],
        }
        run_directory.write_text(self._folder, RECORD_NAME, json.dumps(content, indent=2) + "\n")
        return content

    def _in_order(self) -> list[Outcome]:
        return [self._outcomes[name] for name in self._names if name in self._outcomes]


def open_record(config: SweepConfig, base: EpochsConfig, names: Sequence[str], examined: Examined) -> Record:
    """Returns the state of the sweep in its folder, which it is given if it holds nothing.

    Raises:
      InputError: The folder holds another sweep (naming the flag), a run, or a damaged sweep.json.
    """
    folder = config.output_dir
    # how often the best is exported changes no run
    told = {name: value for name, value in to_dict(base).items() if name not in ("output_dir", "do_export")}
    identity = {
        **{name: getattr(config, name) for name in ("script", "grid", "restarts")},
        **{"task": examined.task, "metric": examined.metric, "data": examined.data, "config": told},
    }
    path = os.path.join(folder, RECORD_NAME)
    if not tf.io.gfile.exists(path):
        if tf.io.gfile.exists(os.path.join(folder, run_directory.RECORD)):
            raise InputError(f"{folder}: holds a run, and a sweep needs a folder of its own; give another --output_dir")
        record = Record(folder, identity, names, {})
        record.write()
        return record
    try:
        content = read_json(path, f"give another --output_dir, or remove {folder}")
        recorded = {name: content[name] for name in identity} | {"config": dict(content["config"])}
        outcomes = [Outcome(**outcome) for outcome in content["runs"]]
        sound = all(outcome.state in STATES and isinstance(outcome.results, dict) for outcome in outcomes)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        sound = False
    if not sound:
        raise InputError(f"{path}: is damaged; give another --output_dir, or remove {folder}")
    _check_same(folder, identity, recorded)
    numbers = [outcome._replace(results={name: _number(value) for name, value in outcome.results.items()}) for outcome in outcomes]
    return Record(folder, identity, names, {outcome.name: outcome for outcome in numbers if outcome.name in names})


def _check_same(folder: str, identity: Mapping[str, Any], recorded: Mapping[str, Any]) -> None:
    mend = "give the same flags as before, or another --output_dir"
    for name in ("script", "grid", "restarts"):
        if identity[name] != recorded[name]:
            raise InputError(f"{folder}: holds a sweep with --{name}={recorded[name]}, this one has {identity[name]!r}; {mend}")
    for name, value in identity["config"].items():
        if recorded["config"].get(name, value) != value:
            raise InputError(f"{folder}: holds a sweep with {name}={recorded['config'][name]!r}, this one has {value!r}; {mend}")
    if identity["data"] != recorded["data"]:
        raise InputError(f"{folder}: the rows changed since this sweep began; give those it began with, or another --output_dir")


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _finite(row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the row with null for what is undefined: JSON has no nan."""
    return {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()}
