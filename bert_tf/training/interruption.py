"""A request to stop, from the system or from the keyboard, that waits until the step is done and its checkpoint written."""

import signal
import threading
from types import FrameType
from typing import Self

from absl import logging

from bert_tf.errors import Preempted


class Interruption:
    """Catches SIGTERM (a machine that is taken away) and Ctrl-C while training runs. To be used in a `with` statement.

    The first signal only sets `requested`; a second one acts at once. Outside the main thread nothing is caught.
    """

    def __init__(self):
        """Catches nothing yet."""
        self.requested: signal.Signals | None = None
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        """Catches the signals from here on."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        """Gives the signals back."""
        self._give_back()

    def finish(self, prefix: str) -> None:
        """Raises what the signal means, now that the checkpoint `prefix` is written."""
        if self.requested == signal.SIGINT:
            logging.info("saved %s; the same command goes on from it", prefix)
            raise KeyboardInterrupt
        by = self.requested.name if self.requested is not None else "another worker"
        raise Preempted(f"stopped by {by}; saved {prefix}; the same command goes on from it")

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.requested = signal.Signals(number)
        self._give_back()
        logging.info("%s: saving a checkpoint, then stopping; once more stops at once", self.requested.name)

    def _give_back(self) -> None:
        while self._before:
            number, handler = self._before.popitem()
            signal.signal(number, handler)
