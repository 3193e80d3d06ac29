"""Files of parts and of what is joined from them, in a folder that all machines reach.

A runner may do a piece of work twice, at the same time even, and keeps what one of them returns. So each writes a file of a name of its
own, and what counts is the name that is returned.
"""

import uuid
from collections.abc import Iterable

import tensorflow as tf

from bert_tf.data.files import plain_reason
from bert_tf.errors import InputError

_COPY_BYTES = 1 << 24


def write_part(folder: str, number: int, contents: Iterable[bytes | bytearray]) -> str:
    """Writes one stretch of bytes after the other, and returns the file's path."""
    path = f"{folder}/part-{number}-{uuid.uuid4().hex}"
    try:
        with tf.io.gfile.GFile(path, "wb") as file:
            for content in contents:
                file.write(bytes(content))
    except tf.errors.OpError as error:
        raise _not_written(path, error) from error
    return path


def join(sources: Iterable[tuple[str, int, int]], folder: str, number: int) -> str:
    """Writes stretches of files (path, begin, size) one after the other, and returns the new file's path."""
    path = f"{folder}/output-{number}-{uuid.uuid4().hex}"
    try:
        with tf.io.gfile.GFile(path, "wb") as file:
            file.write(b"")  # the file is made by the first write, and may be meant to stay empty
            for source, begin, size in sources:
                with tf.io.gfile.GFile(source, "rb") as part:
                    part.seek(begin)
                    while size:
                        content = part.read(min(size, _COPY_BYTES))
                        if not content:
                            raise EOFError(f"{source}: {size} bytes are missing")
                        file.write(content)
                        size -= len(content)
    except tf.errors.OpError as error:
        raise _not_written(path, error) from error
    return path


def _not_written(path: str, error: Exception) -> InputError:
    return InputError(f"{path}: cannot be written ({plain_reason(error)}); every worker must reach this folder, and may need more disk")
