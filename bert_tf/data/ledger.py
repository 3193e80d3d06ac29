"""Local files that only grow, and a note of how far they are good: what lets a killed job go on where it was.

Nothing is told good before it is whole: a piece of work is appended, then the note is replaced. What a killed process appended after
its last note is cut off by the next one. Needs no TensorFlow: worker processes write such files' parts.
"""

import contextlib
import json
import os
import shutil
from typing import Any

_NOTE = "note.json"
_COPY_BYTES = 1 << 20


class Ledger:
    """Growing files in a folder of their own, and a note.

    Attributes:
      note: What the last `commit` said, {} at the start.
      folder: Where the files are.
    """

    def __init__(self, folder: str, fingerprint: Any):
        """Goes on with the folder's files if they were made for the same `fingerprint` (anything that JSON holds), else starts afresh."""
        self.folder = folder
        self._fingerprint = json.loads(json.dumps(fingerprint))
        os.makedirs(folder, exist_ok=True)
        saved = self._read()
        self._sizes: dict[str, int | None] = saved["sizes"]
        self.note: dict[str, Any] = saved["note"]
        for name in os.listdir(folder):
            path = self.path(name)
            if name in self._sizes:
                size = self._sizes[name]
                if size is not None and os.path.getsize(path) > size:
                    os.truncate(path, size)
            elif name != _NOTE:
                os.remove(path)

    def path(self, name: str) -> str:
        """Returns where a file is."""
        return os.path.join(self.folder, name)

    def append(self, name: str, content: bytes | memoryview) -> None:
        """Appends to a file."""
        with open(self.path(name), "ab") as file:
            file.write(content)
        self._grow(name, len(content))

    def append_from(self, name: str, source: Any, size: int) -> None:
        """Appends the next `size` bytes of an open file."""
        with open(self.path(name), "ab") as file:
            left = size
            while left:
                chunk = source.read(min(left, _COPY_BYTES))
                if not chunk:
                    raise EOFError(f"{name}: {left} bytes are missing")
                file.write(chunk)
                left -= len(chunk)
        self._grow(name, size)

    def commit(self, **note: Any) -> None:
        """Notes that all files are good as they are, and what the next process has to know to go on."""
        self.note = note
        self._write()

    def release(self, name: str) -> str:
        """Returns the path of a file that is to be moved away: from the next note on it need not be there."""
        self._sizes[name] = None
        return self.path(name)

    def _grow(self, name: str, size: int) -> None:
        self._sizes[name] = (self._sizes.get(name) or 0) + size

    def _read(self) -> dict[str, Any]:
        fresh = {"sizes": {}, "note": {}}
        try:
            with open(self.path(_NOTE), encoding="utf-8") as file:
                saved = json.load(file)
        except (OSError, ValueError):
            return fresh
        if saved["fingerprint"] != self._fingerprint:
            return fresh
        return saved if all(self._is_there(name, size) for name, size in saved["sizes"].items()) else fresh

    def _is_there(self, name: str, size: int | None) -> bool:
        return size is None or (os.path.exists(self.path(name)) and os.path.getsize(self.path(name)) >= size)

    def _write(self) -> None:
        beside = self.path(_NOTE + ".partial")
        with open(beside, "w", encoding="utf-8") as file:
            json.dump({"fingerprint": self._fingerprint, "sizes": self._sizes, "note": self.note}, file)
        os.replace(beside, self.path(_NOTE))


def remove_folder(folder: str) -> None:
    """Removes a folder and all that is in it."""
    with contextlib.suppress(OSError):
        shutil.rmtree(folder)
