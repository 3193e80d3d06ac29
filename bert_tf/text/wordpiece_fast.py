"""The reference tokenizer's ids in bulk, by tensorflow-text's WordPiece.

Python prepares the text and tensorflow-text cuts it into words and pieces (Song et al., 2021, "Fast WordPiece Tokenization": one walk
over the bytes, whatever the pieces). What Python does is cheap, as it is done to a whole batch in one string by functions that are
written in C; and it is what the reference does word by word: neither lower-casing nor canonical decomposition looks past white space
or a Chinese character (`tests/text/test_wordpiece_fast.py` goes through all code points to show it).

tensorflow-text takes other characters for white space and punctuation than the original, and drops some. Which ones is found out, not
assumed: every code point is put between two letters once (`_library_classes`), and those that it treats in another way are replaced in
the text by what it treats alike, in the vocabulary too where need be. So each code point of the text handed over is known to do what
it does in the original.
"""

import functools
import re
import sys
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import tensorflow as tf
from absl import logging

from bert_tf.text.characters import CharacterClasses, any_of, character_classes, character_patterns, pattern_ranges
from bert_tf.text.vocab import UNK, Vocabulary
from bert_tf.text.wordpiece import MAX_WORD_CHARS, IdTokenizer, WordPieceTokenizer

try:
    import tensorflow_text
except ImportError:  # it has no wheel for Windows
    tensorflow_text = None

# What a code point does inside a text.
LETTER, SPLIT, SPACE, DROPPED = range(4)

# Text that the reference tokenizer has done in the time that it takes to find out what tensorflow-text does and to do the same.
WORTH_FAST_CHARS = 16_000_000

_NUM_CODES = 0x110000
_PRIVATE_USE = range(0xE000, 0xF900)
_SURROGATES = range(0xD800, 0xE000)
_UTF_32 = f"utf-32-{sys.byteorder[0]}e"
# No limit: words that are too long are found before.
_NO_LIMIT = 1 << 30


def bulk_tokenizer(vocab: Vocabulary, do_lower_case: bool, num_chars: int | None = None) -> IdTokenizer:
    """Returns the fast tokenizer or, where tensorflow-text is not installed, the reference one, and says so.

    Args:
      vocab: The vocabulary.
      do_lower_case: Whether text is lower-cased.
      num_chars: How much text there is, where it may be so little that the reference tokenizer is done before the fast one is made.
    """
    if num_chars is not None and num_chars < WORTH_FAST_CHARS:
        return WordPieceTokenizer(vocab, do_lower_case)
    if tensorflow_text is None:
        _tell_that_it_is_missing()
        return WordPieceTokenizer(vocab, do_lower_case)
    return FastTokenizer(vocab, do_lower_case)


