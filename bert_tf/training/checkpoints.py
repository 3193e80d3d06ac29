"""Checkpoints in the original's own form: model.ckpt-N with TF1 variable names, Adam slots and global_step.

Every TF1 tool reads them, google-research/bert included, and its checkpoints are read here. A checkpoint is written beside its
place and renamed, the index last, so a killed run leaves whole checkpoints only.
"""

import contextlib
import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from absl import logging

from bert_tf.data.files import atomic_write, partial_name
from bert_tf.errors import DamagedCheckpoint, InputError, one_line

GLOBAL_STEP = "global_step"  # its name in convert/names.py as well, a sibling room
_DATA, _INDEX = ".data-00000-of-00001", ".index"
_WHOLE = re.compile(r"model\.ckpt-(\d+)\.index")
_PARTIAL = re.compile(r"model\.ckpt-\d+\.partial-[^.]+\..*")


class Checkpoints:
    """The checkpoints of one run directory.

    Attributes:
      folder: The directory.
      protected: The step of one that is kept however old it is, or None.
    """

    def __init__(self, folder: str, variables: Mapping[str, tf.Variable], keep: int):
        """Takes the folder, every variable to save by the name it is saved under (global_step among them), and how many to keep.

        With 0 to keep none is written: another process does.
        """
        self.folder = folder
        self.protected: int | None = None
        self._variables = dict(variables)
        self._keep = keep

    def prefix(self, step: int) -> str:
        """Returns the prefix of the checkpoint of this step, whether there is one or not."""
        return os.path.join(self.folder, f"model.ckpt-{step}")

    def save(self, step: int) -> str:
        """Writes model.ckpt-<step>, drops the oldest ones beyond the number to keep, and returns the new one's prefix."""
        prefix = self.prefix(step)
        if not self._keep:
            return prefix
        beside = partial_name(prefix)
        names = sorted(self._variables)
        try:
            tf.raw_ops.SaveV2(
                prefix=beside,
                tensor_names=names,
                shape_and_slices=[""] * len(names),
                tensors=[self._variables[n].read_value() for n in names],
            )
            _remove(prefix + _INDEX)  # a step saved again: an old index must not stand over new data
            for ending in (_DATA, _INDEX):
                tf.io.gfile.rename(beside + ending, prefix + ending, overwrite=True)
        except tf.errors.OpError as error:
            for ending in (_DATA, _INDEX):
                with contextlib.suppress(tf.errors.OpError):
                    tf.io.gfile.remove(beside + ending)
            raise InputError(
                f"{prefix}: cannot be written ({one_line(error)}); check the permissions of output_dir and the disk"
            ) from error
        self._tidy()
        return prefix

    def restore(self, prefix: str, mend: str = "give another") -> int:
        """Reads every variable from the checkpoint and returns its step.

        Args:
          prefix: The checkpoint.
          mend: What to do where it is damaged, for the error message.

        Raises:
          InputError: A variable that the checkpoint lacks, or has in another shape.
          DamagedCheckpoint: It cannot be read, a checksum does not match, or a number is not finite.
        """
        try:
            reader = open_checkpoint(prefix)
        except InputError as error:
            raise DamagedCheckpoint(f"{prefix}: is damaged, or no checkpoint; {mend}") from error
        shapes = reader.get_variable_to_shape_map()
        for name, variable in self._variables.items():
            if name not in shapes:
                raise InputError(
                    f"{prefix}: has no {name}, so it is no state of a training; give it as --init_checkpoint, with another --output_dir"
                )
            if list(variable.shape) != shapes[name]:
                raise InputError(
                    f"{prefix}: {name} has shape {shapes[name]}, the model's is {list(variable.shape)}; use the config it was made with"
                )
        for name, variable in self._variables.items():
            try:
                value = reader.get_tensor(name)
            except Exception as error:  # the reader tells damage in many types: OpError, IndexError, ...
                raise DamagedCheckpoint(f"{prefix}: is damaged ({one_line(error)}); {mend}") from error
            if value.dtype.kind not in "fiV" or (name == GLOBAL_STEP and (value < 0 or value != int(value))):  # V: bfloat16
                raise DamagedCheckpoint(f"{prefix}: {name} holds {value.dtype} numbers that it cannot hold; {mend}")
            if not np.isfinite(np.asarray(value, np.float64)).all():
                raise DamagedCheckpoint(f"{prefix}: {name} holds numbers that are not finite; {mend}")
            variable.assign(tf.cast(value, variable.dtype))
        return int(self._variables[GLOBAL_STEP].numpy())

    def restore_newest(self) -> tuple[str, int]:
        """Reads the newest sound checkpoint of the folder and returns its prefix and step; damaged newer ones are told in a warning.

        Raises:
          InputError: What `restore` refuses, or none is sound.
        """
        steps = checkpoint_steps(self.folder)
        for step in reversed(steps):
            prefix = self.prefix(step)
            try:
                held = self.restore(prefix, "taking the one before")
            except DamagedCheckpoint as error:
                logging.warning("%s", error)
                continue
            if held != step:
                raise InputError(f"{prefix}: holds step {held}, not the step of its name; remove its files, or name them model.ckpt-{held}")
            return prefix, held
        raise InputError(f"{self.folder}: none of its {len(steps)} checkpoints is sound; put back copies, or give another --output_dir")

    def _tidy(self) -> None:
        for name in filter(_PARTIAL.fullmatch, tf.io.gfile.listdir(self.folder)):  # left behind by a killed run
            _remove(os.path.join(self.folder, name))
        steps = checkpoint_steps(self.folder)
        kept = sorted({*steps[-self._keep :], self.protected} & set(steps))
        for step in set(steps) - set(kept):
            # the index first: what is left of a half-removed checkpoint is then no checkpoint
            for ending in (_INDEX, _DATA):
                _remove(os.path.join(self.folder, f"model.ckpt-{step}{ending}"))
        # the file by which TensorFlow's own tools find the newest checkpoint
        lines = [f'model_checkpoint_path: "model.ckpt-{kept[-1]}"', *(f'all_model_checkpoint_paths: "model.ckpt-{step}"' for step in kept)]
        with atomic_write(os.path.join(self.folder, "checkpoint")) as file:
            file.write("\n".join(lines) + "\n")


