"""Documents -> the stretches of text that examples are made of: sentence pairs, or one running text.

The procedure is create_instances_from_document of google-research/bert's create_pretraining_data.py (BERT paper, appendix A.2),
mended where it goes wrong without a word: the short length is drawn for each chunk, "random" text never comes from the same document,
and half of all examples have it, whatever the number of chunks that leave no choice.
"""

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from bert_tf.pretraining.documents import Corpus


class Segments(NamedTuple):
    """An example's text, as positions in `Corpus.ids`: A, and B where there are pairs (else `b_begin == b_end`).

    Attributes:
      a_begin: Where A begins.
      a_end: Where A ends, exclusive.
      b_begin: Where B begins.
      b_end: Where B ends, exclusive.
      is_random_next: Whether B comes from another document: next_sentence_labels 1.
      is_short: Whether the length aimed at was drawn below the full one.
    """

    a_begin: int
    a_end: int
    b_begin: int
    b_end: int
    is_random_next: bool
    is_short: bool


class NextSentenceBalance:
    """Decides which pairs get a random B, so that they are half of all pairs.

    A chunk of one sentence has no B of its own: a random one is forced. Each forced pair is half a random pair too many, a debt that
    later free draws pay: they draw with probability 0.5 less what they pay.
    """

    def __init__(self) -> None:
        self.debt = 0.0

    @property
    def in_arrears(self) -> bool:
        """Whether forced pairs come faster than free ones pay for them, so that a free one should be made on purpose."""
        return self.debt >= 1.0

    def force(self) -> bool:
        """Returns True, the random B of a chunk that has no other, and notes the debt."""
        self.debt += 0.5
        return True

    def draw(self, rng: Random) -> bool:
        """Returns whether a chunk that has a choice gets a random B."""
        payment = min(0.5, self.debt)
        self.debt -= payment
        return rng.random() < 0.5 - payment


def target_length(max_num_pieces: int, short_seq_prob: float, rng: Random) -> int:
    """Returns the number of pieces to aim at: the most, or with probability `short_seq_prob` anything from 2 up to it."""
    return rng.randint(2, max_num_pieces) if rng.random() < short_seq_prob else max_num_pieces


def sentence_pairs(
    corpus: Corpus, sentences: range, max_num_pieces: int, short_seq_prob: float, balance: NextSentenceBalance, rng: Random
) -> Iterator[Segments]:
    """Yields the pairs that one pass over a document, or a stretch of it, makes.

    Sentences are gathered until they reach the length drawn for this chunk, or the stretch ends. A is a random number of them from
    the start; B is the rest, or text of another document, and then the rest goes into the next chunk.

    Args:
      corpus: Two documents at least.
      sentences: The numbers of sentences of one document.
      max_num_pieces: Most pieces of A and B together; longer pairs are cut.
      short_seq_prob: Probability of a shorter length.
      balance: Kept from document to document.
      rng: Source of all draws.
    """
    starts = corpus.sentence_starts
    document = corpus.document_of(sentences.start)
    first = sentences.start
    while first < sentences.stop:
        target = target_length(max_num_pieces, short_seq_prob, rng)
        last = first  # the chunk is first..last
        while last + 1 < sentences.stop and starts[last + 1] - starts[first] < target:
            last += 1
        if last == first and last + 1 < sentences.stop and balance.in_arrears:
            last += 1
        split = rng.randint(first + 1, last) if last > first else first + 1
        if balance.force() if last == first else balance.draw(rng):
            b_begin, b_end = _random_next(corpus, document, target - (starts[split] - starts[first]), rng)
            is_random_next, next_first = True, split
        else:
            b_begin, b_end = starts[split], starts[last + 1]
            is_random_next, next_first = False, last + 1
        cut = truncate_spans(starts[first], starts[split], b_begin, b_end, max_num_pieces, rng)
        yield Segments(*cut, is_random_next, target < max_num_pieces)
        first = next_first


def running_text(corpus: Corpus, sentences: range, max_num_pieces: int, short_seq_prob: float, rng: Random) -> Iterator[Segments]:
    """Yields the sentences' text in stretches of the length drawn for each, none left out: examples without next sentences."""
    begin, stop = corpus.sentence_starts[sentences.start], corpus.sentence_starts[sentences.stop]
    while begin < stop:
        target = target_length(max_num_pieces, short_seq_prob, rng)
        end = min(begin + target, stop)
        yield Segments(begin, end, end, end, False, target < max_num_pieces)
        begin = end


def truncate_spans(a_begin: int, a_end: int, b_begin: int, b_end: int, max_num_pieces: int, rng: Random) -> tuple[int, int, int, int]:
    """Returns A and B cut to `max_num_pieces` in all, piece by piece from the longer one, from its front or its back by chance."""
    while (a_end - a_begin) + (b_end - b_begin) > max_num_pieces:
        front = rng.random() < 0.5
        if a_end - a_begin > b_end - b_begin:
            a_begin, a_end = (a_begin + 1, a_end) if front else (a_begin, a_end - 1)
        else:
            b_begin, b_end = (b_begin + 1, b_end) if front else (b_begin, b_end - 1)
    return a_begin, a_end, b_begin, b_end


def _random_next(corpus: Corpus, document: int, length: int, rng: Random) -> tuple[int, int]:
    """Returns where text of another document begins and ends: whole sentences, `length` pieces or to the document's end."""
    other = rng.randrange(corpus.num_documents - 1)
    other += other >= document
    sentences = corpus.sentences_of(other)
    starts = corpus.sentence_starts
    first = rng.choice(sentences)
    end = first + 1
    while end < sentences.stop and starts[end] - starts[first] < length:
        end += 1
    return starts[first], starts[end]
