"""The reference tokenizer as core TensorFlow ops: the same ids in a SavedModel that needs no other op library, nor Python.

Text is handled as code points, whose properties come from this Python's own Unicode tables, and the vocabulary as a trie: a hash table
from (node, code point) to node. All words of a batch walk the trie together, one code point a step.

Axes: codes, code points of all texts of a batch in one row; words and pieces likewise; starts, places to match from.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_tf.text import character_tables as tables
from bert_tf.text.trie import CODE_BITS, CONTINUATION_ROOT, FIRST_ROOT, build_trie
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import MAX_WORD_CHARS


class _Codes(NamedTuple):
    """The code points of a batch's words, in order, with where each comes from.

    Attributes:
      codes: int32[codes].
      tokens: int32[codes], ascending: equal where two lie in the same token.
      starts: int32[codes], place in the decoded batch.
      ends: int32[codes], place behind the last code point that went into this one.
      begins_word: bool[codes].
      row_splits: int32[batch + 1], where each text begins in the decoded batch, and the last one ends.
    """

    codes: tf.Tensor
    tokens: tf.Tensor
    starts: tf.Tensor
    ends: tf.Tensor
    begins_word: tf.Tensor
    row_splits: tf.Tensor


class GraphTokenizer(tf.Module):
    """Texts -> ids, equal to `WordPieceTokenizer.encode`, inside a graph.

    Bytes that are not UTF-8 become U+FFFD, as `bytes.decode(errors="replace")` has it, and are dropped as that is.
    """

    def __init__(self, vocab: Vocabulary, do_lower_case: bool):
        super().__init__()
        self._do_lower_case = do_lower_case
        self._unk_id = vocab.unk_id
        trie = build_trie(vocab)
        with tf.device("CPU:0"):
            self._characters = {name: tf.constant(array) for name, array in vars(tables.character_tables()).items()}
            self._children = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(trie.keys, trie.children), default_value=-1)
            self._pieces = tf.constant(trie.pieces)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
    def __call__(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Returns int32[batch, (pieces)], the ids of each text's pieces, without [CLS] and [SEP].

        Args:
          texts: string[batch], UTF-8.
        """
        return self.with_offsets(texts)[0]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
    def with_offsets(self, texts: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        """Returns ids, starts and ends, each int32[batch, (pieces)]; a piece spans text[start:end], counted in code points.

        Args:
          texts: string[batch], UTF-8.
        """
        with tf.device("CPU:0"):
            words = self._words(texts)
            places, ids = self._match_words(words.codes, words.begins_word)
            # Pieces tile the codes: each ends where the next one starts.
            last = tf.concat([places[1:], [tf.size(words.codes)]], axis=0)[: tf.size(places)] - 1
            starts = tf.gather(words.starts, places)
            shift = tf.gather(words.row_splits, tf.searchsorted(words.row_splits, starts, side="right") - 1)
            ids = _by_text(ids, starts, words)
            return ids, ids.with_flat_values(starts - shift), ids.with_flat_values(tf.gather(words.ends, last) - shift)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
    def basic_words(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Returns string[batch, (words)], each text's words before they are cut into pieces.

        Args:
          texts: string[batch], UTF-8.
        """
        with tf.device("CPU:0"):
            words = self._words(texts)
            first = tf.where(words.begins_word)[:, 0]
            spelled = tf.strings.unicode_encode(tf.RaggedTensor.from_row_starts(words.codes, first, validate=False), "UTF-8")
            return _by_text(spelled, tf.gather(words.starts, first), words)

    def _look_up(self, codes: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the properties and the `folded` value, int32[codes] each, of int32[codes]."""
        place = tf.gather(self._characters["pages"], tf.bitwise.right_shift(codes, 8)) + tf.bitwise.bitwise_and(codes, 255)
        return tf.gather(self._characters["properties"], place), tf.gather(self._characters["folded"], place)

    def _words(self, texts: tf.Tensor) -> _Codes:
        """Returns the code points of the words of string[batch]."""
        decoded = tf.strings.unicode_decode(texts, "UTF-8", errors="replace")
        codes = decoded.flat_values
        row_splits = tf.cast(decoded.row_splits, tf.int32)
        properties, folded = self._look_up(codes)
        cjk = _bit(properties, tables.CJK)
        # A token number rises at white space, before and after a Chinese character, and at a new text; dropped characters are as if absent.
        rises = _bit(properties, tables.SPACE) + 2 * cjk + _count_at(row_splits[:-1], tf.size(codes))
        tokens = tf.cumsum(rises) - cjk
        kept = tf.where(~_has(properties, tables.SPACE | tables.DROPPED))[:, 0]  # [codes] -> [fewer codes]
        codes, tokens, properties, folded = (tf.gather(x, kept) for x in (codes, tokens, properties, folded))
        starts = tf.cast(kept, tf.int32)
        ends = starts + 1
        if self._do_lower_case:
            codes, tokens, starts = self._fold(codes, tokens, starts, properties, folded)
            properties, _ = self._look_up(codes)
            codes, properties = tf.cond(
                _any(properties, tables.REORDERED), lambda: self._reorder(codes, tokens), lambda: (codes, properties)
            )
            kept = (codes, tokens, starts, starts + 1, properties)
            codes, tokens, starts, ends, properties = tf.cond(_any(properties, tables.MARK), lambda: _drop_marks(*kept), lambda: kept)
        punctuation = _has(properties, tables.PUNCTUATION)
        begins_word = punctuation | _differs_from_last(tokens) | tf.concat([[False], punctuation], axis=0)[:-1]
        return _Codes(codes, tokens, starts, ends, begins_word, row_splits)

    def _fold(self, codes, tokens, starts, properties, folded):
        """Returns codes, tokens and starts of the lower-cased and decomposed code points, marks included."""
        changed = codes + folded
        is_sigma = tf.equal(codes, tables.CAPITAL_SIGMA)
        changed = tf.cond(tf.reduce_any(is_sigma), lambda: _make_sigmas_final(changed, is_sigma, tokens, properties), lambda: changed)

        def expand():
            counts = tf.bitwise.right_shift(properties, tables.COUNT_SHIFT)
            places = tf.cumsum(counts, exclusive=True)
            owners = tf.cumsum(_count_at(places, tf.reduce_sum(counts))) - 1  # [codes] -> [more codes]
            several = tf.where(counts > 1)[:, 0]
            here, there, count = (tf.gather(x, several) for x in (places, folded, counts))
            here, there = (tf.ragged.range(first, first + count).flat_values for first in (here, there))
            spelled = tf.gather(self._characters["expansions"], there)
            expanded = tf.tensor_scatter_nd_update(tf.gather(changed, owners), here[:, None], spelled)
            return expanded, tf.gather(tokens, owners), tf.gather(starts, owners)

        return tf.cond(tf.reduce_any(properties >= 2 << tables.COUNT_SHIFT), expand, lambda: (changed, tokens, starts))

    def _reorder(self, codes, tokens):
        """Returns the code points in canonical order, and their properties: runs of combining characters sorted by class."""
        known = self._characters["combining_codes"]
        place = tf.minimum(tf.searchsorted(known, codes), tf.size(known) - 1)
        classes = tf.where(tf.equal(tf.gather(known, place), codes), tf.gather(self._characters["combining_classes"], place), 0)
        run = tf.cumsum(tf.cast(tf.equal(classes, 0) | _differs_from_last(tokens), tf.int64))
        codes = tf.gather(codes, tf.argsort(run * 256 + tf.cast(classes, tf.int64), stable=True))
        return codes, self._look_up(codes)[0]

    def _match_words(self, codes, begins_word):
        """Returns where each piece starts, int32[pieces], and its id, int32[pieces].

        Args:
          codes: int32[codes].
          begins_word: bool[codes].
        """
        # Behind its end a word reads as code point 0, at which every walk ends.
        padded = tf.concat([tf.where(begins_word, 0, codes), [0]], axis=0)
        word_starts = tf.cast(tf.where(begins_word)[:, 0], tf.int32)  # [codes] -> [words]
        word_ends = tf.concat([word_starts[1:], [tf.size(codes)]], axis=0)[: tf.size(word_starts)]
        size, first_ids = self._longest_pieces(codes, padded, word_starts, FIRST_ROOT)
        failed = tf.equal(size, 0) | (word_ends - word_starts > MAX_WORD_CHARS)
        # Most words are one piece. Of the others, the longest continuation is looked up from every place at once, needed or not; then
        # each word hops from piece to piece.
        unfinished = tf.cast(tf.where(~failed & (word_starts + size < word_ends))[:, 0], tf.int32)  # [words] -> [unfinished words]
        cursor = tf.gather(word_starts + size, unfinished)
        rest = tf.ragged.range(cursor, tf.gather(word_ends, unfinished)).flat_values
        rest_sizes, rest_ids = self._longest_pieces(codes, padded, rest, CONTINUATION_ROOT)
        size_at = tf.scatter_nd(rest[:, None], rest_sizes, tf.shape(codes))
        taken, stuck = _hop(cursor, unfinished, word_ends, size_at)
        failed = tf.tensor_scatter_nd_update(failed, stuck[:, None], tf.fill(tf.shape(stuck), True))
        word_of = tf.cumsum(tf.cast(begins_word, tf.int32)) - 1
        taken = tf.boolean_mask(taken, ~tf.gather(failed, tf.gather(word_of, taken)))
        # Scattered over the codes, with 1 added so that 0 means no piece, the pieces of all words fall into order.
        id_at = tf.scatter_nd(rest[:, None], rest_ids, tf.shape(codes))
        places = tf.concat([word_starts, taken], axis=0)
        ids = tf.concat([tf.where(failed, self._unk_id, first_ids), tf.gather(id_at, taken)], axis=0)
        found = tf.scatter_nd(places[:, None], ids + 1, tf.shape(codes))
        places = tf.where(found > 0)[:, 0]
        return tf.cast(places, tf.int32), tf.gather(found, places) - 1

    def _longest_pieces(self, codes, padded, starts, root):
        """Returns the size, in code points, and the id of the longest piece from each place, int32[starts] each; size 0: there is none.

        Args:
          codes: int32[codes].
          padded: int32[codes + 1], 0 where a word begins and at the end.
          starts: int32[starts], places in `codes`.
          root: The trie's node to walk from.
        """
        count = tf.shape(starts)
        zeros = tf.zeros(count, tf.int32)

        def step(depth, codes_here, active, nodes, sizes, ids):
            nodes = self._children.lookup(tf.bitwise.left_shift(nodes, CODE_BITS) + tf.cast(codes_here, tf.int64))
            going = tf.where(nodes >= 0)[:, 0]  # [active] -> [still active]
            active, nodes = tf.gather(active, going), tf.gather(nodes, going)
            depth += 1
            pieces = tf.gather(self._pieces, nodes)
            complete = tf.where(pieces >= 0)[:, 0]
            at = tf.gather(active, complete)[:, None]
            sizes = tf.tensor_scatter_nd_update(sizes, at, tf.fill(tf.shape(complete), depth))
            ids = tf.tensor_scatter_nd_update(ids, at, tf.gather(pieces, complete))
            return depth, tf.gather(padded, tf.gather(starts, active) + depth), active, nodes, sizes, ids

        *_, sizes, ids = tf.while_loop(
            lambda depth, codes_here, *_: tf.size(codes_here) > 0,
            step,
            (0, tf.gather(codes, starts), tf.range(tf.size(starts)), tf.fill(count, np.int64(root)), zeros, zeros),
            shape_invariants=(tf.TensorShape([]), *[tf.TensorShape([None])] * 5),
        )
        return sizes, ids


def _hop(cursor, words, word_ends, size_at):
    """Returns the places that were hopped on, int32[pieces], and the words in which a place had no piece, int32[stuck words].

    Args:
      cursor: int32[unfinished words], the place to hop from.
      words: int32[unfinished words], the word's number.
      word_ends: int32[words].
      size_at: int32[codes], size of the longest piece from each place; 0 where there is none.
    """

    def step(cursor, words, taken, stuck):
        sizes = tf.gather(size_at, cursor)
        taken = tf.concat([taken, cursor], axis=0)
        stuck = tf.concat([stuck, tf.boolean_mask(words, tf.equal(sizes, 0))], axis=0)
        cursor += sizes
        going = (sizes > 0) & (cursor < tf.gather(word_ends, words))
        return tf.boolean_mask(cursor, going), tf.boolean_mask(words, going), taken, stuck

    none = tf.zeros([0], tf.int32)
    *_, taken, stuck = tf.while_loop(
        lambda cursor, *_: tf.size(cursor) > 0, step, (cursor, words, none, none), shape_invariants=(tf.TensorShape([None]),) * 4
    )
    return taken, stuck


def _make_sigmas_final(changed, is_sigma, tokens, properties):
    """Returns `changed`, int32[codes], with a final sigma where a capital one ends a word as `str.lower` sees it.

    That is where, within the token and looking past ignorable characters, a cased one stands before it and none behind it.
    """
    solid = ~_has(properties, tables.IGNORABLE)
    solid_places = tf.where(solid)[:, 0]  # [codes] -> [solid]
    neighbour_tokens = tf.concat([[-1], tf.gather(tokens, solid_places), [-1]], axis=0)
    neighbour_cased = tf.concat([[False], tf.gather(_has(properties, tables.CASED), solid_places), [False]], axis=0)
    sigmas = tf.where(is_sigma)[:, 0]
    before = tf.gather(tf.cumsum(tf.cast(solid, tf.int32), exclusive=True), sigmas)  # a sigma is solid: it stands at before + 1
    own_tokens = tf.gather(tokens, sigmas)

    def is_cased(place):
        return tf.gather(neighbour_cased, place) & tf.equal(tf.gather(neighbour_tokens, place), own_tokens)

    final = tf.boolean_mask(sigmas, is_cased(before) & ~is_cased(before + 2))
    return tf.tensor_scatter_nd_update(changed, final[:, None], tf.fill(tf.shape(final), tables.FINAL_SIGMA))


def _drop_marks(codes, tokens, starts, ends, properties):
    """Returns codes, tokens, starts, ends and properties without the marks; what precedes a mark in its token reaches to the mark's end."""
    is_mark = _has(properties, tables.MARK)
    # A group is a kept code point and the marks behind it, or marks that begin a token: these go without trace.
    groups = tf.cast(tf.where(~is_mark | _differs_from_last(tokens))[:, 0], tf.int32)  # [codes] -> [groups]
    last = tf.concat([groups[1:], [tf.size(codes)]], axis=0)[: tf.size(groups)] - 1
    ends = tf.gather(ends, last)
    real = tf.where(~tf.gather(is_mark, groups))[:, 0]  # [groups] -> [kept]
    kept = tf.gather(groups, real)
    return tf.gather(codes, kept), tf.gather(tokens, kept), tf.gather(starts, kept), tf.gather(ends, real), tf.gather(properties, kept)


def _count_at(places, size):
    """Returns int32[size], how often each number occurs in `places`; those from `size` on are left out."""
    return tf.math.bincount(places, minlength=size, maxlength=size)


def _by_text(values, starts, words: _Codes) -> tf.RaggedTensor:
    """Returns the values as a row for each text, [batch, (values)], given where each starts in the decoded batch."""
    return tf.RaggedTensor.from_row_splits(values, tf.cast(tf.searchsorted(starts, words.row_splits), tf.int64), validate=False)


def _differs_from_last(values):
    """Returns bool[codes], whether each value differs from the one before it; the first does."""
    return tf.concat([tf.fill(tf.minimum(tf.shape(values), 1), True), values[1:] != values[:-1]], axis=0)


def _has(properties, bits: int):
    return tf.bitwise.bitwise_and(properties, bits) != 0


def _any(properties, bits: int):
    return tf.reduce_any(_has(properties, bits))


def _bit(properties, bit: int):
    return tf.cast(_has(properties, bit), tf.int32)
