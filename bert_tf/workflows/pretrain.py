"""Pre-training: masked TFRecords -> checkpoints, eval_results.txt and the encoder as a SavedModel."""

import dataclasses
import math
import os
from typing import Any

import tensorflow as tf
from absl import logging

from bert_tf.config import BertConfig, PretrainConfig
from bert_tf.convert.load import load_weights
from bert_tf.convert.names import training_state
from bert_tf.data.batches import Batches, OrderedRecords, ShuffledRecords
from bert_tf.data.manifest import Manifest, is_manifest, read_manifest
from bert_tf.data.records import RecordFile, check_first_record, expand_patterns
from bert_tf.data.schema import PRETRAINING
from bert_tf.errors import InputError
from bert_tf.modeling.losses import pretraining_sums
from bert_tf.modeling.models import PretrainingModel
from bert_tf.text.casing import resolve_do_lower_case
from bert_tf.text.vocab import Vocabulary
from bert_tf.training import strategy
from bert_tf.training.checkpoints import Checkpoints
from bert_tf.training.loop import Limits, Trainer, evaluate
from bert_tf.training.optimizer import AdamWeightDecay, LinearSchedule
from bert_tf.workflows import model_folder, run_directory
from bert_tf.workflows.export_encoder import export_encoder

# the flag that an axis of the records follows
_FLAG_OF_AXIS = {"seq": "max_seq_length", "masks": "max_predictions_per_seq"}


def run(config: PretrainConfig) -> dict[str, Any]:
    """Returns what was reached: `global_step`, the evaluation's figures, and `export`, the SavedModel's path, where asked for.

    Raises:
      InputError: What the user can mend, before anything is written.
    """
    if not (config.do_train or config.do_eval or config.do_export):
        raise InputError("nothing to do: give at least one of --do_train, --do_eval and --do_export")
    vocab = _vocabulary(config)
    model_config = _model_config(config, vocab)
    train_files = _open_files(config.input_file, "input_file", config, model_config, vocab)
    eval_files = _eval_files(config, train_files, model_config, vocab)

    strategy.set_up(config)
    newest = run_directory.find_checkpoint(config, model_config)
    model = PretrainingModel(model_config, use_nsp=config.use_nsp)
    optimizer = AdamWeightDecay(
        model.trainable_variables,
        LinearSchedule(config.learning_rate, config.num_train_steps, config.num_warmup_steps),
        config.bias_correction,
    )
    trainer = Trainer(model, pretraining_sums, optimizer, config.random_seed, config.jit_compile)
    state = training_state(optimizer.variables, optimizer.m, optimizer.v, model_config.num_hidden_layers, trainer.global_step)
    checkpoints = Checkpoints(config.output_dir, state, config.keep_checkpoint_max)
    step = _start(config, model, checkpoints, newest)
    if config.do_train:
        run_directory.begin(config, model_config, _model_files(model_config, vocab))

    results: dict[str, Any] = {}
    if config.do_train:
        step = _train(config, trainer, train_files, checkpoints, step)
    if config.do_eval:
        figures = evaluate(
            model, pretraining_sums, _batches(OrderedRecords(eval_files), config, config.eval_batch_size), config.max_eval_steps
        )
        results |= figures | {"global_step": step}
        run_directory.write_eval_results(config.output_dir, results)
    if config.do_export:
        results["export"] = export_encoder(model.encoder, model_config, vocab, config)
    return results | {"global_step": step}


def _train(config: PretrainConfig, trainer: Trainer, files: list[RecordFile], checkpoints: Checkpoints, step: int) -> int:
    last = config.stop_at_step or config.num_train_steps
    if step >= last:
        logging.info("%s: training is finished (step %d of %d), nothing left to train", config.output_dir, step, last)
        return step
    batches = _batches(ShuffledRecords(files, config.random_seed), config, config.train_batch_size)
    logging.info("training on %d examples in %d files, steps %d to %d", batches.num_records, len(files), step, last)
    if step == 0 and config.init_checkpoint is None:
        chance = math.log(trainer.model.encoder.config.vocab_size) + (math.log(2) if config.use_nsp else 0)
        logging.info("a model that knows nothing has a loss near %.2f; far from it, something is wrong with the data", chance)
    limits = Limits(step, last, config.save_checkpoints_steps, config.iterations_per_loop)
    trainer.train(batches, limits, checkpoints, os.path.join(config.output_dir, "train"))
    return last


def _start(config: PretrainConfig, model: PretrainingModel, checkpoints: Checkpoints, newest: str | None) -> int:
    """Loads what the run starts from and returns its step: its own newest checkpoint, another run's state, weights, or nothing."""
    if newest is not None:
        step = checkpoints.restore(newest)
        logging.info("going on from %s", newest)
        return step
    if config.continue_from is not None:
        prefix = model_folder.checkpoint_prefix(config.continue_from)
        step = checkpoints.restore(prefix)
        logging.info("going on from %s at step %d of its schedule", prefix, step)
        return step
    if config.init_checkpoint is not None:
        # an evaluation without training needs the heads as well
        need_heads = config.do_eval and not config.do_train
        logging.info("%s", load_weights(model, config.init_checkpoint, config.allow_partial, need_heads))
    elif not config.do_train:
        raise InputError(f"{config.output_dir}: holds no checkpoint; give --do_train, or an --init_checkpoint")
    return 0


