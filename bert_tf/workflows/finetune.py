"""Fine-tuning: rows of a task -> a trained model, its scores, its predictions and a SavedModel."""

import functools
import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
from absl import logging

from bert_tf.config import BertConfig, FinetuneConfig, to_dict
from bert_tf.data import saved_logits
from bert_tf.errors import InputError
from bert_tf.serving.export import export
from bert_tf.tasks.features import Featurizer
from bert_tf.tasks.spec import DEV, TEST, TRAIN, Row, TaskSpec, file_of, role
from bert_tf.text.casing import warn_of_letters_taken_apart
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece_fast import bulk_tokenizer
from bert_tf.training.selection import Scoring
from bert_tf.workflows import examples, label_thresholds, run_directory, task_results, task_rows, tuned
from bert_tf.workflows.epochs import Examined, check_start, num_train_steps, vocabulary_and_model
from bert_tf.workflows.heads import Head, head_of
from bert_tf.workflows.training_run import TrainingRun, open_run


def run(config: FinetuneConfig) -> dict[str, Any]:
    """Returns what was reached: `global_step`, the evaluation's figures, and `export`, the SavedModel's path, where asked for.

    Raises:
      InputError: What the user can mend, before anything is trained.
    """
    vocab, model_config, spec, rows, head, featurizer, num_steps = _prepared(config)
    files = {"bert_config.json": model_config.to_json(), "vocab.txt": vocab.to_text()} | task_rows.model_files(spec)
    results: dict[str, Any] = {}
    with open_run(
        config,
        model_config,
        lambda policy, fuse: head.make_model(spec, model_config, config.recompute, policy, fuse),
        head.objective,
        num_train_steps=num_steps,
        num_warmup_steps=int(num_steps * config.warmup_proportion),
        last_step=num_steps,
        files=files,
        data=_made_from(rows.get(TRAIN, ()), vocab, spec),
        need_heads=not config.do_train,  # without training, the classifier itself must be in the checkpoint
    ) as training:

        @functools.cache
        def batches(split, batch_size, num_steps=None):
            return examples.batches(config, training, split, rows[split], featurizer, head.records, batch_size, num_steps)

        def logits(split, batch_size):
            return featurizer.collect(rows[split], training.predict(batches(split, batch_size))["classifier"])

        def dev_scores():
            found = logits(DEV, config.eval_batch_size)
            return task_results.scores_of(label_thresholds.best(spec, rows[DEV], found), DEV, rows[DEV], found)

        if config.do_train:
            if training.step == 0 and config.init_checkpoint is None:
                logging.warning("no --init_checkpoint: training starts from random weights")
            training.train(
                lambda: batches(TRAIN, config.train_batch_size, num_steps),
                Scoring(dev_scores, f"eval_{spec.metrics[0]}", fingerprint(rows.get(DEV, []))),
            )
        evaluated = {split: logits(split, config.eval_batch_size) for split in _sets(rows, DEV)} if config.do_eval else {}
        task = _settled(config, training, spec, rows, evaluated)  # as far as an evaluation tunes it
        for split, found in evaluated.items():
            results |= task_results.scores_of(task, split, rows[split], found)
            task_results.write_tables(training.folder, task, split, rows[split], found)
            _write_logits(config, training, spec, task, split, rows[split], found)
        if config.do_eval:
            run_directory.write_eval_results(training.folder, results | {"global_step": training.step})
        for split in _sets(rows, TEST) if config.do_predict else ():
            found = logits(split, config.predict_batch_size)
            task_results.write_predictions(training.folder, task, split, rows[split], found)
            _write_logits(config, training, spec, task, split, rows[split], found)
        if config.do_export and training.is_chief:
            results["export"] = _export(config, head, training.plain_model(), model_config, vocab, task, files)
        return results | {"global_step": training.step}


def examine(config: FinetuneConfig) -> Examined:
    """Returns what there is to know of a run before it begins.

    Raises:
      InputError: What the user can mend, as far as it shows before a model is made.
    """
    ready = _prepared(config)
    hashes = [f"{split} {fingerprint(rows)}" for split, rows in ready.rows.items()]
    return Examined(ready.spec.name, f"eval_{ready.spec.metrics[0]}", ", ".join(hashes))


class _Prepared(NamedTuple):
    """What a run is made of, read and checked; `num_steps` is 0 where there is no training."""

    vocab: Vocabulary
    model_config: BertConfig
    spec: TaskSpec
    rows: dict[str, list[Row]]
    head: Head
    featurizer: Featurizer
    num_steps: int


