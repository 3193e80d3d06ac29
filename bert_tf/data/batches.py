"""TFRecords -> tf.data batches whose position is arithmetic.

Which record stands at which place of the training stream is a pure function of (seed, place). Step s of batch size b holds places
s x b up to s x b + b, so a run resumes at any step at once and needs no iterator state in its checkpoints.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from bert_tf.data.buckets import BucketPlan
from bert_tf.data.packing import pack
from bert_tf.data.record_order import OrderedRecords, ShuffledRecords
from bert_tf.data.records import RecordFile, misfit, parse_spec
from bert_tf.data.schema import ENCODER_INPUTS, IS_REAL, RecordKind
from bert_tf.errors import InputError

# What the check of a batch's numbers says when it fails: recognised in TensorFlow's report.
_OUTSIDE = "a number outside its table"

ENCODER_INPUT_NAMES = tuple(feature.name for feature in ENCODER_INPUTS)


@dataclass(frozen=True)
class Shares:
    """Which equal parts of every batch one reader takes: `count` from part `first` on, out of `total`."""

    first: int = 0
    count: int = 1
    total: int = 1


# What changes a parsed batch, given int64[batch, 2]: the epoch and the number of each example's record.
Transform = Callable[[dict[str, tf.Tensor], tf.Tensor], dict[str, tf.Tensor]]


class Batches:
    """Batches of one kind of record, all of one static shape."""

    def __init__(
        self,
        records: ShuffledRecords | OrderedRecords,
        kind: RecordKind,
        axes: Mapping[str, int],
        batch_size: int,
        transform: Transform | None = None,
    ):
        """Takes where records come from, what they hold, the size of each axis and the number of examples a batch.

        With the sizes of the model's tables (axes vocab, segments, labels) every number is checked to be inside. `transform` is
        applied to what was parsed and checked, so a batch stays a pure function of its step.
        """
        self.files = records.files
        self.num_records = records.num_records
        self.batch_size = batch_size
        self._records = records
        self._kind = kind
        self._transform = transform
        self.axes = dict(axes)
        self._failure: InputError | None = None  # what stopped the reading thread
        self._spec = parse_spec(kind, axes)
        self._bounds = kind.bounds(axes)

    def __len__(self):
        """Returns how many batches one pass takes, the one that the records do not fill included."""
        return -(-self.num_records // self.batch_size)

    def dataset(self, first_step: int = 0, num_steps: int | None = None, shares: Shares | None = None) -> tf.data.Dataset:
        """Returns batches from step `first_step` on: dicts of int32 or float32 [batch, ...], by the names of the record kind.

        A batch that the records do not fill holds repetitions marked by is_real_example 0.

        Args:
          first_step: The first batch's step.
          num_steps: How many steps' batches; None for no end.
          shares: Which parts of every step's batch are wanted; they come one after another, each as an element of its own.
        """
        shares = shares or Shares()
        first = first_step * shares.count
        elements = tf.data.Dataset.counter(first) if num_steps is None else tf.data.Dataset.range(first, first + num_steps * shares.count)
        read = functools.partial(self._read, shares=shares)
        return elements.map(read, num_parallel_calls=1, deterministic=True).map(self._parse).prefetch(tf.data.AUTOTUNE)

    def numbers(self, step: int) -> np.ndarray:
        """Returns which records, counted through all files, the step's real examples are: int64[examples]."""
        return self._records.numbers(step * self.batch_size, self.batch_size)

    def where(self, step: int) -> str:
        """Returns the step's records in words: each file and the numbers of its records."""
        numbers, first, parts = np.unique(self.numbers(step)), 0, []
        for file in self.files:
            held = numbers[(numbers >= first) & (numbers < first + len(file))] - first
            if held.size:
                parts.append(f"{file.path} records {', '.join(map(str, held))}")
            first += len(file)
        return "; ".join(parts)

    @contextlib.contextmanager
    def named_failures(self) -> Iterator[None]:
        """Turns TensorFlow's report of data that cannot be read into an InputError that names it."""
        try:
            yield
        except tf.errors.OpError as error:
            failure = self.failure_behind(error)
            if failure is None:
                raise
            raise failure from error

    def failure_behind(self, error: tf.errors.OpError) -> InputError | None:
        """Returns what a failed step means to the user, or None where the data is not to blame."""
        if self._failure is not None:
            return self._failure
        if "ParseExample" not in error.message and _OUTSIDE not in error.message:
            return None
        found = misfit(self.files, self._kind, self.axes)
        return None if found is None else InputError(found)

    def _take(self, step: int) -> tuple[list[bytes], int]:
        """Returns the step's records and the length to which they are padded (0 where the kind has no such axis)."""
        return self._records.take(step * self.batch_size, self.batch_size), self.axes.get("seq", 0)

    def _read(self, element, shares):
        size = self.batch_size // shares.total
        fetch = functools.partial(self._fetch, shares=shares, size=size)
        serialized, real, length, origins = tf.numpy_function(fetch, [element], [tf.string, tf.int64, tf.int64, tf.int64])
        serialized.set_shape([size])
        real.set_shape([size])
        length.set_shape([])
        origins.set_shape([size, 2])
        return serialized, real, length, origins

    def _fetch(self, element, shares, size):
        step, share = divmod(int(element), shares.count)
        try:
            records, length = self._take(step)
        except InputError as error:
            self._failure = error
            raise
        missing = self.batch_size - len(records)
        real = np.asarray([1] * len(records) + [0] * missing, np.int64)
        part = slice((shares.first + share) * size, (shares.first + share + 1) * size)
        origins = np.zeros((self.batch_size, 2), np.int64)
        if self._transform is not None:
            places = step * self.batch_size + np.arange(len(records))
            origins[: len(records)] = np.stack([places // self.num_records, self.numbers(step)], axis=1)
        return np.asarray(records + records[-1:] * missing, object)[part], real[part], np.int64(length), origins[part]

    def _parse(self, serialized, real, length, origins):
        batch = tf.io.parse_example(serialized, self._spec)
        # Here, on the host: on accelerators and under XLA a gather beyond its table gives something, and says nothing.
        for name, bound in self._bounds.items():
            inside = tf.reduce_all((batch[name] >= 0) & (batch[name] < bound))
            with tf.control_dependencies([tf.debugging.Assert(inside, [_OUTSIDE])]):
                batch[name] = tf.identity(batch[name])
        batch[IS_REAL.name] *= real
        if self._transform is not None:
            batch = self._transform(batch, origins)
        batch = self._cut(batch, length)
        # int64 is what the files hold; int32 is what accelerators take
        return {name: tf.cast(value, tf.int32) if value.dtype == tf.int64 else value for name, value in batch.items()}

    def _cut(self, batch, length):
        """Returns the batch without the padding beyond `length`: here as it is, for one static shape."""
        del length
        return batch


class BucketedBatches(Batches):
    """Batches of records of about one length: [batch, seq] has another seq from batch to batch, out of the plan's few lengths."""

    def __init__(
        self,
        files: Sequence[RecordFile],
        kind: RecordKind,
        axes: Mapping[str, int],
        batch_size: int,
        plan: BucketPlan,
        transform: Transform | None = None,
    ):
        """Takes what `Batches` takes, files in place of records, and the plan made from their records' lengths."""
        super().__init__(OrderedRecords(files), kind, axes, batch_size, transform)
        self._plan = plan

    def numbers(self, step: int) -> np.ndarray:
        """Returns which records, counted through all files, the step's real examples are: int64[examples]."""
        return self._plan.batch(step)[0]

    def _take(self, step: int) -> tuple[list[bytes], int]:
        numbers, length = self._plan.batch(step)
        return self._records.pick(numbers), length

    def _cut(self, batch, length):
        along_seq = {feature.name: feature.shape.index("seq") for feature in self._kind.features if "seq" in feature.shape}
        if len(self._plan.buckets) == 1:  # one static shape, which is what a TPU takes
            length = int(self._plan.buckets[0])
        # [batch, ..., seq, ...] -> [batch, ..., length, ...]
        cuts = {name: (slice(None),) * (1 + axis) + (slice(length),) for name, axis in along_seq.items()}
        return {name: value[cuts[name]] if name in cuts else value for name, value in batch.items()}


class PackedBatches(Batches):
    """Batches of pre-training examples, several short ones to a row: [rows, seq], in fewer rows than examples."""

    def __init__(
        self,
        records: ShuffledRecords | OrderedRecords,
        kind: RecordKind,
        axes: Mapping[str, int],
        batch_size: int,
        transform: Transform | None = None,
        num_groups: int = 1,
    ):
        """Takes what `Batches` takes, and how many parts of each reader's share are packed apart, one a micro batch."""
        super().__init__(records, kind, axes, batch_size, transform)
        self._num_groups = num_groups

    def _cut(self, batch, length):
        names = sorted(batch)
        new = ("block_ids", "position_ids", "cls_positions")

        def packed(*values):
            rows = pack(dict(zip(names, values)), self._num_groups)
            return [rows[name] for name in (*names, *new)]

        dtypes = [batch[name].dtype for name in names] + [tf.int64] * len(new)
        values = dict(zip((*names, *new), tf.numpy_function(packed, [batch[name] for name in names], dtypes)))
        for name, value in values.items():
            if name in batch and name not in ENCODER_INPUT_NAMES:
                value.set_shape(batch[name].shape)
            elif name == "cls_positions":
                value.set_shape(batch["input_ids"].shape[:1])
            else:
                value.set_shape([None, self.axes["seq"]])
        return values
