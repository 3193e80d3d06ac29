"""Blocks of text -> their words, counted or looked up: what worker processes do for vocabularies. Needs no TensorFlow."""

from collections import Counter
from typing import NamedTuple

from bert_tf.data.text_blocks import TextBlock
from bert_tf.data.text_form import TextForm
from bert_tf.text.coverage import Coverage, coverage_of
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.word_counts import WordCounter
from bert_tf.text.wordpiece import WordPieceTokenizer


class BlockWords(NamedTuple):
    """The words of a block.

    Attributes:
      counts: How often each was seen.
      path: The file that the block is of.
      num_read: Bytes read from disk for it.
    """

    counts: Counter[str]
    path: str
    num_read: int


class BlockWordCounter:
    """Counts the words of blocks; to be made once in each process."""

    def __init__(self, do_lower_case: bool, form: TextForm):
        self._count = WordCounter(do_lower_case)
        self._form = form

    def __call__(self, block: TextBlock) -> BlockWords:
        """Returns the block's words."""
        return BlockWords(self._count("\n".join(self._form.texts(block))), block.path, block.num_read)


class BlockCoverage(NamedTuple):
    """How well a vocabulary suits a block.

    Attributes:
      coverage: The figures.
      path: The file that the block is of.
      num_read: Bytes read from disk for it.
    """

    coverage: Coverage
    path: str
    num_read: int


class BlockCoverageMeasurer:
    """Measures blocks; to be made once in each process."""

    def __init__(self, vocab: Vocabulary, do_lower_case: bool, form: TextForm):
        self._count = BlockWordCounter(do_lower_case, form)
        self._tokenizer = WordPieceTokenizer(vocab, do_lower_case)

    def __call__(self, block: TextBlock) -> BlockCoverage:
        """Returns the block's figures."""
        counts, path, num_read = self._count(block)
        return BlockCoverage(coverage_of(counts, self._tokenizer), path, num_read)