def _batches(records: ShuffledRecords | OrderedRecords, config: PretrainConfig, batch_size: int) -> Batches:
    return Batches(records, PRETRAINING, _axes(config), batch_size)


def _axes(config: PretrainConfig) -> dict[str, int]:
    return {"seq": config.max_seq_length, "masks": config.max_predictions_per_seq}


def _vocabulary(config: PretrainConfig) -> Vocabulary | None:
    """Returns the vocabulary of the flag, of the model started from, or of the data, where one can be found."""
    if config.vocab_file is not None:
        return model_folder.read_vocab(config.vocab_file)
    for start in (config.continue_from, config.init_checkpoint):
        path = model_folder.find_vocab(start) if start is not None else None
        if path is not None:
            return model_folder.read_vocab(path)
    manifest = _first_manifest(config)
    recorded = manifest.content["vocabulary"].get("path") if manifest is not None else None
    if recorded is None or not tf.io.gfile.exists(recorded):
        return None
    vocab = model_folder.read_vocab(recorded)
    return vocab if vocab.sha256 == manifest.content["vocabulary"]["sha256"] else None


def _first_manifest(config: PretrainConfig) -> Manifest | None:
    return read_manifest(_record_paths(config.input_file, "input_file")[0])


def _model_config(config: PretrainConfig, vocab: Vocabulary | None) -> BertConfig:
    if config.bert_config_file is not None:
        model_config = model_folder.read_config(config.bert_config_file)
    elif config.model_size is not None:
        if vocab is None:
            raise InputError("--model_size needs --vocab_file, for the size of the token table")
        model_config = BertConfig.of_size(config.model_size, len(vocab))
    else:
        start = config.continue_from or config.init_checkpoint
        if start is None:
            raise InputError("no model: give --bert_config_file, or --model_size with --vocab_file")
        model_config = model_folder.read_config(model_folder.find_config(start))
    model_folder.check_fits(model_config, vocab, config.max_seq_length)
    return model_config if vocab is None else dataclasses.replace(model_config, do_lower_case=_casing(config, model_config, vocab))


def _casing(config: PretrainConfig, model_config: BertConfig, vocab: Vocabulary) -> bool:
    """Returns how the data was cased: pre-training itself sees ids only, but the model's folder and export must know."""
    recorded, source = model_config.do_lower_case, "the model's folder"
    manifest = _first_manifest(config)
    if recorded is None and manifest is not None:
        recorded, source = manifest.content["vocabulary"].get("do_lower_case"), manifest.path
    return resolve_do_lower_case(config.do_lower_case, vocab, recorded, source)


def _record_paths(patterns: str, flag_name: str) -> list[str]:
    paths = [path for path in expand_patterns(patterns, flag_name) if not is_manifest(path)]
    if not paths:
        raise InputError(f"--{flag_name}: {patterns!r} matches manifests only; name the record files")
    return paths


def _open_files(
    patterns: str, flag_name: str, config: PretrainConfig, model_config: BertConfig, vocab: Vocabulary | None
) -> list[RecordFile]:
    """Returns the record files, each checked against the flags by its manifest and by its first record."""
    files = []
    for path in _record_paths(patterns, flag_name):
        manifest = read_manifest(path)
        if manifest is not None:
            manifest.check_against(
                max_seq_length=config.max_seq_length,
                max_predictions_per_seq=config.max_predictions_per_seq,
                use_nsp=config.use_nsp,
                model_vocab_size=model_config.vocab_size,
                vocab_sha256=vocab.sha256 if vocab is not None else None,
            )
        file = RecordFile(path)
        check_first_record(file, PRETRAINING, _axes(config), _FLAG_OF_AXIS)
        files.append(file)
    return files


def _eval_files(
    config: PretrainConfig, train_files: list[RecordFile], model_config: BertConfig, vocab: Vocabulary | None
) -> list[RecordFile]:
    if not config.do_eval:
        return []
    if config.eval_input_file is not None:
        return _open_files(config.eval_input_file, "eval_input_file", config, model_config, vocab)
    logging.warning("--do_eval without --eval_input_file evaluates the training data, as google-research/bert does: its figures flatter")
    return train_files


def _model_files(model_config: BertConfig, vocab: Vocabulary | None) -> dict[str, str]:
    """Returns by name the files without which the weights mean nothing."""
    files = {"bert_config.json": model_config.to_json()}
    return files if vocab is None else files | {"vocab.txt": vocab.to_text()}
