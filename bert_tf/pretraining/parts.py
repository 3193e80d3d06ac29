"""The examples of a corpus in parts: each can be made alone, and comes out the same whoever makes it.

All passes over all documents are one long list, each pass in a random order of its own; a part is so many neighbours on that list, so
its text comes from all over the corpus. Within a part all examples are shuffled. A part draws from a generator of its own.
"""

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

from bert_tf.pretraining.documents import Corpus
from bert_tf.pretraining.masking import MaskedExample, MaskingRules, assemble, mask
from bert_tf.pretraining.sentence_pairs import NextSentenceBalance, Segments, running_text, sentence_pairs

# Rounds of the Feistel network, enough for orders of four numbers to be uniform too, and odd constants to mix with (Knuth's 2^64 / golden
# ratio, and a prime of xxHash).
_ROUNDS = 8
_MIX = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)
_64_BITS = (1 << 64) - 1


@dataclass(frozen=True)
class ExampleRules:
    """What examples are made by.

    Attributes:
      masking: How pieces are masked.
      max_seq_length: Length in pieces, [CLS] and [SEP] included.
      short_seq_prob: Share of examples drawn shorter.
      use_nsp: Whether examples are sentence pairs.
      seed: Seed of every draw.
      is_masked: Whether masks are drawn here; else the training draws them, or needs none.
      objective: What the examples are to teach: masked_lm or next_token.
    """

    masking: MaskingRules
    max_seq_length: int
    short_seq_prob: float
    use_nsp: bool
    seed: int
    is_masked: bool = True
    objective: str = "masked_lm"


@dataclass(frozen=True)
class PartPlan:
    """How the passes over a corpus are cut into parts.

    Attributes:
      num_stretches: Documents of the corpus, a long one counted by the stretches that it is cut into.
      dupe_factor: Passes over the corpus.
      num_parts: Number of parts.
      seed: Seed of the orders.
    """

    num_stretches: int
    dupe_factor: int
    num_parts: int
    seed: int

    @classmethod
    def of_size(cls, num_stretches: int, num_pieces: int, dupe_factor: int, part_pieces: int, seed: int) -> "PartPlan":
        """Returns a plan of parts of about `part_pieces` pieces each, of a corpus of `num_pieces`."""
        wanted = -(-num_pieces * dupe_factor // part_pieces)
        return cls(num_stretches, dupe_factor, max(1, min(wanted, num_stretches * dupe_factor)), seed)

    def stretches_of(self, part: int) -> Iterator[int]:
        """Yields the numbers of a part's stretches, in the order in which they are gone through."""
        total = self.num_stretches * self.dupe_factor
        for place in range(part * total // self.num_parts, (part + 1) * total // self.num_parts):
            number, within = divmod(place, self.num_stretches)
            yield shuffled_place(within, self.num_stretches, self._order(number))

    def places_of(self, stretch: int) -> Iterator[tuple[int, int]]:
        """Yields the part in which each pass goes through a stretch, and its place on the list of all passes: `stretches_of` reversed."""
        total = self.num_stretches * self.dupe_factor
        for number in range(self.dupe_factor):
            place = number * self.num_stretches + place_in_shuffle(stretch, self.num_stretches, self._order(number))
            yield ((place + 1) * self.num_parts - 1) // total, place

    def _order(self, number: int) -> str:
        return f"{self.seed} pass {number}"


def shuffled_place(place: int, size: int, seed: str) -> int:
    """Returns what stands at a place of a random order of the numbers below `size`, without the order in memory.

    A Feistel network over the next power of four, walked until it comes out below `size` (Black and Rogaway, 2002, "Ciphers with
    arbitrary finite domains").
    """
    half, keys = _half_bits(size), _round_keys(seed)
    lower = (1 << half) - 1
    while True:
        left, right = place >> half, place & lower
        for key in keys:
            left, right = right, left ^ _mixed(right, key) & lower
        place = left << half | right
        if place < size:
            return place


def place_in_shuffle(number: int, size: int, seed: str) -> int:
    """Returns at which place `shuffled_place` puts a number: the same network, walked backwards."""
    half, keys = _half_bits(size), _round_keys(seed)
    lower = (1 << half) - 1
    while True:
        left, right = number >> half, number & lower
        for key in reversed(keys):
            left, right = right ^ _mixed(left, key) & lower, left
        number = left << half | right
        if number < size:
            return number


def part_examples(corpus: Corpus, stretches: Iterable[range], part: int, rules: ExampleRules) -> Iterator[tuple[Segments, MaskedExample]]:
    """Yields a part's examples, shuffled and, if so asked, masked, with where their text comes from.

    Args:
      corpus: Two documents at least, where examples are pairs.
      stretches: The sentences of each of the part's stretches.
      part: The part's number.
      rules: What examples are made by.
    """
    rng = Random(f"{rules.seed} part {part}")
    segments = _draw_segments(corpus, stretches, rules, rng)
    rng.shuffle(segments)
    for found in segments:
        example = assemble(corpus.ids[found.a_begin : found.a_end], corpus.ids[found.b_begin : found.b_end], rules.masking)
        yield found, mask(example, rules.masking, rng) if rules.is_masked else example


def _draw_segments(corpus: Corpus, stretches: Iterable[range], rules: ExampleRules, rng: Random) -> list[Segments]:
    balance = NextSentenceBalance()
    segments: list[Segments] = []
    for sentences in stretches:
        if rules.use_nsp:  # [CLS] A [SEP] B [SEP]
            segments.extend(sentence_pairs(corpus, sentences, rules.max_seq_length - 3, rules.short_seq_prob, balance, rng))
        else:  # [CLS] A [SEP]
            segments.extend(running_text(corpus, sentences, rules.max_seq_length - 2, rules.short_seq_prob, rng))
    return segments


def _half_bits(size: int) -> int:
    """Returns how many bits each half of the network has, so that it holds the numbers below `size`."""
    return max(1, ((size - 1).bit_length() + 1) // 2)


def _mixed(half: int, key: int) -> int:
    mixed = (half + key) * _MIX[0] & _64_BITS
    return ((mixed ^ mixed >> 29) * _MIX[1] & _64_BITS) >> 32


@functools.lru_cache(maxsize=16)
def _round_keys(seed: str) -> tuple[int, ...]:
    rng = Random(seed)
    return tuple(rng.getrandbits(64) for _ in range(_ROUNDS))
