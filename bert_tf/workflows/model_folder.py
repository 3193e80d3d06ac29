"""What lies in a model's folder beside its weights: vocab.txt, the config, and how its text was cased."""

import dataclasses
import json
import os
from typing import Any

import tensorflow as tf
from absl import logging

from bert_tf.config import BertConfig
from bert_tf.convert import huggingface
from bert_tf.convert.files import find_checkpoint
from bert_tf.data.json_files import read_json
from bert_tf.data.text_files import read_lines
from bert_tf.errors import InputError
from bert_tf.text.casing import resolve_do_lower_case
from bert_tf.text.vocab import Vocabulary

VOCAB_NAME = "vocab.txt"
CONFIG_NAME = "bert_config.json"

# Where a model's folder records whether its text was lower-cased: ours, and Hugging Face's.
_CASING_FILES = (CONFIG_NAME, "tokenizer_config.json")


def read_vocab(path: str | os.PathLike[str]) -> Vocabulary:
    """Returns the vocabulary of a vocab.txt.

    Raises:
      InputError: The file cannot be read, is not UTF-8, or is no vocabulary.
    """
    path = os.fspath(path)
    return Vocabulary.from_text("\n".join(read_lines(path)), path)


def recorded_casing(path: str | os.PathLike[str]) -> tuple[bool | None, str]:
    """Returns whether the model's text was lower-cased, as its folder records it, and the file that says so.

    Without a record the two are None and the folder.

    Args:
      path: The model's folder, or a file in it, such as its vocab.txt.
    """
    path = os.fspath(path)
    folder = path if tf.io.gfile.isdir(path) else os.path.dirname(path)
    for name in _CASING_FILES:
        file = os.path.join(folder, name)
        value = _read_json(file).get("do_lower_case") if tf.io.gfile.exists(file) else None
        if isinstance(value, bool):
            return value, file
        if value is not None:
            raise InputError(f"{file}: do_lower_case is {value!r}; give true or false")
    return None, folder


def checkpoint_prefix(path: str | os.PathLike[str]) -> str:
    """Returns the prefix of the TF1 checkpoint that the path means: a run directory, or a prefix.

    Raises:
      InputError: There is none; or it is a Hugging Face model, which holds no state of a training run.
    """
    files = find_checkpoint(path)
    if files.is_huggingface:
        raise InputError(f"{files.weights}: holds weights only, no state of a training run; give it as --init_checkpoint")
    return files.weights


def find_vocab(path: str | os.PathLike[str]) -> str | None:
    """Returns the vocabulary file of the model that the path means, or None where its folder has none.

    Args:
      path: What `find_checkpoint` takes, a folder with nothing but vocab.txt, or a vocabulary file itself.

    Raises:
      InputError: The path means nothing.
    """
    path = os.path.expanduser(os.fspath(path))
    if tf.io.gfile.isdir(path):
        folder = path
    elif tf.io.gfile.exists(path) and path.endswith(".txt"):
        return path
    else:
        folder = find_checkpoint(path).folder
    file = os.path.join(folder, VOCAB_NAME)
    return file if tf.io.gfile.exists(file) else None


def check_vocab_of(start: str | os.PathLike[str], vocab: Vocabulary) -> None:
    """Warns where the model that the path means has another vocabulary beside it than `vocab`: its ids would mean other pieces."""
    file = find_vocab(start)
    if file is None:
        return
    own = read_vocab(file)
    if own.sha256 == vocab.sha256:
        return
    pairs = enumerate(zip(own.pieces, vocab.pieces), 1)
    differing = next((f"they differ from line {line} on ({a!r} there, {b!r} here)" for line, (a, b) in pairs if a != b), None)
    logging.warning(
        "%s is not the vocabulary beside the checkpoint, %s: %s; is it meant?",
        *(vocab.source, file, differing or f"they have {len(own):,} pieces there, {len(vocab):,} here"),
    )


def check_direction(start: str | os.PathLike[str], config: BertConfig, mend: str) -> None:
    """Checks that weights are used with the attention that they were trained with: to both sides, or from left to right.

    Args:
      start: What `find_checkpoint` takes; where no bert_config.json lies beside the weights, nothing is known of them.
      config: The shape of the model that is to have these weights.
      mend: What to do about it.

    Raises:
      InputError: They were trained with the other.
    """
    files = find_checkpoint(start)
    file = os.path.join(files.folder, CONFIG_NAME)
    if not tf.io.gfile.exists(file):
        return
    trained = read_config(file).left_to_right
    if trained != config.left_to_right:
        told = {True: "from left to right", False: "to both sides"}
        raise InputError(f"{files.weights}: trained with attention {told[trained]} ({file}), this run's is {told[not trained]}; {mend}")


