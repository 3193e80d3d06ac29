"""What a fine-tuned model says of a task's rows: scores, and the files in output_dir that tell them and the predictions."""

from collections.abc import Iterable, Sequence

import numpy as np
from absl import logging

from bert_tf.tasks import metrics
from bert_tf.tasks.spec import Row, TaskSpec, file_of, suffix
from bert_tf.workflows import run_directory


def scores_of(spec: TaskSpec, split: str, rows: Sequence[Row], logits: np.ndarray) -> dict[str, float]:
    """Returns the task's metrics as eval_<metric> and the loss as eval_loss, and of the main set as loss too, as the original does.

    A metric that the rows leave undefined is nan, and told; so is a model that says the same of all rows.

    Args:
      spec: The task.
      split: Which set the rows are.
      rows: The evaluated rows.
      logits: float32[rows, outputs], or what the task's answer takes instead.
    """
    labels = [row.label for row in rows]
    scores = spec.answer.scores(spec.metrics, labels, logits)
    for name, reason in metrics.undefined(scores).items():
        logging.warning("%s of %s is undefined here: %s", name, split, reason)
    same = spec.answer.collapsed(labels, logits)
    if same is not None:
        logging.warning(
            "all %d rows of %s are predicted as %s, whatever their text: the model has not begun to learn, or its training collapsed; "
            "try a lower --learning_rate, more epochs or another --random_seed",
            *(len(rows), split, same),
        )
    results = {f"eval_{name}{suffix(split)}": value for name, value in scores.items()}
    return results if suffix(split) else results | {"loss": scores["loss"]}


def write_tables(folder: str, spec: TaskSpec, split: str, rows: Sequence[Row], logits: np.ndarray) -> None:
    """Writes, where labels are few, what the evaluation found label by label."""
    for name, lines in spec.answer.tables([row.label for row in rows], logits).items():
        logging.info("label by label: %s", _write(folder, name, split, lines))


def write_predictions(folder: str, spec: TaskSpec, split: str, rows: Sequence[Row], logits: np.ndarray) -> None:
    """Writes test_results.tsv, as the original does, and the predictions, which say of which row and of what the numbers are."""
    _write(folder, "test_results.tsv", split, spec.answer.result_lines(logits))
    lines = spec.answer.prediction_lines([row.id for row in rows], [row.texts for row in rows], logits)
    path = _write(folder, spec.answer.predictions_name, split, lines)
    logging.info("%d predictions in %s", len(rows), path)


def _write(folder: str, name: str, split: str, lines: Iterable[str]) -> str:
    return run_directory.write_text(folder, file_of(name, split), "".join(f"{line}\n" for line in lines))