def _prepared(config: FinetuneConfig) -> _Prepared:
    if not (config.do_train or config.do_eval or config.do_predict or config.do_export):
        raise InputError("nothing to do: give at least one of --do_train, --do_eval, --do_predict and --do_export")
    check_start(config)
    vocab, model_config = vocabulary_and_model(config)
    spec = task_rows.find(config, run_directory.start_of(config))
    rows = _rows(config, spec)
    for split in rows if model_config.do_lower_case else ():
        warn_of_letters_taken_apart((text for row in rows[split] for text in row.texts), split)
    head = head_of(spec, config.class_weights, [row.label for row in rows.get(TRAIN, ())])
    num_chars = sum(len(text) for of_split in rows.values() for row in of_split for text in row.texts)
    tokenizer = bulk_tokenizer(vocab, bool(model_config.do_lower_case), num_chars)
    featurizer = head.featurizer(spec, tokenizer, config.max_seq_length)
    num_steps = num_train_steps(config, featurizer.num_records(rows[TRAIN])) if config.do_train else 0
    return _Prepared(vocab, model_config, spec, rows, head, featurizer, num_steps)


def _rows(config: FinetuneConfig, spec: TaskSpec) -> dict[str, list[Row]]:
    """Returns the rows that the run needs, by split."""
    rows = {TRAIN: task_rows.read(config, spec, TRAIN)} if config.do_train else {}
    if config.do_eval:
        rows |= task_rows.read_sets(config, spec, DEV)
    elif config.do_train and config.eval_steps:
        rows[DEV] = task_rows.read(config, spec, DEV)
    return rows | (task_rows.read_sets(config, spec, TEST) if config.do_predict else {})


def _sets(rows: Mapping[str, Sequence[Row]], wanted: str) -> list[str]:
    """Returns the splits at hand for a purpose."""
    return [split for split in rows if role(split) == wanted]


def _made_from(rows: Sequence[Row], vocab: Vocabulary, spec: TaskSpec) -> dict[str, str]:
    """Returns what a run goes on with only if it is still the same, by what it is."""
    return {run_directory.TRAINING_DATA: fingerprint(rows), "vocabulary": vocab.sha256, "labels": ", ".join(spec.labels)}


def fingerprint(rows: Sequence[Row]) -> str:
    """Returns a hash of the rows' texts and labels, and of their documents where they are told, in hexadecimal."""
    digest = hashlib.sha256()
    for row in rows:
        told = (row.texts, row.label) if row.document is None else (row.texts, row.label, row.document)
        digest.update(repr(told).encode())
    return digest.hexdigest()


def _settled(
    config: FinetuneConfig, training: TrainingRun, spec: TaskSpec, rows: Mapping[str, Sequence[Row]], evaluated: Mapping[str, np.ndarray]
) -> TaskSpec:
    """Returns the task with what an evaluation tunes of it: now, where the dev set is evaluated, or before."""
    dev = label_thresholds.Dev(rows[DEV], evaluated[DEV], fingerprint(rows[DEV])) if DEV in evaluated else None
    is_sound = functools.partial(label_thresholds.is_sound, spec)
    before = functools.partial(tuned.before, config, training, label_thresholds.NAME, is_sound)
    return label_thresholds.settled(spec, training.folder, tuned.weights_of(config, training), before, dev)


def _write_logits(
    config: FinetuneConfig, training: TrainingRun, spec: TaskSpec, task: TaskSpec, split: str, rows: Sequence[Row], logits: np.ndarray
) -> None:
    """Writes the raw logits of a set, with what they are of: for `workflows/ensemble.py`.

    They are those of `spec`, before anything was tuned; `task` is what they were scored as.
    """
    evaluated = role(split) == DEV
    about = saved_logits.About(
        workflow=run_directory.workflow_of(config),
        config=to_dict(config),
        split=split,
        made_of=logits_made_of(spec, rows),
        step=training.step,
        all_alike=task.answer.collapsed([row.label for row in rows], logits) if evaluated else None,
    )
    name = saved_logits.EVAL_LOGITS if evaluated else saved_logits.PREDICT_LOGITS
    saved_logits.write(training.folder, file_of(name, split), {"logits": logits}, about)


def logits_made_of(spec: TaskSpec, rows: Sequence[Row]) -> dict[str, Any]:
    """Returns what must be equal for logits of two runs to be averaged, by what it is."""
    return {
        "task": spec.name,
        "kind": spec.kind,
        "labels": list(spec.labels),
        "thresholds": list(spec.thresholds),
        "rows": fingerprint(rows),
    }


def _export(
    config: FinetuneConfig,
    head: Head,
    model: keras.Model,
    model_config: BertConfig,
    vocab: Vocabulary,
    spec: TaskSpec,
    files: Mapping[str, str],
) -> str:
    module = head.module(
        spec.answer,
        model=model,
        vocab=vocab,
        do_lower_case=bool(model_config.do_lower_case),
        max_seq_length=config.max_seq_length,
        is_pair=spec.num_texts == 2,
    )
    assets = {**files, **task_rows.model_files(spec)}  # with thresholds that were tuned
    path = export(module, os.path.join(config.output_dir, "export"), assets, module.probes())
    logging.info("exported to %s", path)
    return path
