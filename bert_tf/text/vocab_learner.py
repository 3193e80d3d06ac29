"""Learns a WordPiece vocabulary from word counts: byte-pair merges whose inner pieces carry ##.

The released vocabularies' learner was never published. Merging the commonest pair of neighbours (Sennrich et al. 2016,
arXiv:1508.07909) gives pieces that the greedy longest-match tokenizer uses as well. Nothing depends on the order of the words or on
Python's hash seed: equal counts are broken by the text of the pair.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from bert_tf.text.vocab import CLS, MASK, PAD, SEP, UNK
from bert_tf.text.wordpiece import MAX_WORD_CHARS

CONTINUATION = "##"

# So many of the commonest characters enter whatever the coverage asked for. An alphabetic script needs far fewer; the coverage is
# there for text with many thousand different characters, which would fill the vocabulary.
FREE_CHARACTERS = 1000

# Merges are counted in so many of the commonest words, some 2 KB each. A pair that is common stands in common words.
MOST_MERGED_WORDS = 500_000


@dataclass(frozen=True)
class LearnedVocabulary:
    """What was learnt.

    Attributes:
      pieces: The vocabulary, in order of id: [PAD], [unusedN] slots, [UNK] [CLS] [SEP] [MASK], characters, merged pieces.
      num_alphabet: Number of pieces that are single characters, with or without ##.
      num_dropped_characters: Number of different characters left out of the alphabet.
      dropped_rate: Share of the text's characters that these are.
    """

    pieces: list[str]
    num_alphabet: int
    num_dropped_characters: int
    dropped_rate: float


def special_pieces(num_unused: int = 0) -> list[str]:
    """Returns the pieces that every vocabulary begins with, in the released vocabularies' order."""
    return [PAD, *(f"[unused{number}]" for number in range(num_unused)), UNK, CLS, SEP, MASK]


def learn(
    word_counts: Mapping[str, int], vocab_size: int, *, min_count: int = 2, character_coverage: float = 0.9999, num_unused: int = 0
) -> LearnedVocabulary:
    """Returns a vocabulary of `vocab_size` pieces, or of fewer where no pair is left that was seen `min_count` times.

    Args:
      word_counts: Times each word was seen; words as the basic tokenizer cuts them.
      vocab_size: Most pieces, special ones included.
      min_count: A pair of neighbouring pieces seen fewer times is not merged.
      character_coverage: Share of the text's characters that the alphabet covers at least. Characters enter in order of their counts,
        the commonest 1,000 in any case.
      num_unused: Number of [unusedN] slots.

    For example, `learn({"low": 5, "lower": 2}, 19).pieces` ends in `"##ow", "low", "##er", "lower"`: first the pair ##o ##w, seen 7
    times, then l ##ow, seen 7 times.
    """
    specials = special_pieces(num_unused)
    # of a longer word the tokenizer makes one [UNK]: its pieces would never be used
    words = {word: count for word, count in word_counts.items() if 0 < len(word) <= MAX_WORD_CHARS and word not in specials}
    characters = _characters(words)
    total = sum(character.times for character in characters)
    room = vocab_size - len(specials)
    kept = _num_kept(characters, room, character_coverage * total)
    forms = [form for character in characters[:kept] for form in character.forms]
    alphabet = sorted(forms, key=lambda form: (form.startswith(CONTINUATION), form))
    merged = _merge(_commonest(words), alphabet, room - len(alphabet), min_count)
    # where no pair is left to merge, what room there is goes to the characters left out
    rare: list[str] = []
    while kept < len(characters) and len(alphabet) + len(merged) + len(rare) + len(characters[kept].forms) <= room:
        rare += characters[kept].forms
        kept += 1
    dropped = sum(character.times for character in characters[kept:])
    pieces = specials + alphabet + merged + rare
    return LearnedVocabulary(pieces, len(alphabet) + len(rare), len(characters) - kept, dropped / total if total else 0.0)


def _commonest(words: Mapping[str, int]) -> Mapping[str, int]:
    """Returns the words that merges are counted in: all, or where there are too many the commonest."""
    if len(words) <= MOST_MERGED_WORDS:
        return words
    return dict(heapq.nsmallest(MOST_MERGED_WORDS, words.items(), key=lambda item: (-item[1], item[0])))


class _Character(NamedTuple):
    """A character of the text: the pieces it becomes on its own, and how often it was seen."""

    forms: tuple[str, ...]
    times: int


