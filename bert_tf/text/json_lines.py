"""JSON lines: an object a line."""

import json
from typing import Any

from bert_tf.errors import InputError

_MOST_SHOWN = 40


def object_of_line(line: str, mend: str, where: str) -> dict[str, Any]:
    """Returns the JSON object that a line holds.

    Args:
      line: The line.
      mend: What to do where it holds none, for the error message.
      where: File and line number, for the same.

    Raises:
      InputError: It is not JSON, or no object.
    """
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not valid JSON ({error}); {mend}") from error
    if not isinstance(row, dict):
        raise InputError(f"{where}: holds {shown(row)}, no JSON object; {mend}")
    return row


def text_of_line(line: str, field: str, where: str) -> str:
    """Returns the string under `field` of the JSON object that a line holds.

    Args:
      line: The line.
      field: The key.
      where: File and line number, for error messages.

    Raises:
      InputError: There is no such string, or it is no text.
    """
    mend = f'give {{"{field}": "..."}}'
    row = object_of_line(line, mend, where)
    if field not in row:
        raise InputError(f'{where}: has no "{field}", only {shown(list(row))}; {mend}')
    text = row[field]
    if not isinstance(text, str):
        raise InputError(f"{where}: {field} is {shown(text)}, no string; {mend}")
    return whole_text(text, field, where)


def whole_text(text: str, field: str, where: str) -> str:
    """Returns the text, which must be such as UTF-8 can hold: JSON can escape half a surrogate pair, by which no file can be written.

    Raises:
      InputError: It holds such a half.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"{where}: {field} holds half a surrogate pair at character {error.start}; write the whole character") from error
    return text


def shown(value: Any) -> str:
    """Returns a value as JSON, cut to a length that fits a message."""
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 3] + "..."
