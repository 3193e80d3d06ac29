"""Batching by length: which records stand together in which batch, and to what length they are padded.

Most texts are far shorter than max_seq_length, and padding costs as much as text. Everything here is arithmetic on the records'
lengths: no file, no TensorFlow.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# Each length is a shape that XLA and TPUs compile anew.
MOST_BUCKETS = 8
# Lengths that vector units like; finer ones save next to nothing.
_MULTIPLE = 8

Lengths = npt.NDArray[np.int64]


def choose_lengths(lengths: Lengths, max_seq_length: int) -> tuple[int, ...]:
    """Returns the bucket lengths, ascending and at most `MOST_BUCKETS`, that pad these records least.

    They are multiples of 8 (or max_seq_length itself), and the last one holds the longest record.

    For example, `choose_lengths(np.array([5, 7, 120]), 128)` is (8, 120).

    Args:
      lengths: int64[records], pieces of each record without padding.
      max_seq_length: The length that records are written at.
    """
    rounded = np.minimum(-(-lengths // _MULTIPLE) * _MULTIPLE, max_seq_length)
    sizes, counts = np.unique(rounded, return_counts=True)
    num = len(sizes)
    before = np.concatenate([[0], np.cumsum(counts)])
    # cost[j] is the least number of padded positions for all records up to sizes[j - 1], with the buckets allowed so far
    cost = np.full(num + 1, np.inf)
    cost[0] = 0
    choices = []
    for _ in range(min(MOST_BUCKETS, num)):
        # a bucket for sizes[i] up to sizes[j - 1] costs its records times its length
        step = np.where(np.arange(num)[:, None] <= np.arange(num), (before[1:] - before[:-1, None]) * sizes, np.inf)
        whole = cost[:num, None] + step  # [first, last]
        best = whole.argmin(axis=0)
        choices.append(best)
        cost = np.concatenate([[np.inf], whole.min(axis=0)])
    chosen: list[int] = []
    last = num
    for best in reversed(choices):
        chosen.append(int(sizes[last - 1]))
        last = int(best[last - 1])
    return tuple(reversed(chosen))


class BucketPlan:
    """Batches of records of about one length, step by step, as a pure function of the lengths, the seed and the step.

    Attributes:
      num_records: How many records there are.
      num_steps: How many steps are planned.
      buckets: int64[buckets], the lengths that batches are padded to.

    Steps come in windows of about an epoch. A window holds the same records as it would without buckets; they are grouped by
    length, what does not fill a batch moves up to the next longer bucket, and the batches come in a seeded order. So every record
    occurs once an epoch, every batch is full, and the number of steps is the same as without buckets.
    """

    def __init__(self, lengths: Lengths, buckets: Sequence[int], batch_size: int, num_steps: int | None = None, seed: int | None = None):
        """Plans all steps.

        Args:
          lengths: int64[records], pieces of each record without padding.
          buckets: Ascending lengths, the last one at least as long as the longest record.
          batch_size: Records a batch.
          num_steps: Steps of the whole training. None: one pass over the records, one batch perhaps not full.
          seed: The seed of all orders. None: the records' own order, and the longest batches first, so that what does not fit into
            memory fails at once.
        """
        self.num_records = len(lengths)
        self._steps_per_window = -(-len(lengths) // batch_size)
        self.num_steps = self._steps_per_window if num_steps is None else num_steps
        self.buckets = np.asarray(buckets)
        self._bucket_of = np.searchsorted(self.buckets, lengths)  # int64[records]
        self._batch_size = batch_size
        self._seed = seed
        self._current: tuple[int, list[tuple[Lengths, int]]] = (-1, [])  # a window and its batches

    def batch(self, step: int) -> tuple[Lengths, int]:
        """Returns the step's record numbers, int64[batch_size or, in one batch of one pass, fewer], and its length in pieces."""
        if not 0 <= step < self.num_steps:
            raise IndexError(f"step {step} of {self.num_steps}")
        window, within = divmod(step, self._steps_per_window)
        current, batches = self._current  # read once: the thread that reads ahead may have come to the next window
        if current != window:
            batches = self._plan(window)
            self._current = (window, batches)
        return batches[within]

    def _plan(self, window: int) -> list[tuple[Lengths, int]]:
        first = window * self._steps_per_window
        end = min(first + self._steps_per_window, self.num_steps)
        records = self._stream(first * self._batch_size, end * self._batch_size)
        batches: list[tuple[Lengths, int]] = []
        waiting = records[:0]
        for bucket, length in enumerate(self.buckets):
            waiting = np.concatenate([waiting, records[self._bucket_of[records] == bucket]])
            while len(waiting) >= self._batch_size:
                batches.append((waiting[: self._batch_size], int(length)))
                waiting = waiting[self._batch_size :]
        if len(waiting):
            batches.append((waiting, int(self.buckets[self._bucket_of[waiting].max()])))
        if self._seed is None:
            return batches[::-1]
        order = np.random.default_rng([self._seed, window, 1]).permutation(len(batches))
        return [batches[number] for number in order]

    def _stream(self, first: int, end: int) -> Lengths:
        """Returns the records at these places of the endless stream of epochs, or of the one pass."""
        if self._seed is None:
            return np.arange(first, min(end, self.num_records))
        epochs = range(first // self.num_records, (end - 1) // self.num_records + 1)
        orders = [np.random.default_rng([self._seed, epoch, 0]).permutation(self.num_records) for epoch in epochs]
        begin = epochs[0] * self.num_records
        return np.concatenate(orders)[first - begin : end - begin]
