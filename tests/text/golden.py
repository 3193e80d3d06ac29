"""What the original tokenizer gives: reference cases, the code point sweep, the released vocabularies, and small ones of our own."""

import functools
import gzip
import json
import lzma

from bert_tf.text.vocab import Vocabulary
from tests.conftest import ROOT, SHARED

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# name: do_lower_case
RELEASED = {"uncased": True, "cased": False, "chinese": True, "multi_cased": False}

# A full stop is looked past when str.lower asks whether a letter follows, a comma is not.
SIGMAS = [
    ("ΑΣ Σ", ["ας", "σ"]),
    ("ΑΣ.Β ΑΣ,Β ΑΣ.", ["ασ", ".", "β", "ας", ",", "β", "ας", "."]),
    ("ΑΣΑΣ\u0301 Α\u0301Σ", ["ασας", "ας"]),
    ("ΑΣ\u4e00Σ ΑΣ\u200b ΑΣ\u200bΒ", ["ας", "\u4e00", "σ", "ας", "ασβ"]),
    (".Σ 1Σ \u0345Σ Α\u0345Σ", [".", "σ", "1σ", "σ", "ας"]),
]


def vocabulary(*pieces: str) -> Vocabulary:
    """Returns the special tokens and these pieces."""
    return Vocabulary([*SPECIALS, *pieces])


@functools.cache
def released_vocabulary(name: str) -> Vocabulary:
    path = SHARED / "data" / "vocab" / f"{name}_vocab.txt"
    return Vocabulary.from_text(path.read_bytes().decode("utf-8"), str(path))


@functools.cache
def cases() -> list[dict]:
    """Returns the reference cases: text, source, and the ids under each released vocabulary."""
    with gzip.open(SHARED / "golden" / "tokenizer" / "cases.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@functools.cache
def sweep() -> list[tuple[str, list[str], list[str]]]:
    """Returns "a" + c + "B" for each code point c that Unicode 14 assigns, and its words, lower-cased and not.

    A line of the file is the code point and both lists of words, joined by spaces; nothing stands for one word and a full stop for
    three, the character between two letters.
    """
    path = ROOT / "tests" / "golden" / "code_point_sweep.tsv.xz"
    rows = []
    for line in lzma.decompress(path.read_bytes()).decode("utf-8").rstrip("\n").split("\n"):
        code, *cells = line.split("\t")
        char = chr(int(code, 16))
        words = [
            {"": [f"a{char}{last}"], ".": ["a", char, last]}.get(cell) or cell.split(" ") for cell, last in zip(cells, "bB", strict=True)
        ]
        rows.append((f"a{char}B", *words))
    return rows
