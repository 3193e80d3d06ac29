"""A tokenized corpus in files: written once, block by block, then read by many processes through memory mapping.

`ids.bin` holds all pieces, as uint16 where the vocabulary allows, else as int32; `sentences.bin` the position at which each sentence
starts, `documents.bin` the sentence with which each document starts, both int64 with one number more at the end. Long documents are
gone through in stretches, whose first sentences are in `stretches.bin`, likewise. In all some 2 bytes a piece (or 4), 8 a sentence and
16 a document, in this machine's byte order.
"""

import mmap
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bert_tf.data.ledger import Ledger
from bert_tf.pretraining.documents import Corpus

_IDS, _SENTENCES, _DOCUMENTS, _STRETCHES = "ids.bin", "sentences.bin", "documents.bin", "stretches.bin"
_DOCUMENTS_AT_ONCE = 1 << 16


class TokenizedBlock(NamedTuple):
    """The sentences of a block of text, those without a piece left out.

    Attributes:
      ids: int[pieces], of all sentences.
      lengths: int64[sentences], their pieces; none is 0.
      documents: int64[sentences], how many ends of documents come before each in the block.
      num_ends: Ends of documents in the block; the next block goes on with what comes after the last.
      num_counted: Pieces that were counted by `id_counted`: unknown ones, and single Chinese characters.
    """

    ids: npt.NDArray[Any]
    lengths: npt.NDArray[np.int64]
    documents: npt.NDArray[np.int64]
    num_ends: int
    num_counted: tuple[int, int]


def id_dtype(vocab_size: int) -> str:
    """Returns the type that ids are spooled in."""
    return "uint16" if vocab_size <= 1 << 16 else "int32"


def stretch_in_document(starts: npt.NDArray[np.int64], stretch_pieces: int) -> npt.NDArray[np.int64]:
    """Returns a number that grows where a document is cut into stretches, given where its sentences start in it, int64[sentences].

    A stretch has so many pieces, or as many more or less as it takes to end with a sentence.
    """
    return starts // stretch_pieces


class SpoolWriter:
    """Appends blocks to a spool, and knows after a kill how many are in.

    Attributes:
      num_blocks: Blocks that are in.
      counts: documents, sentences, tokens and the two numbers that blocks count, so far.
      sentences_of_file: The sentences of each file so far.
      identity: What the spool is made from: JSON.
      num_stretches: Stretches of documents, once the spool is whole.
      is_whole: Whether `finish` was called.
    """

    def __init__(self, folder: str, identity: Any, vocab_size: int):
        """Goes on with the folder's spool if it is made from the same."""
        self.identity = identity
        self._ledger = ledger = Ledger(folder, identity)
        self._dtype = id_dtype(vocab_size)
        note = ledger.note
        self.is_whole: bool = note.get("is_whole", False)
        self.num_blocks: int = note.get("num_blocks", 0)
        self.num_stretches: int = note.get("num_stretches", 0)
        self.counts: dict[str, int] = note.get("counts", dict.fromkeys(("documents", "sentences", "tokens", "unknown", "cjk"), 0))
        self.sentences_of_file: dict[str, int] = note.get("sentences_of_file", {})
        self._num_ends: int = note.get("num_ends", 0)
        self._last_document: int = note.get("last_document", -1)
        if not self.num_blocks:
            ledger.append(_SENTENCES, np.zeros(1, np.int64).tobytes())

    def add(self, block: TokenizedBlock, path: str) -> None:
        """Appends a block of the file `path`."""
        ends = self.counts["tokens"] + np.cumsum(block.lengths)
        documents = self._num_ends + block.documents
        is_first = np.diff(documents, prepend=self._last_document) != 0
        self._ledger.append(_IDS, block.ids.astype(self._dtype).tobytes())
        self._ledger.append(_SENTENCES, ends.astype(np.int64).tobytes())
        self._ledger.append(_DOCUMENTS, (self.counts["sentences"] + np.flatnonzero(is_first)).astype(np.int64).tobytes())
        self.num_blocks += 1
        self._num_ends += block.num_ends
        if len(documents):
            self._last_document = int(documents[-1])
        more = (int(is_first.sum()), len(block.lengths), len(block.ids), *block.num_counted)
        self.counts = {name: count + new for (name, count), new in zip(self.counts.items(), more, strict=True)}
        self.sentences_of_file[path] = self.sentences_of_file.get(path, 0) + len(block.lengths)
        self._commit()

    def finish(self, stretch_pieces: int) -> None:
        """Completes the spool; a document is cut into stretches of so many pieces, or a sentence more."""
        self._ledger.append(_DOCUMENTS, np.array([self.counts["sentences"]], np.int64).tobytes())
        for starts in self._stretches(stretch_pieces):
            self._ledger.append(_STRETCHES, starts.astype(np.int64).tobytes())
            self.num_stretches += len(starts)
        self._ledger.append(_STRETCHES, np.array([self.counts["sentences"]], np.int64).tobytes())
        self.is_whole = True
        self._commit()

    def _stretches(self, stretch_pieces: int) -> Iterator[npt.NDArray[np.int64]]:
        documents = np.memmap(self._ledger.path(_DOCUMENTS), np.int64, "r")
        sentences = np.memmap(self._ledger.path(_SENTENCES), np.int64, "r")
        for first in range(0, len(documents) - 1, _DOCUMENTS_AT_ONCE):
            starts = np.asarray(documents[first : first + _DOCUMENTS_AT_ONCE + 1])
            positions = np.asarray(sentences[starts])
            cuts = [starts[:-1]]
            for number in np.flatnonzero(np.diff(positions) > stretch_pieces):
                inside = np.asarray(sentences[starts[number] : starts[number + 1]]) - positions[number]
                cuts.append(starts[number] + np.flatnonzero(np.diff(stretch_in_document(inside, stretch_pieces), prepend=0)))
            yield np.sort(np.concatenate(cuts))

    def _commit(self) -> None:
        self._ledger.commit(
            is_whole=self.is_whole,
            num_blocks=self.num_blocks,
            num_stretches=self.num_stretches,
            counts=self.counts,
            sentences_of_file=self.sentences_of_file,
            num_ends=self._num_ends,
            last_document=self._last_document,
        )


class Spool(Corpus):
    """A whole spool, read as a `Corpus`: what is looked at is loaded by the operating system, and left out again when memory is short."""

    def __init__(self, folder: str, vocab_size: int):
        """Opens a spool that `SpoolWriter` has finished for a vocabulary of this size."""
        kind = "H" if id_dtype(vocab_size) == "uint16" else "i"
        super().__init__(_mapped(folder, _IDS, kind), _mapped(folder, _SENTENCES, "q"), _mapped(folder, _DOCUMENTS, "q"))
        self._stretch_starts = _mapped(folder, _STRETCHES, "q")

    @property
    def num_stretches(self) -> int:
        """Number of stretches: documents, or parts of long ones."""
        return len(self._stretch_starts) - 1

    def stretch(self, number: int) -> range:
        """Returns the sentences of a stretch."""
        return range(self._stretch_starts[number], self._stretch_starts[number + 1])


def _mapped(folder: str, name: str, kind: str) -> memoryview:
    """Returns a file's numbers, which come out as Python's own when they are asked for."""
    with open(os.path.join(folder, name), "rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)).cast(kind)
