"""Pre-training: TFRecords of examples -> checkpoints, eval_results.txt and the encoder as a SavedModel."""

import dataclasses
import math
import os
from typing import Any

import tensorflow as tf
from absl import logging

from bert_tf.config import BertConfig, PretrainConfig
from bert_tf.data.manifest import Manifest, read_manifest
from bert_tf.errors import InputError
from bert_tf.modeling import losses
from bert_tf.modeling.models import PretrainingModel
from bert_tf.text.casing import resolve_do_lower_case
from bert_tf.text.vocab import Vocabulary
from bert_tf.training.selection import Scoring
from bert_tf.workflows import model_folder, run_directory
from bert_tf.workflows.export_encoder import export_encoder
from bert_tf.workflows.pretraining_examples import ExampleSet, open_set, record_paths
from bert_tf.workflows.training_run import open_run


def run(config: PretrainConfig) -> dict[str, Any]:
    """Returns what was reached: `global_step`, the evaluation's figures, and `export`, the SavedModel's path, where asked for.

    Raises:
      InputError: What the user can mend; what can be known before the training begins, before anything is written.
    """
    if not (config.do_train or config.do_eval or config.do_export):
        raise InputError("nothing to do: give at least one of --do_train, --do_eval and --do_export")
    vocab = _vocabulary(config)
    model_config = _model_config(config, vocab)
    train_set = open_set("input_file", config, model_config, vocab)
    eval_set = _eval_set(config, train_set, model_config, vocab)

    data = {run_directory.TRAINING_DATA: train_set.fingerprint} | ({"vocabulary": vocab.sha256} if vocab is not None else {})
    if config.do_train and train_set.masking is not None:
        data["masking"] = train_set.masking
    files = _model_files(model_config, vocab)
    results: dict[str, Any] = {}
    with open_run(
        config,
        model_config,
        lambda policy, fuse: PretrainingModel(model_config, config.use_nsp, config.recompute, fuse, dtype=policy),
        losses.PRETRAINING if config.objective == "masked_lm" else losses.NEXT_TOKEN,
        num_train_steps=config.num_train_steps,
        num_warmup_steps=config.num_warmup_steps,
        last_step=config.stop_at_step or config.num_train_steps,
        files=files,
        data=data,
        need_heads=config.do_eval and not config.do_train,
        continue_from=config.continue_from,
    ) as training:

        def eval_scores():
            return training.evaluate(eval_set.eval_batches(config.eval_batch_size), config.max_eval_steps)

        if config.do_train:
            if training.step == 0 and config.init_checkpoint is None:
                chance = math.log(model_config.vocab_size) + (math.log(2) if config.use_nsp else 0)
                logging.info("a model that knows nothing has a loss near %.2f; far from it, something is wrong with the data", chance)
            if config.pack_sequences and training.static_shapes:
                raise InputError("pack_sequences is true, but a TPU takes batches of one shape; leave it out")
            training.train(
                lambda: train_set.train_batches(config, training.num_micro_batches),
                Scoring(
                    *(eval_scores, "loss", f"{eval_set.identity}, up to {config.max_eval_steps * config.eval_batch_size} examples"),
                    lower_is_better=True,
                ),
            )
        if config.do_eval:
            results |= eval_scores() | {"global_step": training.step}
            run_directory.write_eval_results(training.folder, results)
        if config.do_export and training.is_chief:
            results["export"] = export_encoder(training.plain_model().encoder, model_config, vocab, files, config)
        return results | {"global_step": training.step}


def _vocabulary(config: PretrainConfig) -> Vocabulary | None:
    """Returns the vocabulary of the flag, of the model started from, or of the data, where one can be found."""
    start = run_directory.start_of(config)
    if config.vocab_file is not None:
        vocab = model_folder.read_vocab(config.vocab_file)
        if start is not None:
            model_folder.check_vocab_of(start, vocab)
        return vocab
    path = model_folder.find_vocab(start) if start is not None else None
    if path is not None:
        return model_folder.read_vocab(path)
    manifest = _first_manifest(config)
    recorded = manifest.content["vocabulary"].get("path") if manifest is not None else None
    if recorded is None:
        return None
    for path in (recorded, os.path.join(os.path.dirname(manifest.path), os.path.basename(recorded))):
        vocab = model_folder.read_vocab(path) if tf.io.gfile.exists(path) else None
        if vocab is not None and vocab.sha256 == manifest.content["vocabulary"]["sha256"]:
            logging.info("the vocabulary of the data: %s, by %s", path, manifest.path)
            return vocab
    return None


def _first_manifest(config: PretrainConfig) -> Manifest | None:
    return read_manifest(record_paths(config.input_file, "input_file")[0])


def _model_config(config: PretrainConfig, vocab: Vocabulary | None) -> BertConfig:
    start = run_directory.start_of(config)
    if config.bert_config_file is not None:
        source = config.bert_config_file
        model_config = model_folder.read_config(source)
    elif config.model_size is not None:
        if vocab is None:
            raise InputError("--model_size needs --vocab_file, for the size of the token table")
        source, model_config = None, BertConfig.of_size(config.model_size, len(vocab))
    else:
        if start is None:
            raise InputError("no model: give --bert_config_file, or --model_size with --vocab_file")
        source = model_folder.find_config(start)
        model_config = model_folder.read_config(source)
    model_folder.check_fits(model_config, vocab, config.max_seq_length)
    model_config = _with_direction(model_config, source, start, config.objective)
    return model_config if vocab is None else dataclasses.replace(model_config, do_lower_case=_casing(config, model_config, vocab))


def _with_direction(model_config: BertConfig, source: str | None, start: str | None, objective: str) -> BertConfig:
    """Returns the config with the attention of the objective; weights to start from must have been trained with it.

    Raises:
      InputError: They were not; or the config, of the file `source`, says otherwise.
    """
    left_to_right = objective == "next_token"
    if model_config.left_to_right and not left_to_right:
        raise InputError(f"{source}: left_to_right is true, but objective is {objective}; give --objective=next_token, or another model")
    model_config = dataclasses.replace(model_config, left_to_right=left_to_right)
    if start is not None:
        other = "masked_lm" if left_to_right else "next_token"
        model_folder.check_direction(start, model_config, f"give --objective={other} with its data, or another checkpoint")
    return model_config


def _casing(config: PretrainConfig, model_config: BertConfig, vocab: Vocabulary) -> bool:
    """Returns how the data was cased: pre-training itself sees ids only, but the model's folder and export must know."""
    recorded, source = model_config.do_lower_case, "the model's folder"
    manifest = _first_manifest(config)
    if recorded is None and manifest is not None:
        recorded, source = manifest.content["vocabulary"].get("do_lower_case"), manifest.path
    return resolve_do_lower_case(config.do_lower_case, vocab, recorded, source)


def _eval_set(config: PretrainConfig, train_set: ExampleSet, model_config: BertConfig, vocab: Vocabulary | None) -> ExampleSet:
    """Returns what is evaluated on, where anything is; else the training set."""
    if not config.do_eval and not (config.do_train and config.eval_steps):
        return train_set
    if config.eval_input_file is not None:
        return open_set("eval_input_file", config, model_config, vocab)
    logging.warning("evaluation without --eval_input_file evaluates the training data, as google-research/bert does: its figures flatter")
    return train_set


def _model_files(model_config: BertConfig, vocab: Vocabulary | None) -> dict[str, str]:
    """Returns by name the files without which the weights mean nothing."""
    files = {"bert_config.json": model_config.to_json()}
    return files if vocab is None else files | {"vocab.txt": vocab.to_text()}
