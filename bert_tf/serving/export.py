"""Writing a SavedModel for TensorFlow Serving, and proving at once that what was written answers as the model does."""

import os
from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow as tf

from bert_tf.errors import InputError, one_line
from bert_tf.serving.signatures import ServingModule

# How far the reloaded model's answers may be from the model's own.
_TOLERANCE = 1e-5


class ExportError(RuntimeError):
    """The reloaded SavedModel does not answer as the model does: a fault of this project, never of the user."""


def export(module: ServingModule, folder: str, assets: Mapping[str, str], probes: Sequence[Mapping[str, Sequence]]) -> str:
    """Writes the module to `<folder>/<version>` and returns that path; the version is one more than the highest there.

    The SavedModel is written beside, reloaded, asked the probes, and gets its final name only when all answers agree.

    Args:
      module: What to write.
      folder: The model's directory, as TensorFlow Serving watches it.
      assets: Text of each file to put into the SavedModel's assets folder, by file name.
      probes: For each probe the signature's inputs by name ("signature" names the signature).

    Raises:
      InputError: The folder cannot be written.
      ExportError: An answer differs.
    """
    try:
        tf.io.gfile.makedirs(folder)
        versions = _versions(folder)
    except tf.errors.OpError as error:
        raise _unwritable(folder, error) from error
    version = max(versions, default=0) + 1
    beside, final = os.path.join(folder, f"partial-{version}"), os.path.join(folder, str(version))
    _remove(beside)  # what a killed export left
    signatures = module.signatures()
    try:
        _write(module, beside, signatures, assets)
        _compare(beside, signatures, probes)
        tf.io.gfile.rename(beside, final)
    finally:
        _remove(beside)
    return final


def has_export(folder: str) -> bool:
    """Returns whether a model's directory holds a whole export; what a killed one left does not count."""
    return tf.io.gfile.isdir(folder) and bool(_versions(folder))


def _versions(folder: str) -> list[int]:
    return [int(name.rstrip("/")) for name in tf.io.gfile.listdir(folder) if name.rstrip("/").isdigit()]


def _write(module: ServingModule, path: str, signatures: Mapping, assets: Mapping[str, str]) -> None:
    try:
        tf.saved_model.save(module, path, signatures=signatures)
        for name, text in assets.items():
            asset = os.path.join(path, "assets", name)
            tf.io.gfile.makedirs(os.path.dirname(asset))
            with tf.io.gfile.GFile(asset, "w") as file:
                file.write(text)
    except tf.errors.OpError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: str, error: tf.errors.OpError) -> InputError:
    return InputError(f"{path}: cannot be written ({one_line(error)}); check the path and its permissions")


def _remove(folder: str) -> None:
    if tf.io.gfile.exists(folder):
        tf.io.gfile.rmtree(folder)


def _compare(path: str, signatures: Mapping, probes: Sequence[Mapping[str, Sequence]]) -> None:
    loaded = tf.saved_model.load(path)
    for probe in probes:
        name = probe["signature"]
        inputs = {key: tf.constant(value) for key, value in probe.items() if key != "signature"}
        expected, found = signatures[name](**inputs), loaded.signatures[name](**inputs)
        for output, value in expected.items():
            other = found[output]
            same = np.array_equal(value, other) if value.dtype == tf.string else np.allclose(value, other, atol=_TOLERANCE, rtol=0)
            if not same:
                raise ExportError(f"{path}: signature {name}, output {output}: the reloaded model's answer differs from the model's")
