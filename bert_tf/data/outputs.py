"""Output paths, checked before the work begins rather than when it is done."""

import os
from collections.abc import Sequence

import tensorflow as tf

from bert_tf.errors import InputError


def output_files(names: str, flag_name: str, inputs: Sequence[str] = ()) -> list[str]:
    """Returns the files that a comma-separated flag names for writing.

    Raises:
      InputError: No name, one twice, a directory, one of the `inputs`, or a place where nothing can be written.
    """
    paths = [name.strip() for name in names.split(",") if name.strip()]
    if not paths:
        raise InputError(f"--{flag_name}: names no file")
    read = {os.path.realpath(path) for path in inputs}
    for number, path in enumerate(paths):
        if path in paths[:number]:
            raise InputError(f"--{flag_name}: names {path} twice; give each file once")
        if tf.io.gfile.isdir(path):
            raise InputError(f"--{flag_name}: {path} is a directory; name a file in it")
        if "://" not in path and os.path.exists(path) and not os.path.isfile(path):
            raise InputError(f"--{flag_name}: {path} is not a regular file; name another place")
        if os.path.realpath(path) in read:
            raise InputError(f"--{flag_name}: {path} is an input file as well; name another file")
        _check_writable(path, flag_name)
    return paths


def _check_writable(path: str, flag_name: str) -> None:
    """Checks the nearest folder above that exists; of remote places, only writing shows whether it is allowed."""
    if "://" in path:
        return
    folder = os.path.dirname(os.path.abspath(path))
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise InputError(f"--{flag_name}: {path} cannot be written, {folder} is not a directory; name another place")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"--{flag_name}: {path} cannot be written, no permission to write in {folder}; name another place")
