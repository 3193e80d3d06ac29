"""What a frozen encoder says of the tokens of records, computed once and kept: all its layers' vectors, in a TFRecord file.

A file holds a payload for each record, in the records' order: float16[layers, tokens, hidden], little-endian, the embeddings first, of the
record's tokens from left to right. float16 has 11 bits where bfloat16 has 8, and room enough: what a LayerNorm puts out is at most
sqrt(hidden) times its scale, beside its offset.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from bert_tf.data.batches import BucketedBatches, OrderedRecords
from bert_tf.data.buckets import BucketPlan
from bert_tf.data.records import RecordFile, record_sizes, write_records
from bert_tf.data.schema import IS_REAL, RecordKind
from bert_tf.errors import InputError

_DTYPE = np.dtype("<f2")
_NUMBERS = "record_numbers"


def write(path: str, vectors: Iterable[npt.NDArray[np.generic]]) -> None:
    """Writes the file, whole or not at all, of each record's vectors [layers, tokens, hidden].

    Raises:
      InputError: It cannot be written, or a number is not finite in float16.
    """
    write_records([path], (_payload(of_record) for of_record in vectors))


def _payload(vectors: npt.NDArray[np.generic]) -> bytes:
    with np.errstate(over="ignore"):  # told below
        narrow = vectors.astype(_DTYPE)
    if not np.isfinite(narrow).all():
        raise InputError("the encoder puts out numbers that are not finite, or beyond 65,504; give a sound --init_checkpoint")
    return narrow.tobytes()


class TokenVectors:
    """The vectors of the tokens of a file of records.

    Attributes:
      hidden: The size of a vector.
    """

    def __init__(self, path: str, counts: Sequence[int], num_layers: int, hidden: int):
        """Opens the file.

        Args:
          path: The file.
          counts: The number of tokens of each record.
          num_layers: Layers whose vectors it holds, the embeddings among them.
          hidden: The size of a vector.

        Raises:
          InputError: It cannot be read, or does not hold these.
        """
        file = RecordFile(path)
        self.hidden = hidden
        self._counts, self._num_layers = np.asarray(counts, np.int64), num_layers
        if not np.array_equal(record_sizes(file), self._counts * num_layers * hidden * _DTYPE.itemsize):
            raise InputError(f"{path}: is damaged (its records have other sizes than the data's); remove it, and it is made again")
        self._records = OrderedRecords([file])

    def take(self, numbers: npt.NDArray[np.int64], length: int, layers: Sequence[int]) -> npt.NDArray[np.float16]:
        """Returns float16[records, length, layers, hidden], filled up with zeros.

        Args:
          numbers: int64[records], which records.
          length: Tokens of each, at most.
          layers: Which layers.
        """
        found = np.zeros((len(numbers), length, len(layers), self.hidden), np.float16)
        for row, number, payload in zip(found, numbers, self._records.pick(numbers)):
            vectors = np.frombuffer(payload, _DTYPE).reshape(self._num_layers, self._counts[number], self.hidden)
            count = min(length, vectors.shape[1])
            row[:count] = vectors[list(layers), :count].transpose(1, 0, 2)  # [layers, tokens, hidden] -> [tokens, layers, hidden]
        return found


class TokenVectorBatches(BucketedBatches):
    """Batches of the tokens that are tagged: their vectors, and their labels, in place of the encoder's inputs.

    A batch holds token_vectors float16[batch, tokens, layers, hidden], input_mask and label_mask int32[batch, tokens], which are the same,
    label_ids int32[batch, tokens], and is_real_example int32[batch]. The plan's lengths are numbers of tokens.
    """

    def __init__(
        self,
        files: Sequence[RecordFile],
        kind: RecordKind,
        axes: Mapping[str, int],
        batch_size: int,
        plan: BucketPlan,
        vectors: TokenVectors,
        layers: Sequence[int],
    ):
        """Takes what `BucketedBatches` takes, the vectors of the files' records, and the layers that are wanted."""
        super().__init__(files, kind, axes, batch_size, plan, lambda batch, origins: batch | {_NUMBERS: origins[:, 1]})
        self._take_vectors = functools.partial(vectors.take, layers=layers)
        self._vector_shape = (len(layers), vectors.hidden)

    def _cut(self, batch, length):
        if len(self._plan.buckets) == 1:  # one static shape
            length = int(self._plan.buckets[0])
        places = tf.argsort(batch["label_mask"], axis=1, direction="DESCENDING", stable=True)[:, :length]
        label_ids, mask = (tf.gather(batch[name], places, batch_dims=1) for name in ("label_ids", "label_mask"))  # -> [batch, tokens]
        vectors = tf.numpy_function(self._fetch_vectors, [batch[_NUMBERS], length], tf.float16)
        vectors.set_shape([*mask.shape, *self._vector_shape])
        return {"token_vectors": vectors, "input_mask": mask, "label_mask": mask, "label_ids": label_ids, IS_REAL.name: batch[IS_REAL.name]}

    def _fetch_vectors(self, numbers, length):
        try:
            return self._take_vectors(numbers, int(length))
        except InputError as error:
            self._failure = error
            raise
