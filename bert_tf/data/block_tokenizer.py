"""Blocks of text -> the ids of their sentences: what the worker processes do that read a corpus."""

import numpy as np

from bert_tf.data.spool import TokenizedBlock
from bert_tf.data.text_blocks import TextBlock
from bert_tf.data.text_form import TextForm, json_sentences, text_sentences
from bert_tf.pretraining.masking import is_cjk_piece
from bert_tf.text.sentences import sentence_splitter
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece_fast import bulk_tokenizer


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
