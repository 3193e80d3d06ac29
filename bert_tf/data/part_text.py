"""The text of a part of the corpus, sent there in fragments from the blocks that hold it, and put together again.

A part that is made away from the corpus has the text of its own stretches alone: the documents among which random next sentences are
drawn. They come from all over the corpus, since the order of the stretches is random. A part of a few long documents gets guests
besides, the beginnings of some documents that are the same for all parts, so that random text is never of the same document and hardly
ever of the same few. Needs no TensorFlow.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import numpy as np

from bert_tf.data.block_places import BlockKey, Counts, CutBlock
from bert_tf.data.spool import id_dtype
from bert_tf.pretraining.documents import Corpus
from bert_tf.pretraining.parts import PartPlan, shuffled_place

# A part with fewer documents has guests: so many, each of this share of a part's pieces at most, or of one sentence.
NUM_GUESTS = 16
_GUEST_SHARE = 512
_NO_PLACE = -1

# Where its stretch stands on the plan's list (a guest nowhere), number of the document, number of the stretch, key of the block, ids and
# lengths of its sentences: a plain tuple, of which pipelines ship millions.
Fragment = tuple[int, int, int, BlockKey, bytes, bytes]


def fragments_of(block: CutBlock, before: Counts, plan: PartPlan, num_ids: int) -> Iterator[tuple[int, Fragment]]:
    """Yields what is in a block of each stretch, for each part that goes through it.

    Args:
      block: The block.
      before: The sums of the blocks before.
      plan: The parts.
      num_ids: How many ids there are to tell apart.
    """
    for first, stop, document, stretch in _stretches(block, before):
        content = _content(block, first, stop, num_ids)
        for part, place in plan.places_of(stretch):
            yield part, (place, document, stretch, block.key, *content)


def guests_of(
    block: CutBlock, before: Counts, plan: PartPlan, num_documents: int, part_pieces: int, num_ids: int
) -> Iterator[tuple[int, Fragment]]:
    """Yields the guests that begin in a block, for each part.

    Args:
      block: The block.
      before: The sums of the blocks before.
      plan: The parts.
      num_documents: Number of documents of the corpus.
      part_pieces: Pieces of a part.
      num_ids: How many ids there are to tell apart.
    """
    seed = f"{plan.seed} guests"
    chosen = {shuffled_place(place, num_documents, seed) for place in range(min(NUM_GUESTS, num_documents))}
    for first, stop, document, stretch in _stretches(block, before):
        if document in chosen and block.is_document[first]:
            fitting = np.searchsorted(np.cumsum(block.text.lengths[first:stop]), part_pieces // _GUEST_SHARE, "right")
            content = _content(block, first, first + max(1, int(fitting)), num_ids)
            for part in range(plan.num_parts):
                yield part, (_NO_PLACE, document, stretch, block.key, *content)


def part_text(fragments: Iterable[Fragment], num_ids: int) -> tuple[Corpus, list[range]]:
    """Returns a part's documents, as a corpus of their own, and the sentences of its stretches, in the plan's order.

    The fragments may come in any order. Where a part reaches from one pass into the next, a stretch can be in it twice.
    """
    found = sorted(fragments)
    documents = {document for place, document, *_ in found if place != _NO_PLACE}
    own = {(document, stretch, key): content for place, document, stretch, key, *content in found if place != _NO_PLACE}
    if len(documents) < NUM_GUESTS:
        own |= {
            (document, stretch, key): content
            for place, document, stretch, key, *content in found
            if place == _NO_PLACE and document not in documents
        }
    in_order = sorted(own.items())
    lengths = [np.frombuffer(content[1], np.int32) for _, content in in_order]
    counts = np.cumsum([0, *map(len, lengths)])  # of sentences
    stretches = {}
    for stretch, numbers in groupby(range(len(in_order)), lambda number: in_order[number][0][1]):
        first, *more = numbers
        stretches[stretch] = range(int(counts[first]), int(counts[(more or [first])[-1] + 1]))
    first_of = [number for number, ((document, *_), _) in enumerate(in_order) if not number or document != in_order[number - 1][0][0]]
    ids: Any = memoryview(b"".join(content[0] for _, content in in_order)).cast("H" if id_dtype(num_ids) == "uint16" else "i")
    sentence_starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths), dtype=np.int64)]).tolist()
    corpus = Corpus(ids, sentence_starts, [*counts[first_of].tolist(), int(counts[-1])])
    places = sorted({(place, stretch) for place, _, stretch, *_ in found if place != _NO_PLACE})
    return corpus, [stretches[stretch] for _, stretch in places]


def _stretches(block: CutBlock, before: Counts) -> Iterator[tuple[int, int, int, int]]:
    """Yields for each stretch in a block its sentences from and to, its document's number and its own."""
    starts = np.flatnonzero(block.is_stretch).tolist()
    num_sentences = len(block.is_stretch)
    if num_sentences and (not starts or starts[0]):
        starts.insert(0, 0)  # goes on from the block before
    documents = before.documents - 1 + np.cumsum(block.is_document)
    stretches = before.stretches - 1 + np.cumsum(block.is_stretch)
    for first, stop in zip(starts, [*starts[1:], num_sentences]):
        yield first, stop, int(documents[first]), int(stretches[first])


def _content(block: CutBlock, first: int, stop: int, num_ids: int) -> tuple[bytes, bytes]:
    """Returns the ids and the lengths of sentences of a block."""
    begin, end = block.sentence_starts[[first, stop]]
    ids = block.text.ids[begin:end].astype(id_dtype(num_ids))
    return ids.tobytes(), block.text.lengths[first:stop].astype(np.int32).tobytes()
