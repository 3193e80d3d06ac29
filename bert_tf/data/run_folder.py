"""A folder for one run's unfinished files, which many machines may write to, and which goes with the run.

A killed run cannot tidy up: the next one of the same name does it. What tells that nobody needs a folder any more is a lock beside it,
which the system lets go of with the process that holds it, however that ends. Folders of other machines are left alone, as not every
file system passes locks on; and so are all in object stores, which have none.
"""

import contextlib
import os
import re
import uuid
from collections.abc import Iterator

import filelock
import tensorflow as tf

from bert_tf.data.files import HOST, make_folder, remove_quietly


@contextlib.contextmanager
def run_folder(stem: str) -> Iterator[str]:
    """Yields a new folder whose path begins with `stem`; it goes afterwards, and before that what killed runs of this machine left there.

    Raises:
      InputError: It cannot be made.
    """
    name = uuid.uuid4().hex[:8]
    with contextlib.ExitStack() as stack:
        folder = f"{stem}-{name}"
        if "://" not in stem:
            make_folder(os.path.dirname(stem))
            _remove_left_behind(stem)
            lockable = f"{stem}-{HOST}-{name}"
            if stack.enter_context(_locked(lockable)):  # before the folder is there: one that has no lock is of a killed run
                folder = lockable
        stack.callback(_remove, folder)
        make_folder(folder)
        yield folder


def _remove_left_behind(stem: str) -> None:
    pattern = re.compile(re.escape(os.path.basename(stem)) + rf"-{HOST}-[0-9a-f]{{8}}")
    names: list[str] = []
    with contextlib.suppress(OSError):  # a folder that may be written to but not listed
        names = os.listdir(os.path.dirname(stem))
    for folder in (os.path.join(os.path.dirname(stem), name) for name in names if pattern.fullmatch(name)):
        with _locked(folder) as is_mine:
            if is_mine:
                _remove(folder)


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[bool]:
    """Yields whether the folder's lock is held here, which it is not where another process holds it or the file system has no locks."""
    path = f"{folder}.lock"
    lock = filelock.FileLock(path, timeout=0, fallback_to_soft=False)
    try:
        lock.acquire()
    except (filelock.Timeout, NotImplementedError, OSError):
        yield False
        return
    try:
        yield True
    finally:
        remove_quietly(path)
        lock.release()


def _remove(folder: str) -> None:
    with contextlib.suppress(tf.errors.OpError):
        tf.io.gfile.rmtree(folder)
