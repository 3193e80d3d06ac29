"""JSON lines: an object a line, of which one field is a text."""

import json
from typing import Any

from bert_tf.errors import InputError


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
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not valid JSON ({error}); {mend}") from error
    if not isinstance(row, dict):
        raise InputError(f"{where}: holds {_short(row)}, no JSON object; {mend}")
    if field not in row:
        raise InputError(f'{where}: has no "{field}", only {_short(list(row))}; {mend}')
    text = row[field]
    if not isinstance(text, str):
        raise InputError(f"{where}: {field} is {_short(text)}, no string; {mend}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"{where}: {field} holds half a surrogate pair at character {error.start}; write the whole character") from error
    return text


def _short(value: Any) -> str:
    """Returns a value as JSON, cut to a length that fits a message."""
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 40 else text[:37] + "..."
