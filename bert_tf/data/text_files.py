"""Text files as lines or as blocks of lines: plain, gzip, bzip2, xz or zstd, strict UTF-8, read as a stream.

A line ends at a newline only: U+2028 and its like are characters of the text. Concatenated packed files (`cat a.gz b.gz`, Wikipedia's
multistream dumps) are read to the end of the last, and a file that is cut short is an error, never a shorter corpus.
"""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from bert_tf.data.text_blocks import BYTE_ORDER_MARK, TextBlock, not_utf8
from bert_tf.errors import InputError

_CHUNK_BYTES = 1 << 16
_GZIP_MAGIC = b"\x1f\x8b"
_BZIP2_MAGIC = b"BZh"
# What follows BZh and a digit: the first block, or at once the end of an empty stream. Without it a text may well begin with "BZh".
_BZIP2_NEXT = (b"\x31\x41\x59\x26\x53\x59", b"\x17\x72\x45\x38\x50\x90")
_XZ_MAGIC = b"\xfd7zXZ\0"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
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
            raise not_utf8(path, number, line, error) from error
        yield (text.removeprefix(BYTE_ORDER_MARK) if number == 1 else text).removesuffix("\r")


def read_bytes(path: str, on_read: Callable[[int], object] | None = None) -> Iterator[bytes]:
    """Yields the file's bytes, unpacked where it is packed, in pieces; arguments and errors are those of `read_lines`."""
    return _unpacked(path, on_read)


def read_all_blocks(paths: Iterable[str], block_bytes: int) -> Iterator[TextBlock]:
    """Yields the blocks of all files, file after file."""
    for path in paths:
        yield from read_blocks(path, block_bytes)


def read_blocks(path: str, block_bytes: int) -> Iterator[TextBlock]:
    """Yields the file in blocks of whole lines, each longer than `block_bytes` by a line at most; an empty file is one empty block.

    Raises:
      InputError: The file cannot be read, is damaged or cut.
    """
    num_read, first_line = 0, 1

    def on_read(number: int) -> None:
        nonlocal num_read
        num_read += number

    parts: list[bytes] = []
    size = 0
    for chunk in _unpacked(path, on_read):
        size += len(chunk)
        if size >= block_bytes and (end := chunk.rfind(b"\n") + 1):
            content = b"".join([*parts, chunk[:end]])
            yield TextBlock(path, first_line, content, False, num_read)
            first_line += content.count(b"\n")
            num_read, parts, size = 0, [chunk[end:]], len(chunk) - end
        else:
            parts.append(chunk)
    yield TextBlock(path, first_line, b"".join(parts), True, num_read)


def total_bytes(paths: Sequence[str]) -> int:
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
    elif first.startswith(_XZ_MAGIC):
        yield from _members(path, first, chunks, lzma.LZMADecompressor, "xz")
    elif first.startswith(_ZSTD_MAGIC):
        zstd = _zstd(path)
        yield from _members(path, first, chunks, zstd.ZstdDecompressor, "zstd", zstd.ZstdError)
    else:
        yield first
        yield from chunks


def _members(
    path: str, first: bytes, chunks: Iterator[bytes], new_decoder: Callable[[], Any], kind: str, error_type: type[Exception] = OSError
) -> Iterator[bytes]:
    """Yields the unpacked bytes of all members of a packed file; `error_type` is what the decoder raises beside Python's own errors."""
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
    except (zlib.error, lzma.LZMAError, OSError, ValueError, error_type) as error:
        raise InputError(f"{path}: damaged {kind} file ({error}); fetch or make it again") from error
    if begun:
        raise InputError(f"{path}: cut {kind} file, its last member has no end; fetch or make it again")


def _zstd(path: str) -> Any:
    try:
        from backports import zstd  # in Python itself from 3.14 on
    except ImportError:
        raise InputError(f"{path}: is a zstd file; install what reads them, pip install 'bert_tf[zstd]', or unpack it") from None
    return zstd


def _raw(path: str, on_read: Callable[[int], object] | None) -> Iterator[bytes]:
    try:
        with tf.io.gfile.GFile(path, "rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                if on_read:
                    on_read(len(chunk))
                yield chunk
    except tf.errors.OpError as error:
        raise InputError(f"{path}: cannot be read ({error.message}); check the path and its permissions") from error
