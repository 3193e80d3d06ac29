"""The error that means "the user can mend this", what else ends a run in order, and how other errors are told."""

import re

# EX_TEMPFAIL of sysexits.h: nothing is wrong, try again later.
PREEMPTED_EXIT_CODE = 75


class InputError(ValueError):
    """A mistake in a flag, a file or a field, told in one line.

    The message names the file, line or field, the value found, and the mend. Scripts print it without a traceback and exit with
    code 1; in a notebook it is an ordinary `ValueError`.
    """


class DamagedCheckpoint(InputError):
    """A checkpoint that cannot be read, or holds numbers that are not finite: an older one may do."""


class WorkerDied(InputError):
    """A worker process ended by itself. What was done before is kept, so that the same command goes on from there."""


class Preempted(BaseException):
    """A script was asked to stop, by SIGTERM; a training has saved a checkpoint. Scripts exit with code 75: try again later.

    No `Exception`, as KeyboardInterrupt is none: whoever catches what a library may raise must not take it for that.
    """


def one_line(error: object) -> str:
    """Returns an error's words, of whatever library, on one line, without TensorFlow's name of the node that failed."""
    words = " ".join(str(getattr(error, "message", None) or error).split())
    return re.sub(r"\{\{\w+ [^}]*\}\} ?| \[Op:\w+\]", "", words)