def open_checkpoint(prefix: str) -> Any:
    """Returns a reader of the checkpoint, or raises an InputError that names it."""
    try:
        return tf.train.load_checkpoint(prefix)
    except Exception as error:  # OpError, ValueError, RuntimeError: whatever the reader makes of it
        raise InputError(
            f"{prefix}: is no readable checkpoint; give the prefix, without .index or .data, of a TensorFlow checkpoint"
        ) from error


def checkpoint_steps(folder: str) -> list[int]:
    """Returns the steps of the folder's whole checkpoints, ascending."""
    if not tf.io.gfile.isdir(folder):
        return []
    names = set(tf.io.gfile.listdir(folder))
    steps = (int(match[1]) for match in map(_WHOLE.fullmatch, names) if match)
    return sorted(step for step in steps if f"model.ckpt-{step}{_DATA}" in names)


def latest_checkpoint(folder: str) -> str | None:
    """Returns the prefix of the folder's newest whole checkpoint, or None.

    Raises:
      InputError: The folder's `checkpoint` file names one that has lost a file, and there is no older one to go on from.
    """
    steps = checkpoint_steps(folder)
    state = os.path.join(folder, "checkpoint")
    if tf.io.gfile.exists(state) and not tf.io.gfile.isdir(state):
        with tf.io.gfile.GFile(state, "rb") as file:
            named = re.search(rb'^model_checkpoint_path: "(?:.*/)?model\.ckpt-(\d+)"', file.read(), re.MULTILINE)
        if named is not None and int(named[1]) not in steps:
            lost = f"{state}: names model.ckpt-{int(named[1])}, whose .index or .data file is missing"
            if not steps:
                raise InputError(f"{lost}; put it back, or remove {state} to start again")
            logging.warning("%s; the newest whole one is model.ckpt-%d", lost, steps[-1])
    return os.path.join(folder, f"model.ckpt-{steps[-1]}") if steps else None


def _remove(path: str) -> None:
    with contextlib.suppress(tf.errors.NotFoundError):
        tf.io.gfile.remove(path)
