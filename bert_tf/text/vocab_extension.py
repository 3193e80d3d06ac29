"""Adds whole words to a vocabulary: each takes an [unusedN] slot, or an id behind the last piece. No other id changes."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from bert_tf.errors import InputError
from bert_tf.text.vocab import MASK, Vocabulary
from bert_tf.text.wordpiece import MAX_WORD_CHARS, WordPieceTokenizer

_SLOT = re.compile(r"\[unused\d+\]")
# Words named in an error before "and N more".
_LISTED = 5


class AddedWord(NamedTuple):
    """A word that became a piece.

    Attributes:
      word: The word.
      id: The id that it has now.
      replaced: The ids of the pieces that the tokenizer made of it before.
    """

    word: str
    id: int
    replaced: tuple[int, ...]


class Extension(NamedTuple):
    """A longer vocabulary.

    Attributes:
      vocab: The vocabulary.
      added: The words that came, in the order of their ids.
      num_in_slots: How many of them stand where an [unusedN] stood.
    """

    vocab: Vocabulary
    added: tuple[AddedWord, ...]
    num_in_slots: int


def parse_words(lines: Iterable[str], tokenizer: WordPieceTokenizer, source: str) -> list[str]:
    """Returns the words of a file, one a line; blank lines are passed over, and words that are pieces already.

    Raises:
      InputError: A word that stands there twice, that the basic tokenizer would cut or change, or that is too long: no text could ever
        give it. All of them are counted, the first few named with their lines.
    """
    numbers: dict[str, int] = {}
    faults = []
    for number, line in enumerate(lines, 1):
        word = line.strip()
        if not word:
            continue
        found = tokenizer.basic_words(word)
        if word in numbers:
            faults.append(f"line {number}: {word!r} stands on line {numbers[word]} too")
        elif found != [word]:
            made = f"cuts it into {' '.join(found)}" if len(found) > 1 else f"makes {' '.join(found) or 'nothing'} of it"
            faults.append(f"line {number}: {word!r} is no word, the tokenizer {made}")
        elif len(word) > MAX_WORD_CHARS:
            faults.append(f"line {number}: {word[:20]!r}... has {len(word)} characters, the tokenizer looks up {MAX_WORD_CHARS} at most")
        numbers.setdefault(word, number)
    if faults:
        more = f"; and {len(faults) - _LISTED} more" if len(faults) > _LISTED else ""
        raise InputError(f"{source}, {'; '.join(faults[:_LISTED])}{more}; give single words as the tokenizer cuts them, each once")
    if not numbers:
        raise InputError(f"{source}: holds no word; give one a line")
    return [word for word in numbers if word not in tokenizer.vocab]


def choose_words(counts: Mapping[str, int], num_words: int, tokenizer: WordPieceTokenizer) -> list[str]:
    """Returns the words which save most pieces as pieces of their own, given how often each was seen; fewer where no more save any.

    Of a word that is [UNK] each character counts as a piece, since nothing of it can be told from any other.

    For example, "covid" that was cut into three pieces and seen 10 times saves 20.
    """
    saved = {}
    for word, times in counts.items():
        if len(word) > MAX_WORD_CHARS or word in tokenizer.vocab:
            continue
        ids = tokenizer.encode_word(word)
        is_unknown = ids == (tokenizer.vocab.unk_id,)
        saved[word] = times * (len(word) if is_unknown else len(ids) - 1)
    return sorted(saved, key=lambda word: (-saved[word], word))[:num_words]


def extend(vocab: Vocabulary, words: Sequence[str], do_lower_case: bool, use_unused_slots: bool = True) -> Extension:
    """Returns the vocabulary with the words in it.

    Args:
      vocab: The vocabulary. It must have [MASK], as a model's has; which other pieces it must have is checked where it is made.
      words: Words as the basic tokenizer cuts them, none of them a piece yet.
      do_lower_case: Whether the tokenizer lower-cases.
      use_unused_slots: Whether [unusedN] pieces make room, in the order of their ids, before any is put behind the last piece.

    Raises:
      InputError: The vocabulary has no [MASK].
    """
    vocab.id_of(MASK)
    tokenizer = WordPieceTokenizer(vocab, do_lower_case)
    slots = [id for id, piece in enumerate(vocab.pieces) if _SLOT.fullmatch(piece)] if use_unused_slots else []
    ids = [*slots[: len(words)], *range(len(vocab), len(vocab) + len(words) - len(slots))]
    lines = vocab.lines + ("",) * (len(words) - len(slots))
    of_id = dict(zip(ids, words, strict=True))
    longer = Vocabulary([of_id.get(id, line) for id, line in enumerate(lines)], vocab.source)
    added = tuple(AddedWord(word, id, tokenizer.encode_word(word)) for id, word in of_id.items())
    return Extension(longer, added, min(len(slots), len(words)))
