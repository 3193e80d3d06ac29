"""Fine-tuning: rows of a task -> a trained model, its scores, its predictions and a SavedModel."""

import functools
import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from absl import logging

from bert_tf.config import BertConfig, FinetuneConfig
from bert_tf.data.batches import Batches
from bert_tf.data.records import serialize, write_records
from bert_tf.data.rows import read_rows, read_tfds_rows
from bert_tf.data.schema import CLASSIFICATION
from bert_tf.errors import InputError
from bert_tf.modeling import losses
from bert_tf.modeling.models import ClassificationModel
from bert_tf.serving.export import export
from bert_tf.serving.signatures import ClassifierModule
from bert_tf.tasks import metrics
from bert_tf.tasks.features import Featurizer
from bert_tf.tasks.predictions import prediction_lines, probability_lines
from bert_tf.tasks.spec import DEV, TEST, TRAIN, Row, TaskSpec
from bert_tf.tasks.table import find_task
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer
from bert_tf.training.selection import Scoring
from bert_tf.workflows import run_directory
from bert_tf.workflows.epochs import batches_by_length, num_train_steps, vocabulary_and_model
from bert_tf.workflows.training_run import TrainingRun, open_run

# The files in output_dir that hold the features of each split, named as the original names them.
_RECORDS = {TRAIN: "train.tf_record", DEV: "eval.tf_record", TEST: "predict.tf_record"}

# A sentence to ask a fresh export, so that what was written is known to answer as the model does.
_PROBE = "The sky is blue."


def run(config: FinetuneConfig) -> dict[str, Any]:
    """Returns what was reached: `global_step`, the evaluation's figures, and `export`, the SavedModel's path, where asked for.

    Raises:
      InputError: What the user can mend, before anything is trained.
    """
    if not (config.do_train or config.do_eval or config.do_predict or config.do_export):
        raise InputError("nothing to do: give at least one of --do_train, --do_eval, --do_predict and --do_export")
    spec = find_task(config.task_name)
    vocab, model_config = vocabulary_and_model(config)
    evaluates = config.do_eval or (config.do_train and config.eval_steps > 0)
    asked = {TRAIN: config.do_train, DEV: evaluates, TEST: config.do_predict}
    rows = {split: _rows(config, spec, split) for split, wanted in asked.items() if wanted}
    num_steps = num_train_steps(config, len(rows[TRAIN])) if config.do_train else 0

    featurizer = Featurizer(spec, WordPieceTokenizer(vocab, bool(model_config.do_lower_case)), config.max_seq_length)
    files = _model_files(model_config, vocab, spec)
    results: dict[str, Any] = {}
    with open_run(
        config,
        model_config,
        lambda policy, fuse: ClassificationModel(model_config, len(spec.labels), config.recompute, fuse, dtype=policy),
        losses.CLASSIFICATION,
        num_train_steps=num_steps,
        num_warmup_steps=int(num_steps * config.warmup_proportion),
        last_step=num_steps,
        files=files,
        data={run_directory.TRAINING_DATA: _fingerprint(rows.get(TRAIN, [])), "vocabulary": vocab.sha256, "labels": ", ".join(spec.labels)},
        need_heads=not config.do_train,  # without training, the classifier itself must be in the checkpoint
    ) as training:

        @functools.cache
        def dev_batches():
            return _batches(config, training, DEV, rows[DEV], featurizer, config.eval_batch_size)

        def dev_scores():
            return _scores(spec, rows[DEV], training.predict(dev_batches())["classifier"])

        if config.do_train:
            if training.step == 0 and config.init_checkpoint is None:
                logging.warning("no --init_checkpoint: training starts from random weights")
            training.train(
                lambda: _batches(config, training, TRAIN, rows[TRAIN], featurizer, config.train_batch_size, num_steps),
                Scoring(dev_scores, f"eval_{spec.metrics[0]}", _fingerprint(rows.get(DEV, []))),
            )
        if config.do_eval:
            results |= dev_scores() | {"global_step": training.step}
            run_directory.write_eval_results(training.folder, results)
        if config.do_predict:
            logits = training.predict(_batches(config, training, TEST, rows[TEST], featurizer, config.predict_batch_size))["classifier"]
            _write_predictions(training.folder, spec, rows[TEST], logits)
        if config.do_export and training.is_chief:
            results["export"] = _export(config, training.plain_model(), model_config, vocab, spec, files)
        return results | {"global_step": training.step}


