"""Files of any kind: found by patterns, checked before the work begins, and written whole or not at all."""

import contextlib
import os
import re
import socket
from collections.abc import Iterator, Sequence

import tensorflow as tf

from bert_tf.errors import InputError, one_line

HOST = re.sub(r"[^A-Za-z0-9]+", "_", socket.gethostname())


def expand_patterns(patterns: str, flag_name: str) -> list[str]:
    """Returns the files that comma-separated paths and globs name, sorted within each pattern, each once.

    Raises:
      InputError: A pattern that matches no file, or a directory.
    """
    files: list[str] = []
    # a file whose own name holds a comma
    whole = [patterns] if "," in patterns and tf.io.gfile.exists(patterns) else patterns.split(",")
    for pattern in (part.strip() for part in whole):
        if not pattern:
            continue
        pattern = os.path.expanduser(pattern)
        matches = [pattern] if tf.io.gfile.exists(pattern) else sorted(tf.io.gfile.glob(pattern))
        if not matches:
            raise InputError(f"--{flag_name}: no file matches {pattern!r}; check the path")
        for path in matches:
            if tf.io.gfile.isdir(path):
                raise InputError(f"--{flag_name}: {path} is a directory; name files, as {path.rstrip('/')}/*")
        files.extend(path for path in matches if path not in files)
    if not files:
        raise InputError(f"--{flag_name}: names no file")
    return files


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
        if os.path.realpath(path) in map(os.path.realpath, paths[:number]):
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


@contextlib.contextmanager
def atomic_write(path: str, mode: str = "w") -> Iterator[tf.io.gfile.GFile]:
    """Yields a file that appears under `path` only when it is whole.

    It is written beside and renamed at the end; when anything fails, nothing is left behind.
    """
    if "://" not in path:
        path = os.path.realpath(path)  # a link stays a link
    folder = os.path.dirname(path)
    beside = partial_name(path)
    try:
        if folder:
            tf.io.gfile.makedirs(folder)
        remove_left_behind(path)
        with tf.io.gfile.GFile(beside, mode) as file:
            file.write("")  # the file is made by the first write, and may be meant to stay empty
            yield file
        tf.io.gfile.rename(beside, path, overwrite=True)
    except tf.errors.OpError as error:
        remove_quietly(beside)
        raise InputError(f"{path}: cannot be written ({plain_reason(error)}); check the path and its permissions") from error
    except BaseException:
        remove_quietly(beside)
        raise


def move_into_place(source: str, path: str) -> None:
    """Gives a whole file its final name; on another file system or machine than its own it appears when it is copied."""
    make_folder(os.path.dirname(path) or ".")
    if "://" not in path:
        path = os.path.realpath(path)  # a link stays a link
        with contextlib.suppress(OSError):
            os.replace(source, path)
            return
    remove_left_behind(path)
    beside = partial_name(path)
    try:
        if "://" in source and source.partition("://")[0] == path.partition("://")[0]:
            tf.io.gfile.rename(source, path, overwrite=True)
            return
        tf.io.gfile.copy(source, beside, overwrite=True)
        tf.io.gfile.rename(beside, path, overwrite=True)
    except tf.errors.OpError as error:
        remove_quietly(beside)
        raise InputError(f"{path}: cannot be written ({plain_reason(error)}); check the path, its permissions and the disk") from error
    remove_quietly(source)


def make_folder(path: str) -> None:
    """Creates a folder, or raises an InputError that names it."""
    try:
        tf.io.gfile.makedirs(path)
    except tf.errors.OpError as error:
        raise InputError(f"{path}: cannot be created ({plain_reason(error)}); check the path and its permissions") from error


def partial_name(path: str) -> str:
    """Returns the name under which this process writes the file until it is whole."""
    return f"{path}.partial-{HOST}-{os.getpid()}"


def is_left_behind(name: str, path: str) -> bool:
    """Returns whether a file's name is that of `path` half-written by a process of this machine that has ended.

    A killed process cannot tidy up after itself. Of processes on other machines, which may share the directory, nothing is known.
    """
    match = re.fullmatch(re.escape(os.path.basename(path)) + rf"\.partial-{HOST}-(\d+)", name)
    return match is not None and not _is_running(int(match[1]))


def remove_left_behind(path: str) -> None:
    """Removes what ended processes left half-written of `path`."""
    if "://" in path:
        return
    folder = os.path.dirname(path)
    names: list[str] = []
    with contextlib.suppress(OSError):  # a folder that may be written to but not listed
        names = os.listdir(folder or ".")
    for name in names:
        if is_left_behind(name, path):
            remove_quietly(os.path.join(folder, name))


def remove_quietly(path: str) -> None:
    """Removes the file, if it is there."""
    with contextlib.suppress(tf.errors.OpError):
        tf.io.gfile.remove(path)


def plain_reason(error: Exception) -> str:
    """Returns TensorFlow's reason for a failed file operation on one line, without the path it begins with."""
    return one_line(error).split(";")[-1].strip()


def _is_running(process: int) -> bool:
    if os.name != "posix":  # elsewhere signal 0 is not a question but a signal
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's process; or a number that is none
        return True
    return True