class FastTokenizer:
    """Texts -> ids, equal to `WordPieceTokenizer.encode`."""

    def __init__(self, vocab: Vocabulary, do_lower_case: bool):
        if tensorflow_text is None:
            raise ImportError("tensorflow-text is not installed")
        self.vocab = vocab
        self.do_lower_case = do_lower_case
        classes = character_classes()
        library = _library_classes()
        own = _own_classes(classes)
        alphabet = {ord(char) for piece in vocab.pieces for char in piece}
        free = (code for code in _PRIVATE_USE if code not in alphabet and own[code] == library[code] == LETTER)
        unknown, mark = chr(next(free)), chr(next(free))
        different = [*np.flatnonzero(own != library).tolist(), *_SURROGATES]
        stands_in = {code: chr(next(free)) if code in alphabet else unknown for code in different}
        self._replacements = {chr(code): _replacement(code, own, library, stands_in[code]) for code in different}
        # what now has a meaning here stands in no piece, so in a text it is as good as any other unknown letter
        self._replacements |= dict.fromkeys([mark, *stands_in.values()], unknown)
        self._different = re.compile(any_of(map(ord, self._replacements)))
        self._patterns = character_patterns()
        self._dropped_ascii = bytes(code for code in classes.dropped if code < 128)
        self._long_word = re.compile(f"[^{pattern_ranges(np.flatnonzero(own != LETTER).tolist())}]{{{MAX_WORD_CHARS + 1},}}")
        self._unknown, self._between = unknown, f" {mark} "
        pieces = _reachable_pieces(vocab, own, mark, {chr(code): spelled for code, spelled in stands_in.items()})
        self._end_id = len(pieces)
        self._word_piece = tensorflow_text.FastWordpieceTokenizer(
            [*pieces, mark], max_bytes_per_word=_NO_LIMIT, token_out_type=tf.int32, unknown_token=UNK
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.vocab, self.do_lower_case)

    def encode(self, text: str) -> list[int]:
        """Returns the ids of the text's pieces, without [CLS] and [SEP]. One text takes hardly less time than many."""
        return self.encode_batch([text])[0].tolist()

    def encode_each(self, texts: Sequence[str]) -> list[list[int]]:
        """Returns the ids of each text's pieces, without [CLS] and [SEP]."""
        ids, splits = (numbers.tolist() for numbers in self.encode_batch(texts))
        return [ids[begin:end] for begin, end in pairwise(splits)]

    def encode_batch(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the ids of all texts, int32[pieces], and where each text's begin, with the end of the last, int64[texts + 1]."""
        if not texts:
            return np.zeros(0, np.int32), np.zeros(1, np.int64)
        # All texts in one, with a word of its own between them.
        joined = self._between.join(map(self._prepared, texts))
        text = self._without_long_words(joined.encode("utf-8").translate(None, self._dropped_ascii))
        with tf.device("CPU:0"):
            ids = self._word_piece.tokenize(tf.constant([text])).flat_values.numpy()
        ends = np.flatnonzero(ids == self._end_id)
        return np.delete(ids, ends), np.concatenate([[0], ends - np.arange(len(ends)), [len(ids) - len(ends)]])

    def _prepared(self, text: str) -> str:
        """Returns the text, folded, in characters that do in tensorflow-text what they do in the original; dropped ones of ASCII stay."""
        if text.isascii():
            return text.lower() if self.do_lower_case else text
        text = self._patterns.dropped.sub("", text)
        if self.do_lower_case:
            text = self._patterns.marks.sub("", unicodedata.normalize("NFD", text.lower()))
        return self._different.sub(lambda match: self._replacements[match[0]], text)

    def _without_long_words(self, text: bytes) -> bytes:
        """Returns the text with an unknown letter for each word that is too long to be looked up."""
        # A word of so many characters stands in a stretch of at least as many bytes without a control character or space.
        gaps = np.flatnonzero(np.frombuffer(text, np.uint8) <= ord(" "))
        gaps = np.concatenate([[-1], gaps, [len(text)]])
        long = np.flatnonzero(np.diff(gaps) > MAX_WORD_CHARS)
        if not len(long):
            return text
        parts, done = [], 0
        for begin, end in zip(gaps[long] + 1, gaps[long + 1]):
            stretch = self._long_word.sub(self._unknown, text[begin:end].decode("utf-8"))
            parts += [text[done:begin], stretch.encode("utf-8")]
            done = end
        return b"".join([*parts, text[done:]])


def _own_classes(classes: CharacterClasses) -> np.ndarray:
    """Returns what each code point does in the original, once the dropped ones are gone and the text is folded: int8[codes]."""
    own = np.full(_NUM_CODES, LETTER, np.int8)
    for codes, value in ((classes.punctuation, SPLIT), (classes.cjk, SPLIT), (classes.space, SPACE)):
        own[list(codes)] = value
    return own


@functools.cache
def _library_classes() -> np.ndarray:
    """Returns what each code point does in tensorflow-text, int8[codes]; surrogates, of which no text is made, pass for letters."""
    tokenizer = tensorflow_text.FastWordpieceTokenizer([UNK, "a", "b", "##b", "z"], token_out_type=tf.int32, unknown_token=UNK)
    unk, a, b, _, z = range(5)
    library = np.full(_NUM_CODES, LETTER, np.int8)
    probed = np.setdiff1d(np.arange(_NUM_CODES, dtype=np.uint32), [*_SURROGATES, *map(ord, "abz")])
    for codes in np.array_split(probed, 16):
        # "acb z " for each code point c: one unknown word, or a and b, or ab, or a, an unknown word and b
        probes = np.stack([np.full_like(codes, ord("a")), codes, *(np.full_like(codes, ord(char)) for char in "b z ")], axis=1)
        text = probes.tobytes().decode(_UTF_32).encode("utf-8")
        ids = tokenizer.tokenize(tf.constant([text])).flat_values.numpy()
        ends = np.flatnonzero(ids == z)
        starts = np.concatenate([[0], ends[:-1] + 1])
        lengths, second = ends - starts, ids[starts + 1]
        found = np.full(len(codes), -1, np.int8)
        found[(lengths == 1) & (ids[starts] == unk)] = LETTER
        found[(lengths == 2) & (ids[starts] == a)] = DROPPED
        found[(lengths == 2) & (ids[starts] == a) & (second == b)] = SPACE
        found[(lengths == 3) & (ids[starts] == a) & (second == unk)] = SPLIT
        assert len(ends) == len(codes) and (found >= 0).all()
        library[codes] = found
    return library


def _replacement(code: int, own: np.ndarray, library: np.ndarray, stand_in: str) -> str:
    """Returns what does in tensorflow-text what the code point does in the original."""
    if own[code] == SPACE:
        return " "
    if own[code] == SPLIT:
        return f" {chr(code) if library[code] == LETTER else stand_in} "
    return stand_in


def _reachable_pieces(vocab: Vocabulary, own: np.ndarray, mark: str, stands_in: dict[str, str]) -> list[str]:
    """Returns the pieces as they are spelled in prepared text, with what never matches for those that no text can give."""
    spelled = str.maketrans(stands_in)
    pieces = []
    for id, piece in enumerate(vocab.pieces):
        letters = piece.removeprefix("##")
        is_mark = len(piece) == 1 and own[ord(piece)] == SPLIT
        is_word = 0 < len(letters) <= MAX_WORD_CHARS and all(own[ord(char)] == LETTER for char in letters)
        if piece == UNK or (vocab.ids[piece] == id and (is_mark or is_word)):
            pieces.append(piece if piece == UNK else piece.translate(spelled))
        else:
            pieces.append(f"{mark}{id}")
    return pieces


@functools.cache
def _tell_that_it_is_missing() -> None:
    logging.warning("tensorflow-text is not installed: the tokenizer in plain Python is used, which gives the same ids, more slowly")