def find_config(path: str | os.PathLike[str]) -> str:
    """Returns the config file of the model that the path means: bert_config.json, or Hugging Face's config.json.

    Raises:
      InputError: The path means no model, or its folder has no config.
    """
    files = find_checkpoint(path)
    name = huggingface.CONFIG_NAME if files.is_huggingface else CONFIG_NAME
    file = os.path.join(files.folder, name)
    if not tf.io.gfile.exists(file):
        raise InputError(f"{files.weights}: no {name} beside it; put the model's {name} there")
    return file


def read_config(file: str | os.PathLike[str]) -> BertConfig:
    """Returns the model's shape, from a bert_config.json or from Hugging Face's config.json.

    The two must be told apart, because their "gelu" is not the same function. How the model's text was cased is filled in where the
    folder records it.

    Raises:
      InputError: The file cannot be read, or describes no model that can be built.
    """
    file = os.fspath(file)
    values = _read_json(file)
    read = huggingface.config_from_json if huggingface.is_config(file, values) else BertConfig.from_json
    config = read(json.dumps(values), file)
    if config.do_lower_case is None:
        config = dataclasses.replace(config, do_lower_case=recorded_casing(file)[0])
    return config


def check_fits(config: BertConfig, vocab: Vocabulary | None, max_seq_length: int | None = None) -> None:
    """Checks that the model's tables hold every piece and every position.

    A vocabulary shorter than the table is only warned of: some models' tables are padded.

    Raises:
      InputError: A table is too short; both numbers are told.
    """
    if max_seq_length is not None and max_seq_length > config.max_position_embeddings:
        raise InputError(
            f"max_seq_length is {max_seq_length}, but the model has {config.max_position_embeddings} positions (max_position_embeddings); "
            f"give at most {config.max_position_embeddings}"
        )
    if vocab is None or len(vocab) == config.vocab_size:
        return
    difference = f"{vocab.source} has {len(vocab)} entries, the model's config says vocab_size {config.vocab_size}"
    if len(vocab) > config.vocab_size:
        raise InputError(f"{difference}; give the vocabulary and the config of the same model")
    logging.warning("%s: the last rows of the token table go unused", difference)


def vocabulary_and_config(
    start: str | None, vocab_file: str | None, bert_config_file: str | None, do_lower_case: bool | None, max_seq_length: int | None = None
) -> tuple[Vocabulary, BertConfig]:
    """Returns a model's vocabulary and shape, with its casing: from the files given, else from the folder of its checkpoint.

    Args:
      start: The checkpoint, or None.
      vocab_file: The vocabulary, where it is given.
      bert_config_file: The config, where it is given.
      do_lower_case: The casing, where it is given.
      max_seq_length: Positions that the model must have.

    Raises:
      InputError: A file is missing, or two do not fit together.
    """
    vocab_file_given, vocab_file = vocab_file, vocab_file or (find_vocab(start) if start else None)
    if vocab_file is None:
        raise InputError("no vocabulary: give --vocab_file, or an --init_checkpoint with vocab.txt in its folder")
    vocab = read_vocab(vocab_file)
    if vocab_file_given is not None and start is not None:
        check_vocab_of(start, vocab)
    config_file = bert_config_file or (find_config(start) if start else None)
    if config_file is None:
        raise InputError("no model: give --bert_config_file, or an --init_checkpoint with bert_config.json in its folder")
    config = read_config(config_file)
    check_fits(config, vocab, max_seq_length)
    if start is not None:
        check_direction(start, config, "leave out --bert_config_file")
    recorded, source = recorded_casing(vocab_file)
    if recorded is None:
        recorded, source = config.do_lower_case, config_file
    return vocab, dataclasses.replace(config, do_lower_case=resolve_do_lower_case(do_lower_case, vocab, recorded, source))


def _read_json(file: str) -> dict[str, Any]:
    values = read_json(file, "give the model's own file")
    if not isinstance(values, dict):
        raise InputError(f"{file}: holds no JSON object; give the model's own file")
    return values
