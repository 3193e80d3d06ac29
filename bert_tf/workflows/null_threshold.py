"""How sure "no answer" must be: the threshold on null odds that an evaluation tuned, kept with the model it was tuned for."""

import json
from collections.abc import Mapping
from typing import Any

from absl import logging

from bert_tf.workflows import tuned

NAME = "null_threshold.json"
FIELD = "null_score_diff_threshold"


def to_json(threshold: float) -> str:
    """Returns the file's text for an export, whose threshold belongs to its own weights."""
    return json.dumps({FIELD: threshold}) + "\n"


def write(folder: str, threshold: float, best_f1: float, weights: str, tuned_on: str) -> None:
    """Writes the threshold, and what it reached where it was tuned, in percent; the other arguments are those of `tuned.write`."""
    path = tuned.write(folder, NAME, {FIELD: threshold, "best_f1": best_f1}, weights, tuned_on)
    logging.info("null threshold %.4g, tuned here for F1 %.2f, is in %s", threshold, best_f1, path)


def is_sound(content: Mapping[str, Any]) -> bool:
    """Returns whether a file holds a threshold."""
    return isinstance(content.get(FIELD), int | float)
