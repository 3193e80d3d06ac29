"""The one error that means "the user can mend this", and how others are told."""


class InputError(ValueError):
    """A mistake in a flag, a file or a field, told in one line.

    The message names the file, line or field, the value found, and the mend. Scripts print it without a traceback and exit with
    code 1; in a notebook it is an ordinary `ValueError`.
    """


def one_line(error: object) -> str:
    """Returns an error's words, of whatever library, on one line."""
    return " ".join(str(getattr(error, "message", None) or error).split())
