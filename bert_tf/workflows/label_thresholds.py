"""From which probability each of several labels is given: as the user says, else as an evaluation tuned it for the weights in use."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from absl import logging

from bert_tf.tasks.label_sets import SomeLabels
from bert_tf.tasks.spec import Row, TaskSpec
from bert_tf.tasks.thresholds import DEFAULT_THRESHOLD, Tuned
from bert_tf.workflows import tuned

NAME = "tuned_thresholds.json"
_FIELD = "thresholds"


class Dev(NamedTuple):
    """What thresholds can be tuned on: the dev set, its logits, float32[rows, labels], and a hash of it."""

    rows: Sequence[Row]
    logits: np.ndarray
    fingerprint: str


def settled(spec: TaskSpec, folder: str, weights: str, before: Callable[[], Mapping[str, Any] | None], dev: Dev | None) -> TaskSpec:
    """Returns the task with the thresholds in force, and keeps those with the model that are tuned now.

    They are those given; else what was tuned for these weights before; else the best for each label's F1 on the dev set, where it is
    evaluated; else the default. So a set that is evaluated later is scored at the thresholds of the first.

    Args:
      spec: The task, with thresholds if some were given.
      folder: Where they are kept.
      weights: What the logits are of, as `tuned.write` takes it.
      before: Returns what was tuned for these weights before, as `tuned.read` does.
      dev: What they can be tuned on; None where nothing is evaluated.
    """
    if not spec.answer.is_tunable:
        return spec
    stored = before()
    if stored is not None:
        if dev is not None and stored["tuned_on"] != dev.fingerprint:
            logging.info("%s: was tuned on other rows; it stays", stored["path"])
        return _with(spec, [stored[_FIELD][label] for label in spec.labels])
    if dev is None:
        logging.info("thresholds %s: none were given, and none tuned for this model; --do_eval tunes them", DEFAULT_THRESHOLD)
        return spec
    found = _tuned(spec, dev.rows, dev.logits)
    by_label = {label: each.threshold for label, each in found.items()}
    figures = {label: None if math.isnan(each.f1) else each.f1 for label, each in found.items()}
    path = tuned.write(folder, NAME, {_FIELD: by_label, "f1": figures}, weights, dev.fingerprint)
    logging.info("thresholds, tuned here for each label's F1, are in %s: %s", path, _told(found))
    unseen = [label for label, figure in figures.items() if figure is None]
    if unseen:
        logging.warning("no row of dev has %s: the threshold stays %s there", ", ".join(unseen), DEFAULT_THRESHOLD)
    return _with(spec, [by_label[label] for label in spec.labels])


def best(spec: TaskSpec, rows: Sequence[Row], logits: np.ndarray) -> TaskSpec:
    """Returns the task as these rows would have its thresholds, where none were given: what an evaluation during training scores by."""
    if not spec.answer.is_tunable:
        return spec
    return _with(spec, [each.threshold for each in _tuned(spec, rows, logits).values()])


def is_sound(spec: TaskSpec, content: Mapping[str, Any]) -> bool:
    """Returns whether a file holds a threshold for each label of the task."""
    found = content.get(_FIELD)
    return isinstance(found, dict) and found.keys() == set(spec.labels) and all(_is_probability(value) for value in found.values())


def _is_probability(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _tuned(spec: TaskSpec, rows: Sequence[Row], logits: np.ndarray) -> dict[str, Tuned]:
    assert isinstance(spec.answer, SomeLabels)
    return dict(zip(spec.labels, spec.answer.tuned([row.label for row in rows], logits), strict=True))


def _with(spec: TaskSpec, thresholds: Sequence[float]) -> TaskSpec:
    return dataclasses.replace(spec, thresholds=tuple(thresholds))


def _told(found: Mapping[str, Tuned]) -> str:
    return ", ".join(f"{label} {each.threshold:.3g} (F1 {each.f1:.4g}, at 0.5 {each.default_f1:.4g})" for label, each in found.items())
