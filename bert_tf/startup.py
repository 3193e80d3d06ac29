"""TensorFlow's start-up, kept quiet."""

import contextlib
import os
import tempfile
from collections.abc import Iterator


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
