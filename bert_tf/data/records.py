"""TFRecord files: written whole or not at all, and read at any record number.

A TFRecord is framed as length (8 bytes, little endian), its checksum (4), the payload, its checksum (4). Knowing where each record
starts makes the input position arithmetic: record number -> file and offset, with no iterator to wind forward.
"""

import contextlib
import gzip
import hashlib
import os
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError

from bert_tf.data.example_bytes import checksum
from bert_tf.data.example_bytes import serialize as serialize
from bert_tf.data.files import make_folder, partial_name, plain_reason, remove_left_behind, remove_quietly
from bert_tf.data.schema import RecordKind
from bert_tf.errors import InputError, one_line

_GZIP_MAGIC = b"\x1f\x8b\x08"  # the first two alone may be a record's length
_DTYPES = {"float_list": "float32", "int64_list": "int64", "bytes_list": "bytes"}  # by tf.train.Feature's field
_HEADER_BYTES = 12
_FOOTER_BYTES = 4
_CHECKED_AT_ONCE = 1024


def write_records(paths: Sequence[str], records: Iterable[bytes], compress: bool = False) -> list[int]:
    """Writes serialized examples round the files in turn and returns how many each file got.

    Files appear under their names only after the last record was written.
    """
    counts = [0] * len(paths)
    options = tf.io.TFRecordOptions(compression_type="GZIP" if compress else "")
    beside = [partial_name(path) for path in paths]
    writers: list[tf.io.TFRecordWriter] = []
    turn = 0
    try:
        with contextlib.ExitStack() as stack:
            for turn, path in enumerate(paths):
                make_folder(os.path.dirname(path) or ".")
                remove_left_behind(path)
                writers.append(stack.enter_context(tf.io.TFRecordWriter(beside[turn], options)))
            for number, record in enumerate(records):
                turn = number % len(paths)
                writers[turn].write(record)
                counts[turn] += 1
        for turn, path in enumerate(paths):
            tf.io.gfile.rename(beside[turn], path, overwrite=True)
    except tf.errors.OpError as error:
        for path in beside:
            remove_quietly(path)
        raise InputError(
            f"{paths[turn]}: cannot be written ({plain_reason(error)}); check the path, its permissions and the disk"
        ) from error
    except BaseException:
        for path in beside:
            remove_quietly(path)
        raise
    return counts


