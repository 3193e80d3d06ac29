"""Text files as lines: plain, gzip or bzip2, strict UTF-8, read as a stream.

A line ends at a newline only: U+2028 and its like are characters of the text. Concatenated gzip and bzip2 files (`cat a.gz b.gz`,
Wikipedia's multistream dumps) are read to the end of the last, and a file that is cut short is an error, never a shorter corpus.
"""

import bz2
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from bert_tf.errors import InputError

_CHUNK_BYTES = 1 << 16
_GZIP_MAGIC = b"\x1f\x8b"
_BZIP2_MAGIC = b"BZh"
# What follows BZh and a digit: the first block, or at once the end of an empty stream. Without it a text may well begin with "BZh".
_BZIP2_NEXT = (b"\x31\x41\x59\x26\x53\x59", b"\x17\x72\x45\x38\x50\x90")
_GZIP_WINDOW = 16 + zlib.MAX_WBITS  # zlib: expect a gzip header


def read_lines(path: str, on_read: Callable[[int], object] | None = None) -> Iterator[str]:
    r"""Yields the file's lines without their ends ("\n" or "\r\n"); a byte order mark at the start is left out.

    Args:
      path: The file, on disk or wherever tf.io.gfile reaches.
      on_read: Called with the number of bytes read, packed ones where the file is packed, as reading goes on.

    Raises:
      InputError: The file cannot be read, is damaged or cut, or holds a line that is not UTF-8 (file and line are named).
    """
    for number, line in enumerate(_split(_unpacked(path, on_read)), 1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}, line {number}: not UTF-8 (byte 0x{line[error.start]:02x} at column {error.start + 1}); convert the file to UTF-8"
            ) from error
        yield (text.removeprefix("\ufeff") if number == 1 else text).removesuffix("\r")


def total_bytes(paths: list[str]) -> int:
    """Returns the files' sizes on disk, summed up.

    Raises:
      InputError: A file that is not there.
    """
    total = 0
    for path in paths:
        try:
            total += tf.io.gfile.stat(path).length
        except tf.errors.OpError as error:
            raise InputError(f"{path}: cannot be read; check the path and its permissions") from error
    return total


def _split(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yields the lines of a stream of bytes."""
    parts: list[bytes] = []  # of the line that is not complete yet
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        parts.append(first)
        if others:
            yield b"".join(parts)
            yield from others[:-1]
            parts = [others[-1]]
    rest = b"".join(parts)
    if rest:
        yield rest


def _unpacked(path: str, on_read: Callable[[int], object] | None) -> Iterator[bytes]:
    """Yields the file's bytes, unpacked if they begin as a packed file's do."""
    chunks = _raw(path, on_read)
    first = next(chunks, b"")
    if first.startswith(_GZIP_MAGIC):
        yield from _members(path, first, chunks, lambda: zlib.decompressobj(_GZIP_WINDOW), "gzip")
    elif first.startswith(_BZIP2_MAGIC) and first[4:10] in _BZIP2_NEXT:
        yield from _members(path, first, chunks, bz2.BZ2Decompressor, "bzip2")
    else:
        yield first
        yield from chunks


def _members(path: str, first: bytes, chunks: Iterator[bytes], new_decoder: Callable[[], Any], kind: str) -> Iterator[bytes]:
    """Yields the unpacked bytes of all members of a packed file."""
    decoder = new_decoder()
    begun = True  # whether the member at hand holds any byte
    packed = first
    try:
        while True:
            while packed:
                begun = True
                yield decoder.decompress(packed)
                packed = b""
                if decoder.eof:
                    packed = decoder.unused_data.lstrip(b"\0")  # zeros fill up blocks of tape
                    decoder, begun = new_decoder(), False
            following = next(chunks, None)
            if following is None:
                break
            packed = following if begun else following.lstrip(b"\0")
    except (zlib.error, OSError, ValueError) as error:
        raise InputError(f"{path}: damaged {kind} file ({error}); fetch or make it again") from error
    if begun:
        raise InputError(f"{path}: cut {kind} file, its last member has no end; fetch or make it again")


def _raw(path: str, on_read: Callable[[int], object] | None) -> Iterator[bytes]:
    try:
        with tf.io.gfile.GFile(path, "rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                if on_read:
                    on_read(len(chunk))
                yield chunk
    except tf.errors.OpError as error:
        raise InputError(f"{path}: cannot be read ({error.message}); check the path and its permissions") from error
