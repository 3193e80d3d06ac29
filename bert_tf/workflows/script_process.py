"""A script of the package in a process of its own, which ends with this one and hears of its signals."""

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from bert_tf.errors import PREEMPTED_EXIT_CODE
from bert_tf.startup import child_environment
from bert_tf.training.interruption import Interruption

_SECS_BETWEEN_LOOKS = 0.1
# Of a log: its last line is looked for there.
_TAIL_BYTES = 8192


class Ended(NamedTuple):
    """How a script ended.

    Attributes:
      code: Its exit code; 0 if all went well.
      was_stopped: Whether it was asked to stop, and saved its state.
      last_line: The last that it said, or the signal that killed it.
    """

    code: int
    was_stopped: bool
    last_line: str


def run_apart(script: str, flags: Sequence[str], log_path: str) -> Ended:
    """Runs a script to its end. SIGTERM and Ctrl-C are passed on, and then waited for its end.

    Args:
      script: Its name, as run_classifier.
      flags: Its command line.
      log_path: The file, on this machine, that what it says is added to.

    Raises:
      KeyboardInterrupt: After Ctrl-C, when it has ended.
    """
    with open(log_path, "ab") as log, Interruption() as interruption:
        process = subprocess.Popen(
            [sys.executable, "-m", script, *flags],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=child_environment(),
            start_new_session=True,  # a terminal's Ctrl-C reaches it once, by way of this process
        )
        try:
            told = False
            while process.poll() is None:
                if interruption.requested is not None and not told:
                    process.send_signal(interruption.requested)
                    told = True
                time.sleep(_SECS_BETWEEN_LOOKS)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if interruption.requested == signal.SIGINT:
        raise KeyboardInterrupt
    was_stopped = interruption.requested is not None or process.returncode == PREEMPTED_EXIT_CODE
    if process.returncode < 0:
        return Ended(process.returncode, was_stopped, f"killed by {signal.Signals(-process.returncode).name}")
    return Ended(process.returncode, was_stopped, _last_line(log_path))


def _last_line(path: str) -> str:
    with open(path, "rb") as file:
        file.seek(0, 2)
        file.seek(max(file.tell() - _TAIL_BYTES, 0))
        lines = file.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