class RecordFile:
    """One TFRecord file, plain or gzip, whose records can be read by number.

    A plain file is indexed by its frames alone; of a gzip file, which has no places to jump to, the unpacked bytes are held
    (all members of a concatenated file are read). Checksums are verified: of lengths at once, of payloads as they are read.

    Attributes:
      path: The file.
      fingerprint: A hash of all lengths and checksums, so of the content, in hexadecimal.
    """

    def __init__(self, path: str):
        """Indexes the file; raises InputError where it is empty, torn, damaged or no TFRecord file."""
        self.path = path
        with _open_named(path) as file:
            packed = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
            size = file.size()
            if packed:
                file.seek(0)
                self._bytes: bytes | None = _unpack(path, file.read())
                size = len(self._bytes)
            else:
                self._bytes = None
        self.starts = self._index(size)  # int64[records + 1]

    def __len__(self):
        return len(self.starts) - 1

    def read(self, numbers: np.ndarray) -> list[bytes]:
        """Returns the records of these ascending numbers."""
        if self._bytes is not None:
            return [self._record(self._bytes, 0, number) for number in numbers]
        records = []
        with _open_named(self.path) as file:
            for first, last in _runs(numbers):
                begin = self.starts[first]
                file.seek(int(begin))
                chunk = file.read(int(self.starts[last + 1] - begin))
                if len(chunk) != self.starts[last + 1] - begin:
                    raise InputError(f"{self.path}: ends within record {last}; the file changed while it was read")
                for number in range(first, last + 1):
                    records.append(self._record(chunk, begin, number))
        return records

    def _record(self, chunk: bytes, chunk_start: int, number: int) -> bytes:
        """Returns the record's payload out of bytes that begin at `chunk_start` of the file."""
        begin, end = self.starts[number] - chunk_start, self.starts[number + 1] - chunk_start
        payload = chunk[begin + _HEADER_BYTES : end - _FOOTER_BYTES]
        if checksum(payload) != chunk[end - _FOOTER_BYTES : end]:
            raise InputError(f"{self.path}: record {number} is damaged (its checksum does not match); make the file again")
        return payload

    def _index(self, size: int) -> np.ndarray:
        if size == 0:
            raise InputError(f"{self.path}: is empty; make it again")
        starts, digest = [0], hashlib.sha256()
        with contextlib.nullcontext() if self._bytes is not None else _open_for_seeking(self.path) as file:
            while starts[-1] < size:
                begin = starts[-1]
                # the checksum of the record before comes along with the header
                lead = _FOOTER_BYTES if begin else 0
                if self._bytes is not None:
                    header = self._bytes[begin - lead : begin + _HEADER_BYTES]
                else:
                    file.seek(begin - lead)
                    header = file.read(lead + _HEADER_BYTES)
                digest.update(header)
                header = header[lead:]
                sound = len(header) == _HEADER_BYTES and checksum(header[:8]) == header[8:]
                end = begin + _HEADER_BYTES + struct.unpack("<Q", header[:8])[0] + _FOOTER_BYTES if sound else size + 1
                if end > size:
                    if len(starts) == 1:
                        what = "is not a TFRecord file, or is cut within its first record"
                    elif sound or len(header) < _HEADER_BYTES:
                        what = f"ends within record {len(starts) - 1}"
                    else:
                        what = f"record {len(starts) - 1} is damaged (the checksum of its length does not match)"
                    raise InputError(f"{self.path}: {what}; make it again")
                starts.append(end)
            if self._bytes is not None:
                digest.update(self._bytes[-_FOOTER_BYTES:])
            else:
                file.seek(size - _FOOTER_BYTES)
                digest.update(file.read(_FOOTER_BYTES))
        self.fingerprint = digest.hexdigest()
        return np.asarray(starts, np.int64)


def record_sizes(file: RecordFile) -> np.ndarray:
    """Returns how many bytes each record's payload has: int64[records]."""
    return np.diff(file.starts) - _HEADER_BYTES - _FOOTER_BYTES


def fingerprint(files: Sequence[RecordFile]) -> str:
    """Returns a hash of the files' content and order, in hexadecimal."""
    return hashlib.sha256(" ".join(file.fingerprint for file in files).encode()).hexdigest()


def first_feature_names(file: RecordFile) -> frozenset[str]:
    """Returns the names of what a file's first record holds; none where it is no tf.train.Example."""
    example = tf.train.Example()
    with contextlib.suppress(DecodeError):
        example.ParseFromString(file.read(np.asarray([0]))[0])
    return frozenset(example.features.feature)


def check_first_record(file: RecordFile, kind: RecordKind, axes: Mapping[str, int], flags: Mapping[str, str]) -> None:
    """Checks that a file's records have the lengths which the flags promise.

    Args:
      file: The file to look into.
      kind: What its records should be.
      axes: Length of each axis, as the flags have it.
      flags: Name of the flag behind each axis.

    Raises:
      InputError: A missing feature, or another length: with both numbers.
    """
    (record,) = file.read(np.asarray([0]))
    example = tf.train.Example()
    try:
        example.ParseFromString(record)
    except DecodeError as error:
        raise InputError(f"{file.path}: its first record is no tf.train.Example; give TFRecords made for {kind.name}") from error
    for feature in kind.features:
        if feature.name not in example.features.feature:
            if feature.required:
                raise InputError(f"{file.path}: records have no {feature.name}; give TFRecords made for {kind.name}")
            continue
        found_feature = example.features.feature[feature.name]
        dtype = _DTYPES.get(found_feature.WhichOneof("kind"), feature.dtype)  # an empty list may have none
        if dtype != feature.dtype:
            raise InputError(f"{file.path}: {feature.name} holds {dtype}, not {feature.dtype}; give TFRecords made for {kind.name}")
        found = len(found_feature.float_list.value) or len(found_feature.int64_list.value)
        expected = kind.sizes(axes)[feature.name]
        if found != expected:
            axis = next((axis for axis in feature.shape if isinstance(axis, str)), None)
            mend = (
                f"--{flags[axis]} says {expected}; give --{flags[axis]}={found} or make the data again" if axis else f"{expected} expected"
            )
            raise InputError(f"{file.path}: {feature.name} holds {found} numbers a record, {mend}")


