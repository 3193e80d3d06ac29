"""How well a vocabulary suits a text: into how many pieces its words are cut, and which it cannot spell."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bert_tf.text.word_counts import WordTable
from bert_tf.text.wordpiece import WordPieceTokenizer

# Different unknown words that are told apart; where there are more, those that were seen least are not listed.
_MOST_UNKNOWN = 200_000


@dataclass
class Coverage:
    """What became of the words of a text.

    Attributes:
      words: Number of words.
      pieces: Number of pieces that they were cut into; a word that becomes [UNK] is one.
      whole: Number of words that are a piece of their own.
      unknown: Number of words that became [UNK].
      unknown_words: How often each of these was seen.
    """

    words: int = 0
    pieces: int = 0
    whole: int = 0
    unknown: int = 0
    unknown_words: WordTable = field(default_factory=lambda: WordTable(_MOST_UNKNOWN))

    def add(self, other: "Coverage") -> None:
        """Adds what became of more text."""
        self.words += other.words
        self.pieces += other.pieces
        self.whole += other.whole
        self.unknown += other.unknown
        self.unknown_words.add(other.unknown_words.counts)

    def figures(self, num_unknown_words: int) -> dict[str, Any]:
        """Returns the shares, and the commonest unknown words with how often they were seen: JSON."""
        ranked = sorted(self.unknown_words.counts.items(), key=lambda item: (-item[1], item[0]))
        return {
            "words": self.words,
            "unk_word_rate": self._share(self.unknown),
            "pieces_per_word": self._share(self.pieces),
            "whole_word_rate": self._share(self.whole),
            "unknown_words": dict(ranked[:num_unknown_words]),
        }

    def _share(self, number: int) -> float | None:
        return round(number / self.words, 6) if self.words else None


def coverage_of(words: Mapping[str, int], tokenizer: WordPieceTokenizer) -> Coverage:
    """Returns what becomes of words, given how often each was seen."""
    unknown: Counter[str] = Counter()
    coverage = Coverage()
    for word, times in words.items():
        ids = tokenizer.encode_word(word)
        coverage.words += times
        coverage.pieces += times * len(ids)
        if ids == (tokenizer.vocab.unk_id,):
            unknown[word] = times
        elif len(ids) == 1:
            coverage.whole += times
    coverage.unknown = unknown.total()
    coverage.unknown_words.add(unknown)
    return coverage
