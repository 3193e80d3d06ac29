"""Where a block of tokenized text stands in the corpus, when blocks are tokenized anywhere and in any order.

A document may reach over blocks, and documents and their stretches are numbered through all files. A block alone knows neither, but what
it must be told is little: notes of all blocks are gathered, gone through in order, and each block gets what the ones before it come
to. It takes two rounds, as only a block that knows where its first document began can tell where that one is cut.

Everything comes out as in `spool.py`, which reads the blocks in order. Needs no TensorFlow.
"""

import functools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bert_tf.data.spool import TokenizedBlock, stretch_in_document

# Which block of the corpus: number of its file, and its number in the file. Keys in order are the corpus in order.
BlockKey = tuple[int, int]


class Edges(NamedTuple):
    """First round: what later blocks must know of one to tell where their first document began.

    Attributes:
      num_ends: Ends of documents in the block.
      first_document: How many of them come before the first sentence; -1 where there is no sentence.
      last_document: The same of the last sentence.
      last_pieces: Pieces of all sentences of the last one's document in this block.
      last_sentence: Pieces of the last sentence.
    """

    num_ends: int
    first_document: int
    last_document: int
    last_pieces: int
    last_sentence: int


class Before(NamedTuple):
    """What comes before a block.

    Attributes:
      num_ends: Ends of documents.
      last_document: How many ends come before the last sentence; -1 where there is none.
      open_pieces: Pieces so far of the last sentence's document.
      last_start: Where the last sentence begins in its document.
    """

    num_ends: int = 0
    last_document: int = -1
    open_pieces: int = 0
    last_start: int = 0


class Counts(NamedTuple):
    """Second round: what a block holds. Documents and stretches count where they begin."""

    documents: int = 0
    stretches: int = 0
    sentences: int = 0
    tokens: int = 0
    unknown: int = 0
    cjk: int = 0

    def plus(self, other: "Counts") -> "Counts":
        """Returns the sums."""
        return Counts(*(own + more for own, more in zip(self, other, strict=True)))

    @classmethod
    def total(cls, all_counts: Iterable["Counts"]) -> "Counts":
        """Returns the sums of any number of blocks."""
        return functools.reduce(cls.plus, all_counts, cls())


class CutBlock(NamedTuple):
    """A block, and where documents and stretches begin in it.

    Attributes:
      key: Which block.
      text: Its sentences.
      sentence_starts: Where each sentence starts in its ids, and the end of the last, int64[sentences + 1].
      is_document: Whether a sentence begins a document, bool[sentences].
      is_stretch: Whether it begins a stretch, bool[sentences].
    """

    key: BlockKey
    text: TokenizedBlock
    sentence_starts: npt.NDArray[np.int64]
    is_document: npt.NDArray[np.bool_]
    is_stretch: npt.NDArray[np.bool_]


def edges_of(block: TokenizedBlock) -> Edges:
    """Returns a block's note of the first round."""
    if not len(block.lengths):
        return Edges(block.num_ends, -1, -1, 0, 0)
    last_pieces = block.lengths[block.documents == block.documents[-1]].sum()
    numbers = block.documents[0], block.documents[-1], last_pieces, block.lengths[-1]
    return Edges(block.num_ends, *map(int, numbers))


def before_each(notes: Iterable[tuple[BlockKey, Edges]]) -> Iterator[tuple[BlockKey, Before]]:
    """Yields for each block what comes before it; the notes are in order."""
    before = Before()
    for key, edges in notes:
        yield key, before
        num_ends = before.num_ends + edges.num_ends
        if edges.first_document < 0:
            before = before._replace(num_ends=num_ends)
            continue
        last_document = before.num_ends + edges.last_document
        goes_on = last_document == before.last_document  # the whole block is inside of one document that began before
        open_pieces = edges.last_pieces + (before.open_pieces if goes_on else 0)
        before = Before(num_ends, last_document, open_pieces, open_pieces - edges.last_sentence)


def cut_block(key: BlockKey, block: TokenizedBlock, before: Before, stretch_pieces: int) -> CutBlock:
    """Returns the block with its documents and their stretches, which have so many pieces, or a sentence more."""
    sentence_starts = np.concatenate([[0], np.cumsum(block.lengths)])
    starts = sentence_starts[:-1]
    is_document = np.diff(before.num_ends + block.documents, prepend=before.last_document) != 0
    # where the document of each sentence begins: counted from the block, so below 0 where that was earlier
    begins = starts[np.maximum.accumulate(np.where(is_document, np.arange(len(starts)), 0))]
    begins[np.cumsum(is_document) == 0] = -before.open_pieces
    numbers = stretch_in_document(starts - begins, stretch_pieces)
    number_before = stretch_in_document(np.array(before.last_start), stretch_pieces)
    is_stretch = is_document | (np.diff(numbers, prepend=number_before) > 0)
    return CutBlock(key, block, sentence_starts, is_document, is_stretch)


def counts_of(block: CutBlock) -> Counts:
    """Returns a block's note of the second round."""
    is_document, is_stretch, text = block.is_document, block.is_stretch, block.text
    return Counts(int(is_document.sum()), int(is_stretch.sum()), len(text.lengths), len(text.ids), *text.num_counted)


def sums_before_each(notes: Iterable[tuple[BlockKey, Counts]]) -> Iterator[tuple[BlockKey, Counts]]:
    """Yields for each block the sums of the ones before it; the notes are in order."""
    before = Counts()
    for key, counts in notes:
        yield key, before
        before = before.plus(counts)
