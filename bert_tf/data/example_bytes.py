"""Features -> the bytes of a tf.train.Example and of a TFRecord, without TensorFlow: what worker processes write.

The same bytes as TensorFlow's own (`SerializeToString(deterministic=True)`, `TFRecordWriter`), several times faster: the message is
always the same few lists of numbers, so it can be put together from ready pieces. The format is in tensorflow/core/example/feature.proto
and in the encoding of protocol buffers.
"""

import functools
import struct
from collections.abc import Mapping, Sequence

import google_crc32c
import numpy as np

from bert_tf.data.schema import RecordKind

# Tags of fields whose content is preceded by its length, with the field's number in feature.proto.
_EXAMPLE_FEATURES = _FEATURES_ENTRY = _ENTRY_KEY = _LIST_VALUES = b"\x0a"  # 1
_ENTRY_VALUE = _FLOAT_LIST = b"\x12"  # 2
_INT64_LIST = b"\x1a"  # 3


def serialize(features: Mapping[str, Sequence[int] | Sequence[float]], kind: RecordKind) -> bytes:
    """Returns the features that are in the kind's table as a serialized tf.train.Example, in the table's dtypes, sorted by name."""
    entries = []
    for name, key, is_float in _columns(kind):
        values = features.get(name)
        if values is None:
            continue
        if isinstance(values, np.ndarray | np.generic):
            values = values.tolist()
        if not isinstance(values, list | tuple):
            values = [values]
        if is_float:
            tag, packed = _FLOAT_LIST, struct.pack(f"<{len(values)}f", *values)
        else:
            tag, packed = _INT64_LIST, _pack_integers(values)
        content = _field(tag, _field(_LIST_VALUES, packed) if values else b"")
        entries.append(_field(_FEATURES_ENTRY, key + _field(_ENTRY_VALUE, content)))
    return _field(_EXAMPLE_FEATURES, b"".join(entries))


@functools.cache
def _columns(kind: RecordKind) -> list[tuple[str, bytes, bool]]:
    """Returns each feature's name, its key as it is written, and whether its numbers are floats; sorted by name."""
    return sorted((feature.name, _field(_ENTRY_KEY, feature.name.encode()), feature.dtype == "float32") for feature in kind.features)


def frame(record: bytes) -> bytes:
    """Returns the bytes of one record of a TFRecord file: length, its checksum, the record, its checksum."""
    length = struct.pack("<Q", len(record))
    return b"".join((length, checksum(length), record, checksum(record)))


def checksum(content: bytes) -> bytes:
    """Returns the content's masked CRC-32C as TFRecords hold it (TensorFlow, core/lib/hash/crc32c.h)."""
    crc = google_crc32c.value(content)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _field(tag: bytes, content: bytes) -> bytes:
    return tag + _VARINTS[len(content)] + content


def _pack_integers(values: Sequence[int]) -> bytes:
    try:
        packed = bytes(values)
    except ValueError:  # beyond a byte
        pass
    else:
        if packed.isascii():  # below 128: each is its own varint
            return packed
    return b"".join(map(_VARINTS.__getitem__, values))


class _Varints(dict[int, bytes]):
    """Numbers as protocol buffers write them: seven bits a byte, the lowest first, all but the last marked; negative ones as 64 bits."""

    def __missing__(self, value: int) -> bytes:
        rest = value & 0xFFFF_FFFF_FFFF_FFFF
        groups = []
        while rest >= 1 << 7:
            groups.append(rest & 0x7F | 0x80)
            rest >>= 7
        encoded = bytes([*groups, rest])
        if len(self) < 1 << 17:  # more than the ids of a vocabulary
            self[value] = encoded
        return encoded


_VARINTS = _Varints()
