"""Blocks of text -> the ids of their sentences: what the worker processes do that read a corpus."""

import numpy as np

from bert_tf.data.spool import TokenizedBlock
from bert_tf.data.text_blocks import TextBlock
from bert_tf.data.text_form import TextForm, json_sentences, text_sentences
from bert_tf.pretraining.masking import is_cjk_piece
from bert_tf.text.characters import character_patterns
from bert_tf.text.sentences import sentence_splitter
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece_fast import bulk_tokenizer


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
