"""One training at a time in an output directory."""

import contextlib
import errno
import os
from collections.abc import Iterator

import filelock
from absl import logging

from bert_tf.errors import InputError

# Held by the process that trains here; the system lets go of it when the process ends, however it ends.
_LOCK = "run.lock"
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


@contextlib.contextmanager
def held(folder: str, patience_secs: float = 0.0) -> Iterator[None]:
    """Holds the folder's lock.

    Args:
      folder: The folder.
      patience_secs: How long to wait for another run that holds it.

    Raises:
      InputError: Another run holds it, or the folder cannot be written.
    """
    if "://" in folder:  # object stores have no locks
        yield
        return
    lock = filelock.FileLock(os.path.join(folder, _LOCK), timeout=patience_secs, fallback_to_soft=False)
    try:
        lock.acquire()
    except filelock.Timeout:
        raise InputError(f"{folder}: another run is training in it; wait until it ends, or give another --output_dir") from None
    except (NotImplementedError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in _NO_LOCKS:
            raise InputError(f"{folder}: cannot be written ({error.strerror}); check its permissions") from error
        logging.warning("%s: its file system has no locks; see to it that one run at a time trains in it", folder)
        yield
        return
    try:
        yield
    finally:
        lock.release()
