"""Running text -> sentences, by the library sentencex."""

import re
from collections.abc import Callable, Iterator

from bert_tf.errors import InputError

# Where a full stop belongs to an abbreviation: before a small letter, if in brackets or quotes; and in "i.e. 3", "т.е. 365".
_FULL_STOP = re.compile(r"\.[\"'\u2019\u201c\u201d\u00bb)\]]*\s*$")
_LETTERS_WITH_STOPS = re.compile(r"(?<![^\W_])[^\W\d_]\.\s?[^\W\d_]\.\s*$")
_OPENING = "([\"'\u201c\u201e\u00ab\u2018"


def sentence_splitter(language: str) -> Callable[[str], Iterator[str]]:
    """Returns what splits running text into sentences.

    A full stop before a small letter, or between letters and a number ("т.е. 365"), ends none: the library does not know every
    abbreviation of every language.

    Args:
      language: A code, as "en".

    Raises:
      InputError: The library is not installed.
    """
    try:
        import sentencex
    except ImportError:
        raise InputError("splitting sentences needs the library sentencex; install it, pip install 'bert_tf[sentences]'") from None

    def split(text: str) -> Iterator[str]:
        sentence = ""
        for part in sentencex.segment(language, text):
            if _goes_on(sentence, part):
                sentence += part
                continue
            if stripped := sentence.strip():
                yield stripped
            sentence = part
        if stripped := sentence.strip():
            yield stripped

    return split


def _goes_on(sentence: str, part: str) -> bool:
    """Returns whether the library's next part belongs to the sentence before it."""
    first = part.lstrip(_OPENING)[:1]
    if first.islower():
        return _FULL_STOP.search(sentence) is not None
    return first.isdigit() and _LETTERS_WITH_STOPS.search(sentence) is not None
