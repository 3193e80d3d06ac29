"""Finds the checkpoint that a path means: our run directory, a TF1 prefix or its directory, a Hugging Face directory or file."""

import os
import re
from dataclasses import dataclass

import tensorflow as tf

from bert_tf.errors import InputError

SAFETENSORS_NAME = "model.safetensors"
SAFETENSORS = ".safetensors"

_OWN_PREFIX = re.compile(r"model\.ckpt-(\d+)")
_PARTS = re.compile(r"(.+)\.(index|meta|data-\d{5}-of-\d{5})")


@dataclass(frozen=True)
class CheckpointFiles:
    """Where a model's weights are.

    Attributes:
      weights: The prefix of a TF1 checkpoint, or a safetensors file.
      folder: The directory that it lies in, where its config and vocabulary are looked for.
    """

    weights: str
    folder: str

    @property
    def is_huggingface(self) -> bool:
        """Whether the weights are in Hugging Face's form."""
        return self.weights.endswith(SAFETENSORS)


def find_checkpoint(path: str | os.PathLike[str]) -> CheckpointFiles:
    """Returns the checkpoint that the path means.

    In a directory with several TF1 checkpoints it is the one of the highest step, model.ckpt-N, else the one that the directory's
    `checkpoint` file names.

    Raises:
      InputError: There is none, or it is not clear which.
    """
    path = os.path.expanduser(os.fspath(path))
    if tf.io.gfile.isdir(path):
        folder = path.rstrip("/") or path
        return CheckpointFiles(_in_folder(folder), folder)
    folder = os.path.dirname(path)
    if tf.io.gfile.exists(f"{path}.index") or (path.endswith(SAFETENSORS) and tf.io.gfile.exists(path)):
        return CheckpointFiles(path, folder)
    part = _PARTS.fullmatch(path)
    if part and tf.io.gfile.exists(f"{part[1]}.index"):
        raise InputError(f"{path}: is one file of a checkpoint; give its prefix, {part[1]}")
    if tf.io.gfile.exists(path):
        raise InputError(f"{path}: is no checkpoint; give a run directory, a TF1 checkpoint prefix, or a directory with {SAFETENSORS_NAME}")
    raise InputError(
        f"{path}: no such directory or checkpoint; give a run directory, a TF1 checkpoint prefix (the path without .index), or a "
        f"directory with {SAFETENSORS_NAME}"
    )


def _in_folder(folder: str) -> str:
    names = sorted(tf.io.gfile.listdir(folder))
    # a killed run may leave a checkpoint that was still being written, NAME.partial-PROCESS
    prefixes = [name.removesuffix(".index") for name in names if name.endswith(".index") and ".partial-" not in name]
    if SAFETENSORS_NAME in names:
        if prefixes:
            raise InputError(f"{folder}: holds both {SAFETENSORS_NAME} and {prefixes[0]}.index; give the path of the one to read")
        return os.path.join(folder, SAFETENSORS_NAME)
    if not prefixes:
        raise InputError(f"{folder}: holds no checkpoint; {_mend(names)}")
    steps = [int(match[1]) for match in map(_OWN_PREFIX.fullmatch, prefixes) if match]
    if steps:
        return os.path.join(folder, f"model.ckpt-{max(steps)}")
    if len(prefixes) == 1:
        return os.path.join(folder, prefixes[0])
    state = tf.train.get_checkpoint_state(folder) if "checkpoint" in names else None
    # the directory may have been moved since: the checkpoint lies beside the file that names it, wherever that is
    named = os.path.basename(state.model_checkpoint_path) if state else None
    if named in prefixes:
        return os.path.join(folder, named)
    raise InputError(f"{folder}: holds several checkpoints ({', '.join(prefixes)}); give the path of the one to read, without .index")


def _mend(names: list[str]) -> str:
    if "pytorch_model.bin" in names:
        return f"pytorch_model.bin is not read: save the model as {SAFETENSORS_NAME} (save_pretrained of transformers does)"
    if f"{SAFETENSORS_NAME}.index.json" in names:
        return f"weights in several files are not read: save the model as one {SAFETENSORS_NAME} (save_pretrained, larger max_shard_size)"
    return f"give a run directory, a directory with a TF1 checkpoint, or one with {SAFETENSORS_NAME}"
