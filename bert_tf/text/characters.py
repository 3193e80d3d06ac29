"""The original tokenizer's character classes, as regular expressions over this Python's Unicode tables.

The source of every class is tokenization.py of google-research/bert.
"""

import functools
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

# Chinese characters, each a token of its own. Japanese kana and Korean Hangul are not among them.
CJK_RANGES = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
# Marks as $, ^ and `, which Unicode counts as symbols, are punctuation too.
ASCII_PUNCTUATION_RANGES = ((33, 47), (58, 64), (91, 96), (123, 126))


@dataclass(frozen=True)
class CharacterClasses:
    """Code points by what the tokenizer does with them.

    Attributes:
      dropped: Deleted before anything else: U+0000, U+FFFD and the categories Cc and Cf, but not tab, newline, return.
      space: What words are split at: whatever `str.split` takes for white space and is not dropped.
      cjk: Split off as a token.
      punctuation: Split off as a word.
      marks: Category Mn, removed by accent stripping after canonical decomposition.
    """

    dropped: frozenset[int]
    space: frozenset[int]
    cjk: frozenset[int]
    punctuation: frozenset[int]
    marks: frozenset[int]


@functools.cache
def character_classes() -> CharacterClasses:
    """Returns the classes by this Python's Unicode version; made once, in about a fifth of a second."""
    categories = [unicodedata.category(chr(code)) for code in range(0x110000)]
    kept_controls = {ord(char) for char in "\t\n\r"}
    dropped = {code for code, category in enumerate(categories) if category in ("Cc", "Cf")} - kept_controls | {0, 0xFFFD}
    space = {code for code in range(0x110000) if categories[code] == "Zs" or chr(code).isspace()} - dropped
    punctuation = {code for code, category in enumerate(categories) if category.startswith("P")}
    return CharacterClasses(
        dropped=frozenset(dropped),
        space=frozenset(space),
        cjk=frozenset(_in_ranges(CJK_RANGES)),
        punctuation=frozenset(punctuation | _in_ranges(ASCII_PUNCTUATION_RANGES)),
        marks=frozenset(code for code, category in enumerate(categories) if category == "Mn"),
    )


@dataclass(frozen=True)
class CharacterPatterns:
    """The classes as compiled patterns.

    Attributes:
      token: A Chinese character, or a stretch without white space and Chinese characters.
      word: A punctuation mark, or a stretch without any.
      dropped: Characters to delete.
      dropped_space: The deleted ones which `str.split` would take for white space.
      marks: Category Mn.
    """

    token: re.Pattern[str]
    word: re.Pattern[str]
    dropped: re.Pattern[str]
    dropped_space: re.Pattern[str]
    marks: re.Pattern[str]


@functools.cache
def character_patterns() -> CharacterPatterns:
    """Returns the patterns by this Python's Unicode version."""
    classes = character_classes()
    space, cjk, punctuation, dropped = map(pattern_ranges, (classes.space, classes.cjk, classes.punctuation, classes.dropped))
    return CharacterPatterns(
        token=re.compile(f"[^{space}{cjk}]+|[{cjk}]"),
        word=re.compile(f"[^{punctuation}]+|[{punctuation}]"),
        dropped=re.compile(f"[{dropped}]+"),
        dropped_space=re.compile(f"[{pattern_ranges(code for code in classes.dropped if chr(code).isspace())}]+"),
        marks=re.compile(f"{any_of(classes.marks)}+"),
    )


def _in_ranges(ranges: Iterable[tuple[int, int]]) -> set[int]:
    return {code for first, last in ranges for code in range(first, last + 1)}


def any_of(codes: Iterable[int]) -> str:
    """Returns a regular expression for one of many characters, quick to pass over the others.

    A set is looked up in a table up to U+FFFF; beyond, the ranges are tried one by one, so none is where it cannot help.
    """
    codes = sorted(codes)
    low, high = (pattern_ranges(part) for part in ([c for c in codes if c <= 0xFFFF], [c for c in codes if c > 0xFFFF]))
    either = [f"[{low}]"] * bool(low) + [f"(?=[\U00010000-\U0010ffff])[{high}]"] * bool(high)
    return f"(?:(?=[\\U{codes[0]:08x}-\\U0010ffff])(?:{'|'.join(either)}))"


def pattern_ranges(codes: Iterable[int]) -> str:
    r"""Returns the inside of a regular expression's [...], as \U00000041-\U0000005a."""
    ranges: list[list[int]] = []
    for code in sorted(codes):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