def _characters(words: Mapping[str, int]) -> list[_Character]:
    """Returns the text's characters, the commonest first.

    A character has its plain form always, and its ## form if it was ever seen in a longer word: then it may stand anywhere in words to
    come. Punctuation and Chinese characters, which the basic tokenizer cuts off alone, need no ## form.
    """
    counts: Counter[str] = Counter()
    in_longer: set[str] = set()
    for word, count in words.items():
        for character in word:
            counts[character] += count
        if len(word) > 1:
            in_longer.update(word)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [_Character((char, CONTINUATION + char) if char in in_longer else (char,), count) for char, count in ranked]


def _num_kept(characters: Sequence[_Character], room: int, wanted: float) -> int:
    """Returns how many characters make the alphabet: enough to be seen `wanted` times, the free ones, and no more than there is room."""
    covered = size = 0
    for number, character in enumerate(characters):
        size += len(character.forms)
        if (covered >= wanted and number >= FREE_CHARACTERS) or size > room:
            return number
        covered += character.times
    return len(characters)


def _merge(words: Mapping[str, int], alphabet: Iterable[str], room: int, min_count: int) -> list[str]:
    """Returns up to `room` new pieces, in the order in which they were merged."""
    table = _PairTable(words, list(alphabet))
    known = set(table.pieces)
    merged: list[str] = []
    while len(merged) < room:
        pair = table.pop_commonest(min_count)
        if pair is None:
            break
        piece = table.merge(pair)
        if piece not in known:  # ab + ##c and a + ##bc are the same piece
            known.add(piece)
            merged.append(piece)
    return merged


class _PairTable:
    """Words as lists of piece numbers, and how often each pair of neighbours is seen.

    A merge touches only the words that hold the pair. The heap holds every pair under each count it once had; an entry whose count
    is out of date is thrown away or corrected when it comes up.
    """

    def __init__(self, words: Mapping[str, int], alphabet: list[str]):
        self.pieces = alphabet
        self._number = {piece: number for number, piece in enumerate(alphabet)}
        self._words: list[list[int]] = []
        self._times: list[int] = []
        self._counts: defaultdict[tuple[int, int], int] = defaultdict(int)
        self._places: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
        for word, count in words.items():
            spelled = self._spell(word)
            if spelled is None:  # a character outside the alphabet: the tokenizer makes one [UNK] of the word
                continue
            place = len(self._words)
            self._words.append(spelled)
            self._times.append(count)
            for pair in pairwise(spelled):
                self._counts[pair] += count
                self._places[pair].add(place)
        self._heap = [self._entry(pair, count) for pair, count in self._counts.items()]
        heapq.heapify(self._heap)

    def pop_commonest(self, min_count: int) -> tuple[int, int] | None:
        """Returns the pair seen most often, or None if none was seen `min_count` times."""
        while self._heap:
            negative, _, _, pair = heapq.heappop(self._heap)
            count = self._counts.get(pair, 0)
            if count < min_count:
                continue
            if count != -negative:
                heapq.heappush(self._heap, self._entry(pair, count))
                continue
            return pair
        return None

    def merge(self, pair: tuple[int, int]) -> str:
        """Joins the pair in every word and returns the piece it becomes."""
        left, right = pair
        piece = self.pieces[left] + self.pieces[right].removeprefix(CONTINUATION)
        number = self._number.setdefault(piece, len(self.pieces))
        if number == len(self.pieces):
            self.pieces.append(piece)
        grown: set[tuple[int, int]] = set()
        for place in self._places.pop(pair):
            times = self._times[place]
            for old, new in _join(self._words[place], left, right, number):
                if old is not None:
                    self._counts[old] -= times
                if new is not None:
                    self._counts[new] += times
                    self._places[new].add(place)
                    grown.add(new)
        del self._counts[pair]
        for new in grown:
            heapq.heappush(self._heap, self._entry(new, self._counts[new]))
        return piece

    def _spell(self, word: str) -> list[int] | None:
        pieces = [word[0], *(CONTINUATION + character for character in word[1:])]
        numbers = [self._number.get(piece) for piece in pieces]
        return None if None in numbers else numbers  # type: ignore[return-value]

    def _entry(self, pair: tuple[int, int], count: int) -> tuple[int, str, str, tuple[int, int]]:
        return -count, self.pieces[pair[0]], self.pieces[pair[1]], pair


def _join(word: list[int], left: int, right: int, number: int) -> Iterator[tuple[tuple[int, int] | None, tuple[int, int] | None]]:
    """Joins `left right` to `number` throughout the word, in place; yields each pair that went and the one that came for it."""
    position = 0
    while position < len(word) - 1:
        if word[position] != left or word[position + 1] != right:
            position += 1
            continue
        yield (left, right), None
        if position > 0:
            yield (word[position - 1], left), (word[position - 1], number)
        if position + 2 < len(word):
            yield (right, word[position + 2]), (number, word[position + 2])
        word[position : position + 2] = [number]
        position += 1
