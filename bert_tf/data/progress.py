"""Progress on standard error: a bar with speed and time left on a terminal, a line now and then in a log file."""

import sys
import time

from tqdm import tqdm

# A log gets one line so often, and none for what is quicker.
_SECS_BETWEEN_LINES = 15.0


class Progress:
    """How far a job of known size has come. To be used in a `with` statement."""

    def __init__(self, total: int, unit: str, label: str, done: int = 0):
        """Starts at `done` of `total`; `unit` is "B" for bytes, else a noun in the plural."""
        self._done, self._total, self._unit, self._label = done, total, unit, label
        self._note = ""
        self._begin = self._last_line = time.monotonic()
        self._untimed = done
        self._bar: tqdm | None = None
        if sys.stderr.isatty():
            scale = {"unit": "B", "unit_scale": True} if unit == "B" else {"unit": f" {unit}"}
            self._bar = tqdm(total=total, initial=done, desc=label, dynamic_ncols=True, **scale)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def advance(self, amount: int) -> None:
        """Notes that `amount` more of the job is done."""
        self._done += amount
        if self._bar is not None:
            self._bar.update(amount)
        elif time.monotonic() - self._last_line >= _SECS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            print(self._line(), file=sys.stderr, flush=True)

    def start_clock(self) -> None:
        """Starts to measure the speed here: what was done so far took time of its own, such as compiling."""
        self._begin, self._untimed = time.monotonic(), self._done

    def note(self, text: str) -> None:
        """Sets what is said after the figures, as "310 documents"."""
        self._note = text
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)

    def _line(self) -> str:
        speed = (self._done - self._untimed) / max(time.monotonic() - self._begin, 1e-9)
        left = max(self._total - self._done, 0) / max(speed, 1e-9)
        scale, unit = (1e6, "MB") if self._unit == "B" else (1, self._unit)
        digits = 1 if scale > 1 else 0
        figures = f"{self._done / scale:.{digits}f} of {self._total / scale:.{digits}f} {unit}, {speed / scale:.3g} {unit}/s"
        return f"{self._label}: {figures}, {left:.0f} s left{', ' + self._note if self._note else ''}"
