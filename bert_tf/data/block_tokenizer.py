"""Blocks of text -> the ids of their sentences: what the worker processes do that read a corpus."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bert_tf.data.json_lines import text_of_line
from bert_tf.data.spool import TokenizedBlock
from bert_tf.data.text_files import TextBlock
from bert_tf.pretraining.masking import is_cjk_piece
from bert_tf.text.characters import character_patterns
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


class BlockTokenizer:
    """Tokenizes blocks; to be made once in each process."""

    def __init__(self, vocab: Vocabulary, do_lower_case: bool, form: TextForm):
        self._form = form
        self._tokenizer = bulk_tokenizer(vocab, do_lower_case)
        self._split = sentence_splitter(form.language) if form.language else None
        self._unk_id, self._vocab_size = vocab.unk_id, len(vocab)
        self._no_space = character_patterns().dropped_space  # control characters that str.split would take for white space
        self._is_cjk = np.array([is_cjk_piece(piece) for piece in vocab.pieces])

    def __call__(self, block: TextBlock) -> TokenizedBlock:
        """Returns the block's sentences as ids."""
        if self._form.is_json(block.path):
            placed, num_ends = json_sentences(block, self._form.text_field)
        else:
            placed, num_ends = text_sentences(block.lines())
        if self._split is not None:
            placed = [(sentence, document) for text, document in placed for sentence in self._split(text)]
        ids, splits, continues = self._encode([sentence for sentence, _ in placed])
        lengths = np.diff(splits)
        documents = np.fromiter((document for _, document in placed), np.int64, len(placed))
        kept = lengths > 0
        num_counted = (int(np.count_nonzero(ids == self._unk_id)), int(np.count_nonzero(self._is_cjk[ids])))
        return TokenizedBlock(ids + continues, lengths[kept], documents[kept], num_ends + block.ends_file, num_counted)

    def _encode(self, sentences: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray | int]:
        """Returns the ids int32[pieces], where each sentence's begin int64[sentences + 1], and what to add to ids that continue a word.

        A space ends a word for the tokenizer, so the ids of words are those of the sentence.
        """
        if not self._form.word_segments:
            return *self._tokenizer.encode_batch(sentences), 0
        words = [self._no_space.sub("", sentence).split() for sentence in sentences]
        ids, starts = self._tokenizer.encode_batch([word for sentence in words for word in sentence])
        continues = np.full(len(ids), self._vocab_size, np.int32)
        continues[starts[:-1][np.diff(starts) > 0]] = 0
        firsts = np.cumsum([0, *map(len, words)])  # of each sentence's words, and the end of the last
        return ids, starts[firsts], continues


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
