"""The reference tokenizer in plain Python: google-research/bert's BasicTokenizer and WordpieceTokenizer, with character offsets.

Text is cut in three steps. *Tokens* are what white space and Chinese characters leave (control characters are deleted first). A token
is lower-cased and stripped of accents as a whole, since what a capital sigma becomes depends on its neighbours. Punctuation cuts it
into *words*, and each word into the longest *pieces* that the vocabulary holds, from left to right; where that fails, or the word has
over 200 characters, it is one [UNK].

Special tokens typed in a text are ordinary text, as in the original: "[MASK]" gives "[", "mask", "]".
"""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from bert_tf.text.characters import character_patterns
from bert_tf.text.vocab import Vocabulary

T = TypeVar("T")

MAX_WORD_CHARS = 200  # max_input_chars_per_word of the original

# Caches hold the commonest strings of a corpus and start afresh when full; long strings hardly ever come again.
_CACHE_SIZE = 200_000
_CACHED_CHARS = 32


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text's pieces: four lists of the same length.

    Attributes:
      pieces: The pieces as the vocabulary spells them.
      ids: Their ids.
      offsets: For each piece, where it starts and ends (exclusive) in the text, in code points. A mark that accent stripping removes
        belongs to the character before it; a character that decomposes into several pieces is covered by each of them.
      words: For each piece, the number of its word in the text.
    """

    pieces: list[str]
    ids: list[int]
    offsets: list[tuple[int, int]]
    words: list[int]


class IdTokenizer(Protocol):
    """What turns many texts into ids at a time, without telling where in the text they stand."""

    vocab: Vocabulary

    def encode_each(self, texts: Sequence[str]) -> list[list[int]]:
        """Returns the ids of each text's pieces, without [CLS] and [SEP]."""
        ...

    def encode_batch(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Returns the ids of all texts, int32[pieces], and where each text's begin, with the end of the last, int64[texts + 1]."""
        ...


class WordPieceTokenizer:
    """Text -> pieces, ids and offsets.

    Example: with a vocabulary that holds "un", "##able" and ",", `tokenize("Unable,")` gives the pieces un, ##able and "," at (0, 2),
    (2, 6) and (6, 7), of the words 0, 0 and 1.
    """

    def __init__(self, vocab: Vocabulary, do_lower_case: bool):
        self.vocab = vocab
        self.do_lower_case = do_lower_case
        self._continuations = {piece[2:]: id for piece, id in vocab.ids.items() if piece.startswith("##")}
        self._longest = max(map(len, vocab.pieces))
        self._patterns = character_patterns()
        self._word_ids = StringCache(self._match)
        self._chunk_ids = StringCache(self._encode_chunk)
        self._token_pieces = StringCache(self._locate)

    def __reduce__(self) -> tuple[object, ...]:
        # worker processes get the vocabulary, not the caches
        return type(self), (self.vocab, self.do_lower_case)

    def encode(self, text: str) -> list[int]:
        """Returns the ids of the text's pieces, without [CLS] and [SEP]: `tokenize(text).ids`, faster."""
        return list(chain.from_iterable(map(self._chunk_ids.__getitem__, self.chunks(text))))

    def encode_each(self, texts: Sequence[str]) -> list[list[int]]:
        """Returns the ids of each text's pieces, without [CLS] and [SEP]."""
        return [self.encode(text) for text in texts]

    def encode_batch(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Returns the ids of all texts, int32[pieces], and where each text's begin, with the end of the last, int64[texts + 1]."""
        rows = [self.encode(text) for text in texts]
        splits = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return np.fromiter(chain.from_iterable(rows), np.int32, splits[-1]), splits

    def tokenize(self, text: str) -> Tokens:
        """Returns the text's pieces with their ids, offsets and words, without [CLS] and [SEP]."""
        tokens = Tokens([], [], [], [])
        num_words = 0
        for match in self._patterns.token.finditer(text):
            shift = match.start()
            for id, start, end, word in self._token_pieces[match.group()]:
                tokens.pieces.append(self.vocab.pieces[id])
                tokens.ids.append(id)
                tokens.offsets.append((shift + start, shift + end))
                tokens.words.append(num_words + word)
            num_words = tokens.words[-1] + 1 if tokens.words else 0
        return tokens

    def encode_word(self, word: str) -> tuple[int, ...]:
        """Returns the ids of the pieces of a word that `basic_words` returned; [UNK]'s alone, where the vocabulary cannot spell it."""
        return self._word_ids[word]

    def chunks(self, text: str) -> list[str]:
        """Returns what stands between white space; the words of the text are those of its chunks."""
        # White space alone may cut the text before control characters are deleted, if none of these is white space to str.split.
        return self._patterns.dropped_space.sub("", text).split()

    def basic_words(self, text: str) -> list[str]:
        """Returns the text's words before they are cut into pieces: the output of the original's BasicTokenizer."""
        words: list[str] = []
        for token in self._patterns.token.findall(text):
            token = self._patterns.dropped.sub("", token)
            words += self._patterns.word.findall(self._fold(token) if self.do_lower_case else token)
        return words

    def _encode_chunk(self, chunk: str) -> tuple[int, ...]:
        return tuple(chain.from_iterable(map(self._word_ids.__getitem__, self.basic_words(chunk))))

    def _fold(self, token: str) -> str:
        """Returns the token in lower case without accents."""
        if token.isascii():
            return token.lower()
        return self._patterns.marks.sub("", unicodedata.normalize("NFD", token.lower()))

    def _match(self, word: str) -> tuple[int, ...]:
        """Returns the ids of the longest pieces from left to right, or [UNK] alone."""
        if len(word) > MAX_WORD_CHARS:
            return (self.vocab.unk_id,)
        ids: list[int] = []
        start, table = 0, self.vocab.ids
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                id = table.get(word[start:end])
                if id is not None:
                    break
            else:
                return (self.vocab.unk_id,)
            ids.append(id)
            start, table = end, self._continuations
        return tuple(ids)

    def _locate(self, token: str) -> tuple[tuple[int, int, int, int], ...]:
        """Returns the id, start, end and word number of each of a token's pieces, counted from the token's start."""
        kept = [(position, char) for position, char in enumerate(token) if not self._patterns.dropped.match(char)]
        token, starts, ends = self._fold_with_offsets("".join(char for _, char in kept), [position for position, _ in kept])
        located = []
        for number, match in enumerate(self._patterns.word.finditer(token)):
            begin, word_end = match.span()
            for id in self._word_ids[match.group()]:
                hashes = 2 if begin > match.start() else 0  # the ## of a continuation is not in the text
                end = word_end if id == self.vocab.unk_id else begin + len(self.vocab.pieces[id]) - hashes
                located.append((id, starts[begin], ends[end - 1], number))
                begin = end
        return tuple(located)

    def _fold_with_offsets(self, token: str, positions: list[int]) -> tuple[str, list[int], list[int]]:
        """Returns the folded token with the start and the end of each character, given the position of each of the token's."""
        ends = [position + 1 for position in positions]
        if not self.do_lower_case:
            return token, positions, ends
        if token.isascii():
            return token.lower(), positions, ends
        # What a character becomes has the same length alone as in the token, so positions can be spread without the context; where
        # decomposition reorders combining characters, the positions keep their order.
        spread = [position for char, position in zip(token, positions) for _ in unicodedata.normalize("NFD", char.lower())]
        folded: list[str] = []
        starts: list[int] = []
        ends = []
        for char, position in zip(unicodedata.normalize("NFD", token.lower()), spread):
            if unicodedata.category(char) != "Mn":
                folded.append(char)
                starts.append(position)
                ends.append(position + 1)
            elif ends:
                ends[-1] = position + 1
        return "".join(folded), starts, ends


class StringCache(dict[str, T]):
    """Values by string, worked out when first asked for."""

    def __init__(self, compute: Callable[[str], T]):
        super().__init__()
        self._compute = compute

    def __missing__(self, key: str) -> T:
        value = self._compute(key)
        if len(key) <= _CACHED_CHARS:
            if len(self) >= _CACHE_SIZE:
                self.clear()
            self[key] = value
        return value
