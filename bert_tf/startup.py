"""How a process starts: TensorFlow's start-up kept quiet, what XLA compiled kept, and whether it ends with what started it."""

import contextlib
import hashlib
import os
import platform
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from importlib import metadata

# Names the process that started this one, where this one is to end with it.
_PARENT = "BERT_TF_PARENT_PROCESS"
_SECS_BETWEEN_LOOKS = 0.5


@contextlib.contextmanager
def without_startup_chatter() -> Iterator[None]:
    """Keeps TensorFlow's lines about CPU features and missing GPUs off standard error; TF_CPP_MIN_LOG_LEVEL=0 shows them.

    The variable alone does not silence what TensorFlow's libraries print while they are loaded, so standard error goes into a file
    until they are, and is shown after all when loading fails.
    """
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL", "3") != "3":
        yield
        return
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    real = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        except BaseException:
            held.seek(0)
            os.write(real, held.read())
            raise
        finally:
            os.dup2(real, 2)
            os.close(real)


def keep_compiled(folder: str) -> None:
    """Has XLA read what it compiles from this folder, and write it there; only before TensorFlow is imported.

    Machine code is good for its kind of processor and version of TensorFlow alone: each has a folder of its own within.

    Raises:
      OSError: The folder cannot be made.
    """
    kind = hashlib.sha256(f"{metadata.version('tensorflow')} {platform.machine()} {_processor_features()}".encode()).hexdigest()[:16]
    own = os.path.abspath(os.path.join(folder, kind))
    os.makedirs(own, exist_ok=True)
    flags = f"--tf_xla_persistent_cache_directory={own} --tf_xla_persistent_cache_device_types=CPU,GPU"
    os.environ["TF_XLA_FLAGS"] = f"{os.environ.get('TF_XLA_FLAGS', '')} {flags}".strip()


def _processor_features() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return next((line for line in file if line.startswith(("flags", "Features"))), "")
    except OSError:  # not Linux
        return platform.processor()


def child_environment() -> dict[str, str]:
    """Returns the environment for a script that is to end when this process does: see `end_with_parent`."""
    return os.environ | {_PARENT: str(os.getpid())}


def end_with_parent() -> None:
    """Sees to it that a script started with `child_environment` does not outlive the process that started it, killed perhaps.

    It is sent SIGTERM, upon which a training saves its state before it ends.
    """
    parent = os.environ.pop(_PARENT, None)
    if parent is not None and os.name == "posix":
        threading.Thread(target=_watch, args=(int(parent),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_SECS_BETWEEN_LOOKS)
    os.kill(os.getpid(), signal.SIGTERM)
