"""Which record stands at which place of a stream: a pure function of (seed, place), so that a run resumes anywhere at once."""

from collections.abc import Sequence

import numpy as np

from bert_tf.data.records import RecordFile

# A block is read in one piece; a pool of blocks, drawn from all over the files, is held in memory and shuffled. Data of up to
# BLOCK_RECORDS x POOL_BLOCKS records is thus shuffled as a whole.
BLOCK_RECORDS = 1024
POOL_BLOCKS = 64


class ShuffledRecords:
    """An endless stream of records, epoch after epoch, each epoch in an order of its own.

    Every record occurs once an epoch. An epoch permutes all blocks, then the records within each pool of blocks.
    """

    def __init__(self, files: Sequence[RecordFile], seed: int):
        """Takes the files and the seed of all orders."""
        self.files = list(files)
        self._seed = seed
        blocks = [
            (number, first, min(first + BLOCK_RECORDS, len(file)))
            for number, file in enumerate(self.files)
            for first in range(0, len(file), BLOCK_RECORDS)
        ]
        self._blocks = np.asarray(blocks, np.int64)  # [blocks, (file, first record, end)]
        self.num_records = int(sum(len(file) for file in self.files))
        self._pool_key: tuple[int, int] | None = None
        self._pool_records: list[bytes] = []
        self._pool_numbers: tuple[tuple[int, int], np.ndarray] = ((-1, -1), np.empty(0))
        self._epoch = -1
        self._plan: tuple[np.ndarray, np.ndarray] = (np.empty(0), np.empty(0))

    def take(self, place: int, count: int) -> list[bytes]:
        """Returns `count` records from `place` on, across the ends of epochs where need be."""
        records: list[bytes] = []
        while len(records) < count:
            epoch, offset = divmod(place + len(records), self.num_records)
            order, ends = self._epoch_plan(epoch)
            pool = int(np.searchsorted(ends, offset, side="right"))
            pool_records = self._read_pool(epoch, pool, order)
            within = offset - (int(ends[pool - 1]) if pool else 0)
            records.extend(pool_records[within : within + count - len(records)])
        return records

    def _epoch_plan(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the epoch's order of blocks, int64[blocks], and the place where each pool ends, int64[pools]."""
        if epoch != self._epoch:
            order = self._random(epoch, 0).permutation(len(self._blocks))
            sizes = self._blocks[order, 2] - self._blocks[order, 1]
            ends = np.cumsum(np.add.reduceat(sizes, np.arange(0, len(order), POOL_BLOCKS)))
            self._epoch, self._plan = epoch, (order, ends)
        return self._plan

    def numbers(self, place: int, count: int) -> np.ndarray:
        """Returns which records `take` returns, counted through all files: int64[count]."""
        found: list[int] = []
        while len(found) < count:
            epoch, offset = divmod(place + len(found), self.num_records)
            order, ends = self._epoch_plan(epoch)
            pool = int(np.searchsorted(ends, offset, side="right"))
            within = offset - (int(ends[pool - 1]) if pool else 0)
            found.extend(self._number_pool(epoch, pool, order)[within : within + count - len(found)])
        return np.asarray(found, np.int64)

    def _number_pool(self, epoch: int, pool: int, order: np.ndarray) -> np.ndarray:
        """Returns which records the pool holds, in their order: int64[records]."""
        key, numbers = self._pool_numbers  # read once: another thread may ask for another pool
        if key != (epoch, pool):
            before = np.cumsum([0, *map(len, self.files)])
            blocks = self._blocks[order[pool * POOL_BLOCKS : (pool + 1) * POOL_BLOCKS]]
            numbers = np.concatenate([before[file] + np.arange(first, end) for file, first, end in blocks])
            numbers = numbers[self._shuffled(epoch, pool, len(numbers))]
            self._pool_numbers = ((epoch, pool), numbers)
        return numbers

    def _read_pool(self, epoch: int, pool: int, order: np.ndarray) -> list[bytes]:
        if self._pool_key != (epoch, pool):
            records: list[bytes] = []
            for block in order[pool * POOL_BLOCKS : (pool + 1) * POOL_BLOCKS]:
                file, first, end = self._blocks[block]
                records.extend(self.files[file].read(np.arange(first, end)))
            shuffled = self._shuffled(epoch, pool, len(records))
            self._pool_key, self._pool_records = (epoch, pool), [records[number] for number in shuffled]
        return self._pool_records

    def _shuffled(self, epoch: int, pool: int, size: int) -> np.ndarray:
        return self._random(epoch, 1 + pool).permutation(size)

    def _random(self, epoch: int, use: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, epoch, use])


class OrderedRecords:
    """The records of all files, first to last."""

    def __init__(self, files: Sequence[RecordFile]):
        """Takes the files in their order."""
        self.files = list(files)
        self._ends = np.cumsum([len(file) for file in self.files])
        self.num_records = int(self._ends[-1])

    def take(self, place: int, count: int) -> list[bytes]:
        """Returns up to `count` records from `place` on; fewer at the end."""
        records: list[bytes] = []
        end = min(place + count, self.num_records)
        while place < end:
            file = int(np.searchsorted(self._ends, place, side="right"))
            first = place - (int(self._ends[file - 1]) if file else 0)
            last = min(first + end - place, len(self.files[file]))
            records.extend(self.files[file].read(np.arange(first, last)))
            place += last - first
        return records

    def numbers(self, place: int, count: int) -> np.ndarray:
        """Returns which records `take` returns, counted through all files: up to int64[count]."""
        return np.arange(place, min(place + count, self.num_records))

    def pick(self, numbers: np.ndarray) -> list[bytes]:
        """Returns the records of these numbers, counted through all files, in the order asked for."""
        ascending = np.argsort(numbers)
        owners = np.searchsorted(self._ends, numbers[ascending], side="right")
        records: list[bytes] = []
        for owner in np.unique(owners):
            first = int(self._ends[owner - 1]) if owner else 0
            records.extend(self.files[owner].read(numbers[ascending[owners == owner]] - first))
        places = np.argsort(ascending)
        return [records[place] for place in places]
