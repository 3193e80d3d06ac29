"""This Python's Unicode tables as small arrays, from which the graph tokenizer does all that `str.lower` and `unicodedata` do."""

import functools
import unicodedata
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bert_tf.text.characters import character_classes

# Bits of a code point's properties.
DROPPED, SPACE, CJK, PUNCTUATION, MARK, CASED, IGNORABLE, REORDERED = (1 << bit for bit in range(8))
COUNT_SHIFT = 8  # above the bits: how many code points it folds to

CAPITAL_SIGMA, FINAL_SIGMA = 0x3A3, 0x3C2

_NUM_CODES = 0x110000
_BLOCK = 256


@dataclass(frozen=True)
class CharacterTables:
    """Look-up arrays for code points; `pages[code >> 8] + (code & 255)` is the place in `properties` and `folded`.

    Attributes:
      pages: int32[pages], where each block of 256 code points begins; equal blocks are stored once.
      properties: int32[places], the bits above. CASED and IGNORABLE are Unicode's Cased (where not Case_Ignorable too) and
        Case_Ignorable, which decide what a capital sigma becomes; REORDERED is a character that accent stripping keeps although
        canonical ordering may move it.
      folded: int32[places], what the code point becomes in lower case, canonically decomposed, marks included: where that is one code
        point, the difference from the old one; else the place in `expansions` where the several begin.
      expansions: int32[expansions], those several.
      combining_codes: int32[combining], the code points with a canonical combining class, ascending.
      combining_classes: int32[combining], that class, 1 to 254.
    """

    pages: npt.NDArray[np.int32]
    properties: npt.NDArray[np.int32]
    folded: npt.NDArray[np.int32]
    expansions: npt.NDArray[np.int32]
    combining_codes: npt.NDArray[np.int32]
    combining_classes: npt.NDArray[np.int32]


@functools.cache
def character_tables() -> CharacterTables:
    """Returns the tables by this Python's Unicode version; made once, in about a second."""
    properties = np.zeros(_NUM_CODES, np.int32)
    classes = character_classes()
    for bit, codes in (
        (DROPPED, classes.dropped),
        (SPACE, classes.space),
        (CJK, classes.cjk),
        (PUNCTUATION, classes.punctuation),
        (MARK, classes.marks),
    ):
        properties[list(codes)] |= bit
    for code, char in enumerate(map(chr, range(_NUM_CODES))):
        # str.lower itself says which characters make a sigma after them final, and which it looks past
        if (char + "Σ").lower()[-1] == "ς":
            properties[code] |= CASED
        elif ("A" + char + "Σ").lower()[-1] == "ς":
            properties[code] |= IGNORABLE
    combining = np.fromiter((unicodedata.combining(chr(code)) for code in range(_NUM_CODES)), np.int32, _NUM_CODES)
    properties[(combining > 0) & (properties & MARK == 0)] |= REORDERED
    folded, counts, expansions = _fold_table()
    columns = np.stack([properties | counts << COUNT_SHIFT, folded]).reshape(2, -1, _BLOCK).transpose(1, 0, 2)
    blocks, block_of_page = np.unique(columns.reshape(-1, 2 * _BLOCK), axis=0, return_inverse=True)
    combining_codes = np.flatnonzero(combining).astype(np.int32)
    return CharacterTables(
        pages=(block_of_page.reshape(-1) * _BLOCK).astype(np.int32),
        properties=blocks[:, :_BLOCK].reshape(-1),
        folded=blocks[:, _BLOCK:].reshape(-1),
        expansions=expansions,
        combining_codes=combining_codes,
        combining_classes=combining[combining_codes],
    )


def _fold_table() -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Returns `folded` by code point, the count of code points that each folds to, and `expansions`."""
    folded = np.zeros(_NUM_CODES, np.int32)
    counts = np.ones(_NUM_CODES, np.int32)
    expansions: list[int] = []
    for code, char in enumerate(map(chr, range(_NUM_CODES))):
        result = unicodedata.normalize("NFD", char.lower())
        if len(result) == 1:
            folded[code] = ord(result) - code
        else:
            folded[code], counts[code] = len(expansions), len(result)
            expansions += map(ord, result)
    return folded, counts, np.array(expansions, np.int32)