def misfit(files: Sequence[RecordFile], kind: RecordKind, axes: Mapping[str, int]) -> str | None:
    """Returns which record is the first that no batch can be made of, why, and what to do; None where all are sound.

    To be asked when a batch failed: it reads the files from the start.
    """
    for file in files:
        for first in range(0, len(file), _CHECKED_AT_ONCE):
            numbers = np.arange(first, min(first + _CHECKED_AT_ONCE, len(file)))
            records = file.read(numbers)
            if _fault(records, kind, axes) is None:
                continue
            for number, record in zip(numbers, records):
                fault = _fault([record], kind, axes)
                if fault is not None:
                    return f"{file.path}: record {number} {fault}"
    return None


def _fault(records: Sequence[bytes], kind: RecordKind, axes: Mapping[str, int]) -> str | None:
    """Returns what is wrong with any of the records, or None."""
    try:
        parsed = tf.io.parse_example(records, parse_spec(kind, axes))
    except tf.errors.OpError as error:
        reason = re.search(r"(Key: .*|Could not parse[^.,]*)", one_line(error))
        return f"does not fit the others ({reason[1][:200] if reason else one_line(error)[:200]}); make the file again"
    for name, bound in kind.bounds(axes).items():
        values = parsed[name].numpy()
        outside = values[(values < 0) | (values >= bound)]
        if outside.size:
            return f"holds {name} {outside.flat[0]}, outside 0 to {bound - 1}; give the data, vocabulary and config of one model"
    return None


def parse_spec(kind: RecordKind, axes: Mapping[str, int]) -> dict[str, tf.io.FixedLenFeature]:
    """Returns the feature spec for `tf.io.parse_example`; a feature that may be missing is 1."""
    spec = {}
    for feature in kind.features:
        shape = [axes[axis] if isinstance(axis, str) else axis for axis in feature.shape]
        default = None if feature.required else tf.ones(shape, feature.dtype)
        spec[feature.name] = tf.io.FixedLenFeature(shape, tf.as_dtype(feature.dtype), default)
    return spec


def _runs(numbers: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yields (first, last) of each run of consecutive numbers: one read each."""
    breaks = np.flatnonzero(np.diff(numbers) != 1)
    for first, last in zip(np.r_[0, breaks + 1], np.r_[breaks, len(numbers) - 1]):
        yield int(numbers[first]), int(numbers[last])


@contextlib.contextmanager
def _open_named(path: str) -> Iterator[tf.io.gfile.GFile]:
    try:
        with tf.io.gfile.GFile(path, "rb") as file:
            yield file
    except tf.errors.OpError as error:
        raise InputError(f"{path}: cannot be read ({plain_reason(error)}); check the path and its permissions") from error


def _unpack(path: str, packed: bytes) -> bytes:
    try:
        return gzip.decompress(packed)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: damaged or cut gzip file ({error}); make it again") from error


def _open_for_seeking(path: str):
    """Returns a binary file to seek in: Python's own where the path is local, as it buffers small reads."""
    return tf.io.gfile.GFile(path, "rb") if "://" in path else open(path, "rb")