def _rows(config: FinetuneConfig, spec: TaskSpec, split: str) -> list[Row]:
    if config.tfds_name is not None:
        return read_tfds_rows(spec, split, config.tfds_name, config.tfds_data_dir)
    return read_rows(spec, split, config.data_dir)


def _fingerprint(rows: Sequence[Row]) -> str:
    """Returns a hash of the rows' texts and labels, in hexadecimal."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(repr((row.texts, row.label)).encode())
    return digest.hexdigest()


def _model_files(model_config: BertConfig, vocab: Vocabulary, spec: TaskSpec) -> dict[str, str]:
    """Returns by name the files without which the weights mean nothing: kept in output_dir and inside the export."""
    labels = "".join(f"{label}\n" for label in spec.labels)
    return {"bert_config.json": model_config.to_json(), "vocab.txt": vocab.to_text(), "labels.txt": labels}


def _batches(
    config: FinetuneConfig,
    training: TrainingRun,
    split: str,
    rows: Sequence[Row],
    featurizer: Featurizer,
    batch_size: int,
    num_steps: int | None = None,
) -> Batches:
    """Writes the split's features beside the run, as the original does, and returns batches of them, by length.

    With `num_steps` they are shuffled, epoch after epoch; without it they are gone through once.
    """
    path = os.path.join(training.folder, _RECORDS[split])
    cut_before = featurizer.num_cut
    lengths: list[int] = []

    def records():
        for row in rows:
            features = featurizer(row)
            lengths.append(sum(features["input_mask"]))
            yield serialize(features, CLASSIFICATION)

    write_records([path], records())
    logging.info("%s: %d examples, %d of them cut to %d pieces", split, len(rows), featurizer.num_cut - cut_before, config.max_seq_length)
    return batches_by_length(config, training, split, path, CLASSIFICATION, lengths, batch_size, num_steps)


def _scores(spec: TaskSpec, rows: Sequence[Row], logits: np.ndarray) -> dict[str, float]:
    """Returns the original's eval_accuracy, eval_loss and loss, and the task's own metrics as eval_<metric>.

    Args:
      spec: The task.
      rows: The evaluated rows.
      logits: float32[rows, labels].
    """
    labels = np.asarray([spec.label_id(row.label) for row in rows])
    loss = float(-_log_probabilities(logits)[np.arange(len(labels)), labels].mean())
    scores = metrics.compute(dict.fromkeys(("accuracy", *spec.metrics)), labels, logits.argmax(axis=1))
    for name, reason in metrics.undefined(scores).items():
        logging.warning("%s is undefined here: %s", name, reason)
    return {f"eval_{name}": value for name, value in scores.items()} | {"eval_loss": loss, "loss": loss}


def _log_probabilities(logits: np.ndarray) -> np.ndarray:
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


def _write_predictions(folder: str, spec: TaskSpec, rows: Sequence[Row], logits: np.ndarray) -> None:
    probabilities = np.exp(_log_probabilities(logits))
    files = {
        "test_results.tsv": probability_lines(probabilities),
        "predictions.tsv": prediction_lines([row.id for row in rows], spec.labels, probabilities),
    }
    for name, lines in files.items():
        path = run_directory.write_text(folder, name, "".join(f"{line}\n" for line in lines))
        logging.info("%d predictions in %s", len(rows), path)


def _export(
    config: FinetuneConfig,
    model: ClassificationModel,
    model_config: BertConfig,
    vocab: Vocabulary,
    spec: TaskSpec,
    files: Mapping[str, str],
) -> str:
    is_pair = spec.num_texts == 2
    module = ClassifierModule(
        spec.labels,
        model=model,
        vocab=vocab,
        do_lower_case=bool(model_config.do_lower_case),
        max_seq_length=config.max_seq_length,
        is_pair=is_pair,
    )
    texts = {"text": [_PROBE, ""]} | ({"text_pair": ["", _PROBE]} if is_pair else {})
    probes = [
        {"signature": "serving_default", **texts},
        {"signature": "ids", "input_ids": [[0, 1]], "input_mask": [[1, 1]], "segment_ids": [[0, 0]]},
    ]
    path = export(module, os.path.join(config.output_dir, "export"), files, probes)
    logging.info("exported to %s", path)
    return path
