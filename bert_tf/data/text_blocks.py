"""Stretches of text files as they are handed to worker processes. Needs no TensorFlow."""

from typing import NamedTuple

from bert_tf.errors import InputError

BYTE_ORDER_MARK = "\ufeff"


class TextBlock(NamedTuple):
    """Some neighbouring lines of a file.

    Attributes:
      path: The file.
      first_line: Number of the first of them in the file, from 1.
      content: Their bytes, with what ends each line.
      ends_file: Whether none is left.
      num_read: Bytes read from disk for them, packed ones where the file is packed.
    """

    path: str
    first_line: int
    content: bytes
    ends_file: bool
    num_read: int

    def lines(self) -> list[str]:
        """Returns the lines without newlines, less a byte order mark at the file's start; one that is not UTF-8 is an InputError."""
        try:
            lines = self.content.decode("utf-8").split("\n")
        except UnicodeDecodeError as whole:
            before = self.content.count(b"\n", 0, whole.start)
            line = self.content.split(b"\n")[before]
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise not_utf8(self.path, self.first_line + before, line, error) from error
            raise
        if self.first_line == 1:
            lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
        return lines if lines[-1] else lines[:-1]


def not_utf8(path: str, number: int, line: bytes, error: UnicodeDecodeError) -> InputError:
    """Returns the error that names the first byte of a line which is not UTF-8."""
    where = f"byte 0x{line[error.start]:02x} at column {error.start + 1}"
    return InputError(f"{path}, line {number}: not UTF-8 ({where}); convert the file to UTF-8")
