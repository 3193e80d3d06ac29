"""Blocks of text -> the ids of their sentences: what the worker processes do that read a corpus."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bert_tf.data.spool import TokenizedBlock
from bert_tf.data.text_files import TextBlock
from bert_tf.pretraining.masking import is_cjk_piece
from bert_tf.text.json_lines import text_of_line
from bert_tf.text.sentences import sentence_splitter
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece_fast import bulk_tokenizer

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
    """

    input_format: str = "auto"
    text_field: str = "text"
    language: str | None = None

    def is_json(self, path: str) -> bool:
        """Returns whether a file holds JSON lines."""
        return self.input_format == "jsonl" or (self.input_format == "auto" and _JSON_NAME.search(path) is not None)


class BlockTokenizer:
    """Tokenizes blocks; to be made once in each process."""

    def __init__(self, vocab: Vocabulary, do_lower_case: bool, form: TextForm):
        self._form = form
        self._tokenizer = bulk_tokenizer(vocab, do_lower_case)
        self._split = sentence_splitter(form.language) if form.language else None
        self._unk_id = vocab.unk_id
        self._is_cjk = np.array([is_cjk_piece(piece) for piece in vocab.pieces])

    def __call__(self, block: TextBlock) -> TokenizedBlock:
        """Returns the block's sentences as ids."""
        if self._form.is_json(block.path):
            placed, num_ends = json_sentences(block, self._form.text_field)
        else:
            placed, num_ends = text_sentences(block.lines())
        if self._split is not None:
            placed = [(sentence, document) for text, document in placed for sentence in self._split(text)]
        ids, splits = self._tokenizer.encode_batch([sentence for sentence, _ in placed])
        lengths = np.diff(splits)
        documents = np.fromiter((document for _, document in placed), np.int64, len(placed))
        kept = lengths > 0
        num_counted = (int(np.count_nonzero(ids == self._unk_id)), int(np.count_nonzero(self._is_cjk[ids])))
        return TokenizedBlock(ids, lengths[kept], documents[kept], num_ends + block.ends_file, num_counted)


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
    for number, line in enumerate(block.lines(), block.first_line):
        if line.strip():
            text = text_of_line(line, text_field, f"{block.path}, line {number}")
            placed += [(sentence, num_ends) for part in text.split("\n") if (sentence := part.strip())]
            num_ends += 1
    return placed, num_ends
