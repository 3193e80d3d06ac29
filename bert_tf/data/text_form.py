"""What the lines of a text file are: sentences with blank lines between documents, or JSON, a document each. Needs no TensorFlow."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bert_tf.data.text_blocks import TextBlock
from bert_tf.text.json_lines import text_of_line

_JSON_NAME = re.compile(r"\.(jsonl|ndjson)(\.(gz|bz2|xz|zst))?$")

# A sentence and how many ends of documents come before it.
Placed = tuple[str, int]


@dataclass(frozen=True)
class TextForm:
    """What the lines of a file are.

    Attributes:
      input_format: "text", "jsonl", or "auto": by the file's name.
      text_field: Of JSON lines, the field that holds a document's text.
      language: Where lines are running text to be split into sentences, the code of its language; None where a line is a sentence.
      word_segments: Whether the text comes cut into words by spaces, which are then told: a piece that continues one gets the size of
        the vocabulary added to its id.
    """

    input_format: str = "auto"
    text_field: str = "text"
    language: str | None = None
    word_segments: bool = False

    def num_ids(self, vocab_size: int) -> int:
        """Returns how many ids there are to tell apart in the tokenized text."""
        return 2 * vocab_size if self.word_segments else vocab_size

    def is_json(self, path: str) -> bool:
        """Returns whether a file holds JSON lines."""
        return self.input_format == "jsonl" or (self.input_format == "auto" and _JSON_NAME.search(path) is not None)

    def texts(self, block: TextBlock) -> list[str]:
        """Returns the text of each line of a block, blank ones may be among them."""
        if not self.is_json(block.path):
            return block.lines()
        return list(_json_texts(block, self.text_field))


def text_sentences(lines: Iterable[str]) -> tuple[list[Placed], int]:
    """Returns the sentences of lines, one each, and how many ends of documents there are: a blank line is one.

    For example, `["a b.", "", " ", "c."]` gives `[("a b.", 0), ("c.", 2)]` and 2. Only where the number differs does a document end.
    """
    placed, num_ends = [], 0
    for line in lines:
        sentence = line.strip()
        if sentence:
            placed.append((sentence, num_ends))
        else:
            num_ends += 1
    return placed, num_ends


def json_sentences(block: TextBlock, text_field: str) -> tuple[list[Placed], int]:
    """Returns the same of JSON lines: each is a document, and each line of its text, if not blank, a sentence."""
    placed, num_ends = [], 0
    for text in _json_texts(block, text_field):
        placed += [(sentence, num_ends) for part in text.split("\n") if (sentence := part.strip())]
        num_ends += 1
    return placed, num_ends


def _json_texts(block: TextBlock, text_field: str) -> Iterator[str]:
    """Yields the text of each JSON line; blank lines are passed over."""
    for number, line in enumerate(block.lines(), block.first_line):
        if line.strip():
            yield text_of_line(line, text_field, f"{block.path}, line {number}")
