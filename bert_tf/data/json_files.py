"""Whole files, and JSON. A local file is read without TensorFlow, so that scoring a predictions file starts at once."""

import contextlib
import json
import os
from collections.abc import Iterator
from typing import IO, Any

from bert_tf.errors import InputError, one_line


def read_json(path: str, mend: str) -> Any:
    """Returns what a JSON file holds.

    Args:
      path: The file, on disk or wherever tf.io.gfile reaches; UTF-8.
      mend: What to do where it is damaged, for the error message.

    Raises:
      InputError: The file cannot be read, is not UTF-8 or not JSON.
    """
    content = read_bytes(path)
    try:
        return json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 (byte 0x{content[error.start]:02x} at {error.start:,}); {mend}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not valid JSON ({one_line(error)}); {mend}") from error


def read_bytes(path: str) -> bytes:
    """Returns a file's bytes, or raises an InputError that names it."""
    try:
        with _opened(path) as file:
            content: bytes = file.read()
            return content
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions") from error


@contextlib.contextmanager
def _opened(path: str) -> Iterator[IO[bytes]]:
    if "://" not in path:
        with open(os.path.expanduser(path), "rb") as file:
            yield file
        return
    import tensorflow as tf

    try:
        with tf.io.gfile.GFile(path, "rb") as file:
            yield file
    except tf.errors.OpError as error:
        raise InputError(f"{path}: cannot be read ({one_line(error)}); check the path and its permissions") from error
