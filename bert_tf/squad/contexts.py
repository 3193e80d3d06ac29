"""A context cut into words and pieces, and where each piece stands in its text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bert_tf.text.wordpiece import WordPieceTokenizer

Ints = npt.NDArray[np.int32]

# What the original splits a context's words at (is_whitespace in run_squad.py): fewer characters than Unicode's white space.
_WORD = re.compile("[^ \t\r\n\u202f]+")


@dataclass(frozen=True)
class Context:
    """A context's words, as the original splits them, and its pieces.

    Attributes:
      text: The context.
      words: Its words.
      word_starts: int32[words], where each starts in the text.
      ids: int32[pieces].
      starts: int32[pieces], where each piece starts in the text, in code points.
      ends: int32[pieces], the place behind it.
      piece_words: int32[pieces], the number of the word that each piece lies in.
    """

    text: str
    words: list[str]
    word_starts: Ints
    ids: Ints
    starts: Ints
    ends: Ints
    piece_words: Ints
    _tokenizer: WordPieceTokenizer

    @classmethod
    def of(cls, text: str, tokenizer: WordPieceTokenizer) -> "Context":
        """Returns the context that a text is.

        The words' white space is white space to the tokenizer too, so the text has the pieces of its words one after another.
        """
        matches = list(_WORD.finditer(text))
        word_starts = np.asarray([match.start() for match in matches], np.int32)
        tokens = tokenizer.tokenize(text)
        offsets = np.asarray(tokens.offsets, np.int32).reshape(-1, 2)
        return cls(
            text,
            [match.group() for match in matches],
            word_starts,
            np.asarray(tokens.ids, np.int32),
            offsets[:, 0],
            offsets[:, 1],
            (np.searchsorted(word_starts, offsets[:, 0], side="right") - 1).astype(np.int32),
            tokenizer,
        )

    def __len__(self) -> int:
        """Returns the number of pieces."""
        return len(self.ids)

    def word_at(self, place: int) -> int:
        """Returns the number of the word that a character lies in, or of the last one before it; -1 where there is none."""
        return int(np.searchsorted(self.word_starts, place, side="right")) - 1

    def pieces_of_words(self, first: int, last: int) -> tuple[int, int]:
        """Returns the first and the last piece of the words from `first` to `last`."""
        begin, end = np.searchsorted(self.piece_words, [first, last + 1])
        return int(begin), int(end) - 1

    def span_text(self, first: int, last: int) -> str:
        """Returns the text from piece `first` to piece `last`, as the context has it."""
        return self.text[self.starts[first] : self.ends[last]]

    @cached_property
    def folded_words(self) -> Sequence[str]:
        """What the tokenizer makes of each word before it is cut into pieces, joined by spaces."""
        return [" ".join(self._tokenizer.basic_words(word)) for word in self.words]

    def piece_texts(self, first: int, last: int) -> list[str]:
        """Returns the pieces from `first` to `last` as the vocabulary spells them."""
        pieces = self._tokenizer.vocab.pieces
        return [pieces[id] for id in self.ids[first : last + 1]]
