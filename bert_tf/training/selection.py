"""Evaluations during a training: what each of them found, which checkpoint was best, and when to stop early."""

import json
import math
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf
from absl import logging

from bert_tf.data.files import atomic_write
from bert_tf.errors import InputError
from bert_tf.training.checkpoints import Checkpoints, checkpoint_steps

# In the run's directory.
EVALUATIONS = "evaluations.json"


class Scoring(NamedTuple):
    """How a model is judged while it is trained.

    Attributes:
      scores: Evaluates it and returns its figures by name.
      metric: The name of the one that decides.
      evaluated_on: A hash of what it is evaluated on: figures of other data are not compared.
      lower_is_better: Whether the best is the lowest, as of a loss.
    """

    scores: Callable[[], dict[str, float]]
    metric: str
    evaluated_on: str
    lower_is_better: bool = False


class Selection:
    """Evaluates a run every so many steps and at its end, and keeps the checkpoint of the best evaluation from being dropped.

    evaluations.json tells `metric`, `best_step` and, in `evaluations`, every step with its figures, null for what is undefined.
    """

    def __init__(
        self, checkpoints: Checkpoints, scoring: Scoring, every: int, patience: int, first_step: int, writes: bool, is_new: bool = False
    ):
        """Goes on from what an earlier part of the run found.

        Args:
          checkpoints: The run's.
          scoring: How the model is judged.
          every: Steps between evaluations.
          patience: Evaluations in a row without a better one after which the training stops; 0 for never.
          first_step: Where this part of the run begins; what evaluations.json tells of later steps counts no more.
          writes: Whether this process writes evaluations.json: one of all workers does.
          is_new: Whether an evaluations.json that lies there is another run's, to be written over.

        Raises:
          InputError: evaluations.json is damaged, or its evaluations were by another metric.
        """
        self._checkpoints, self._scoring, self._every, self._patience, self._writes = checkpoints, scoring, every, patience, writes
        self._path = os.path.join(checkpoints.folder, EVALUATIONS)
        recorded = None if is_new else _read(self._path)
        if recorded is not None and recorded["metric"] != scoring.metric:
            raise InputError(
                f"{self._path}: its best step was chosen by {recorded['metric']}, not {scoring.metric}; give another --output_dir"
            )
        found = [] if recorded is None else recorded["evaluations"]
        if found and recorded["evaluated_on"] != scoring.evaluated_on:
            logging.warning("%s: its evaluations were on other data, or on more or less of it; they count no more", self._path)
            found = []
        self._found: list[dict[str, Any]] = [each for each in found if each["step"] <= first_step]
        checkpoints.protected = self.best_step
        if recorded is not None and len(self._found) < len(recorded["evaluations"]):
            self._write()

    @property
    def standing(self) -> tuple[float, float]:
        """How many evaluations there were and the best one's step: what all workers must agree on."""
        return float(len(self._found)), float(self.best_step or 0)

    @property
    def best_step(self) -> int | None:
        """The step of the best evaluation, the earliest of equals, or None where none was defined."""
        found = self._ranked()
        return max(found, key=lambda each: (each[1], -each[0]))[0] if found else None

    @property
    def is_over(self) -> bool:
        """Whether the last evaluations were none the better for as long as patience goes."""
        if not self._patience or self.best_step is None:
            return False
        return sum(each["step"] > self.best_step for each in self._found) >= self._patience

    def is_due(self, step: int, last_step: int) -> bool:
        """Returns whether the model is to be evaluated at this step, whose checkpoint has been saved."""
        at_hand = step and (step % self._every == 0 or step == last_step)
        return bool(at_hand) and step not in [each["step"] for each in self._found]

    def assess(self, step: int) -> dict[str, float]:
        """Evaluates the model, writes down what was found and returns it."""
        scores = self._scoring.scores()
        told = {name: value if math.isfinite(value) else None for name, value in scores.items()}
        self._found.append({"step": step} | told)
        best = self._checkpoints.protected = self.best_step
        self._write()
        metric, better = self._scoring.metric, "lower" if self._scoring.lower_is_better else "higher"
        standing = "the best so far" if best == step else f"best at step {best}" if best else "undefined so far"
        logging.info("step %d: %s %.4g (%s is better), %s", step, metric, scores[metric], better, standing)
        if self.is_over:
            logging.info("stopping early: no better %s in %d evaluations", metric, self._patience)
        return scores

    def _write(self) -> None:
        if not self._writes:
            return
        content = {"metric": self._scoring.metric, "best_step": self.best_step, "evaluated_on": self._scoring.evaluated_on}
        with atomic_write(self._path) as file:
            file.write(json.dumps(content | {"evaluations": self._found}, indent=2) + "\n")

    def _ranked(self) -> list[tuple[int, float]]:
        """Returns steps and how good they are, higher for better."""
        sign, metric = (-1 if self._scoring.lower_is_better else 1), self._scoring.metric
        return [(each["step"], sign * each[metric]) for each in self._found if each.get(metric) is not None]


def best_checkpoint(folder: str) -> str | None:
    """Returns the prefix of the checkpoint that the run's evaluations found best, or None where there were none or it is gone.

    Raises:
      InputError: evaluations.json is damaged.
    """
    path = os.path.join(folder, EVALUATIONS)
    recorded = _read(path)
    if recorded is None or recorded["best_step"] is None:
        return None
    step = recorded["best_step"]
    if step not in checkpoint_steps(folder):
        logging.warning("%s: the best checkpoint, model.ckpt-%d, is gone; taking the newest", path, step)
        return None
    return os.path.join(folder, f"model.ckpt-{step}")


def forget(folder: str) -> None:
    """Removes evaluations.json, where there is one: the run goes on without evaluations, and its last checkpoint counts."""
    path = os.path.join(folder, EVALUATIONS)
    if tf.io.gfile.exists(path):
        tf.io.gfile.remove(path)
        logging.warning("%s: removed, as the training goes on without --eval_steps; the last checkpoint counts", path)


def _read(path: str) -> dict[str, Any] | None:
    if not tf.io.gfile.exists(path):
        return None
    try:
        with tf.io.gfile.GFile(path, "rb") as file:
            content = json.loads(file.read())
        metric, steps = content["metric"], [each["step"] for each in content["evaluations"]]
        scores = [each[metric] or 0.0 for each in content["evaluations"]]
        sound = isinstance(metric, str) and all(isinstance(step, int) for step in [*steps, content["best_step"] or 0])
        if not sound or not all(isinstance(score, float | int) for score in scores) or not isinstance(content["evaluated_on"], str):
            raise ValueError(path)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path}: is damaged; remove it, and the evaluations begin again") from error
    return content
