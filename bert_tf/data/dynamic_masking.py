"""Masks drawn while batches are read, by TensorFlow operations: what `pretraining/masking.py` does once, anew in every epoch.

An example's masks are a pure function of (seed, epoch, number of its record): the same whatever batch it stands in, on whatever machine,
and whether or not the run was interrupted before.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from bert_tf.data.schema import CONTINUES_WORD
from bert_tf.pretraining.masking import AS_ITSELF, AS_MASK, MaskingRules, num_to_mask
from bert_tf.pretraining.spans import length_bounds


@dataclass(frozen=True)
class DynamicMasking:
    """Masks the batches of `data/batches.py`: give it to them as their `transform`.

    Attributes:
      rules: How pieces are masked.
      seed: Below 2^32, the seed of every draw.
    """

    rules: MaskingRules
    seed: int

    def __call__(self, batch: Mapping[str, tf.Tensor], origins: tf.Tensor) -> dict[str, tf.Tensor]:
        """Returns the batch with masks in input_ids, and masked_lm_positions, masked_lm_ids int64[batch, masks], masked_lm_weights float32.

        Args:
          batch: Of the kind UNMASKED_PRETRAINING: input_ids, input_mask int64[batch, seq], ...; or of the kind
            UNMASKED_SEGMENTED_PRETRAINING, whose continues_word int64[batch, seq] stays behind.
          origins: int64[batch, 2], the epoch and the number of each example's record.
        """
        rules, ids = self.rules, batch["input_ids"]
        seq, none = ids.shape[1], tf.zeros([], tf.int64)
        for_order, for_outcome, for_replacement, *for_lengths = tf.unstack(self.draw(origins, seq), axis=1)  # float64[batch, seq] each
        is_text = (batch["input_mask"] == 1) & (ids != rules.cls_id) & (ids != rules.sep_id)
        lengths = tf.reduce_sum(batch["input_mask"], axis=1)
        counts = tf.gather([num_to_mask(n, rules.masked_lm_prob, rules.max_predictions) for n in range(seq + 1)], lengths)
        starts = self._word_starts(batch, is_text)
        if for_lengths:
            bounds = tf.constant(length_bounds(rules.max_ngram), tf.float64)
            num_words = 1 + tf.reshape(tf.searchsorted(bounds, tf.reshape(for_lengths[0], [-1]), "right"), tf.shape(ids))
            chosen = _choose_spans(is_text, starts, counts, for_order, num_words, rules.max_ngram)
        else:
            chosen = _choose(is_text, starts, counts, for_order, rules.whole_word)

        replacements = tf.constant(np.asarray(rules.replacements), tf.int64)
        drawn = tf.gather(replacements, tf.cast(for_replacement * len(rules.replacements), tf.int64))
        as_mask, as_itself = rules.mix[AS_MASK], rules.mix[AS_MASK] + rules.mix[AS_ITSELF]
        instead = tf.where(for_outcome < as_mask, none + rules.mask_id, tf.where(for_outcome < as_itself, ids, drawn))

        # the chosen positions, ascending, behind them `seq` for none: [batch, seq] -> [batch, masks]
        positions = tf.sort(tf.where(chosen, tf.range(seq, dtype=tf.int64), none + seq), axis=1)[:, : rules.max_predictions]
        positions = tf.pad(positions, [[0, 0], [0, max(0, rules.max_predictions - seq)]], constant_values=seq)
        is_used = positions < seq
        positions = tf.where(is_used, positions, none)
        return {
            **{name: value for name, value in batch.items() if name != CONTINUES_WORD.name},
            "input_ids": tf.where(chosen, instead, ids),
            "masked_lm_positions": positions,
            "masked_lm_ids": tf.where(is_used, tf.gather(ids, positions, batch_dims=1), none),
            "masked_lm_weights": tf.cast(is_used, tf.float32),
        }

    def draw(self, origins: tf.Tensor, seq: int) -> tf.Tensor:
        """Returns numbers from 0 up to 1, float64[batch, 3 or 4, seq], each example's from a seed of its own.

        By them follow the order of words, what becomes of a position, its replacement and, where spans are masked, their lengths.
        """
        shape = [3 if self.rules.max_ngram == 1 else 4, seq]
        seeds = tf.stack([origins[:, 0] * 2**32 + self.seed, origins[:, 1]], axis=1)
        # Philox by name: left to itself TensorFlow takes another generator on other devices
        return tf.map_fn(
            lambda seed: tf.random.stateless_uniform(shape, seed, dtype=tf.float64, alg="philox"),
            seeds,
            fn_output_signature=tf.TensorSpec(shape, tf.float64),
        )

    def _word_starts(self, batch, is_text):
        """Returns where what is masked together begins, bool[batch, seq]: at every piece, or at those that continue no word."""
        if not self.rules.whole_word:
            return is_text
        follows_text = tf.pad(is_text, [[0, 0], [1, 0]])[:, :-1]
        given = batch.get(CONTINUES_WORD.name)
        continues = tf.gather(np.asarray(self.rules.continues_word), batch["input_ids"]) if given is None else given == 1
        return is_text & ~(follows_text & continues)


def _choose(is_text, starts, counts, keys, whole_word):
    """Returns which positions are masked, bool[batch, seq].

    Args:
      is_text: bool[batch, seq], what may be masked.
      starts: bool[batch, seq], where the words of it begin.
      counts: int32[batch], how many positions to mask.
      keys: float64[batch, seq], by whose order words are gone through.
      whole_word: Whether words can be longer than a piece.
    """
    order = _order(starts, keys)
    if not whole_word:
        taken = tf.range(tf.shape(keys)[1])[tf.newaxis] < counts[:, tf.newaxis]  # [batch, seq], by place in the order
        return _by_position(taken, order) & is_text
    own_start, lengths = _words(is_text, starts)
    taken = _fill(tf.gather(lengths, order, batch_dims=1), counts)
    return tf.gather(_by_position(taken, order), own_start, batch_dims=1) & is_text


def _choose_spans(is_text, starts, counts, keys, num_words, max_ngram):
    """Returns which positions are masked in spans of words, bool[batch, seq]: what `pretraining/spans.py` does.

    Args:
      is_text: bool[batch, seq], what may be masked.
      starts: bool[batch, seq], where the words of it begin.
      counts: int32[batch], how many positions to mask.
      keys: float64[batch, seq], by whose order spans begin at words.
      num_words: int32[batch, seq], how many words the span that begins at each word has.
      max_ngram: The most that can be.
    """
    own_start, lengths = _words(is_text, starts)
    taken = _fill_spans(lengths, _order(starts, keys), counts, num_words, max_ngram)
    return tf.gather(taken, own_start, batch_dims=1) & is_text


def _order(starts, keys):
    """Returns the words in random order, those of no word (key 1) at the end, int32[batch, seq]; a word is known by where it starts."""
    return tf.argsort(tf.where(starts, keys, 1.0), axis=1, stable=True)


def _words(is_text, starts):
    """Returns where the word of each position starts, and by their starts how long words are, 0 elsewhere: int32[batch, seq] each."""
    word = tf.cumsum(tf.cast(starts, tf.int32), axis=1) - 1  # of each position, [batch, seq]
    own_start = tf.argsort(tf.where(starts, 0, 1), axis=1, stable=True)  # of each word, [batch, words]
    own_start = tf.gather(own_start, tf.maximum(word, 0), batch_dims=1)  # of each position, [batch, seq]
    return own_start, tf.reduce_sum(tf.one_hot(tf.where(is_text, own_start, -1), starts.shape[1], dtype=tf.int32), axis=1)


def _by_position(values, order):
    """Returns values that stand by place in an order, [batch, seq], each at its position."""
    return tf.gather(values, tf.argsort(order, axis=1), batch_dims=1)


def _fill(lengths, counts):
    """Returns which words are taken one after the other, bool[batch, seq]; one that would exceed the count is passed over.

    Args:
      lengths: int32[batch, seq], of the words in their order; 0 where there is none.
      counts: int32[batch].
    """
    seq = lengths.shape[1]

    def is_open(place, left, taken):
        del taken
        return (place < seq) & tf.reduce_any((left > 0) & (lengths[:, tf.minimum(place, seq - 1)] > 0))

    def take(place, left, taken):
        length = lengths[:, place]
        fits = (length > 0) & (length <= left)
        taken |= fits[:, tf.newaxis] & (tf.range(seq) == place)
        return place + 1, left - tf.where(fits, length, 0), taken

    return tf.while_loop(is_open, take, (0, counts, tf.zeros_like(lengths, tf.bool)))[2]


def _fill_spans(lengths, order, counts, num_words, max_ngram):
    """Returns the words that are in spans, by their starts, bool[batch, seq], spans being taken one after the other.

    Args:
      lengths: int32[batch, seq], of words by their starts; 0 elsewhere, so that no span goes on beyond a text's end.
      order: int32[batch, seq], where the words start, in their order.
      counts: int32[batch].
      num_words: int32[batch, seq], of the span that begins at each start.
      max_ngram: The most that can be.
    """
    seq = lengths.shape[1]
    lengths = tf.pad(lengths, [[0, 0], [0, 1]])  # there is no word behind the last position

    def is_open(place, left, taken):
        del taken
        return (place < seq) & tf.reduce_any((left > 0) & (_at(lengths, order[:, tf.minimum(place, seq - 1)]) > 0))

    def take(place, left, taken):
        start = order[:, place]
        wanted, goes_on = _at(num_words, start), tf.ones_like(start, tf.bool)
        for number in range(max_ngram):
            length = _at(lengths, start)
            goes_on &= (number < wanted) & (length > 0) & (length <= left) & ~_at(taken, start)
            taken |= goes_on[:, tf.newaxis] & (tf.range(seq + 1) == start[:, tf.newaxis])
            left -= tf.where(goes_on, length, 0)
            start += length
        return place + 1, left, taken

    return tf.while_loop(is_open, take, (0, counts, tf.zeros_like(lengths, tf.bool)))[2][:, :seq]


def _at(values, places):
    """Returns one value of each row [batch, n], at the row's place int[batch]."""
    return tf.gather(values, places, batch_dims=1)
