"""Masks drawn while batches are read, by TensorFlow operations: what `pretraining/masking.py` does once, anew in every epoch.

An example's masks are a pure function of (seed, epoch, number of its record): the same whatever batch it stands in, on whatever machine,
and whether or not the run was interrupted before.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from bert_tf.pretraining.masking import AS_ITSELF, AS_MASK, MaskingRules, num_to_mask


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
          batch: Of the kind UNMASKED_PRETRAINING: input_ids, input_mask int64[batch, seq], ...
          origins: int64[batch, 2], the epoch and the number of each example's record.
        """
        rules, ids = self.rules, batch["input_ids"]
        seq, none = ids.shape[1], tf.zeros([], tf.int64)
        for_order, for_outcome, for_replacement = tf.unstack(self._draw(origins, seq), axis=1)  # float64[batch, seq] each
        is_text = (batch["input_mask"] == 1) & (ids != rules.cls_id) & (ids != rules.sep_id)
        lengths = tf.reduce_sum(batch["input_mask"], axis=1)
        counts = tf.gather([num_to_mask(n, rules.masked_lm_prob, rules.max_predictions) for n in range(seq + 1)], lengths)
        chosen = _choose(is_text, self._word_starts(ids, is_text), counts, for_order, rules.whole_word)

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
            **batch,
            "input_ids": tf.where(chosen, instead, ids),
            "masked_lm_positions": positions,
            "masked_lm_ids": tf.where(is_used, tf.gather(ids, positions, batch_dims=1), none),
            "masked_lm_weights": tf.cast(is_used, tf.float32),
        }

    def _draw(self, origins, seq):
        """Returns numbers from 0 up to 1, float64[batch, 3, seq], each row from a seed of its own."""
        seeds = tf.stack([origins[:, 0] * 2**32 + self.seed, origins[:, 1]], axis=1)
        # Philox by name: left to itself TensorFlow takes another generator on other devices
        return tf.map_fn(
            lambda seed: tf.random.stateless_uniform([3, seq], seed, dtype=tf.float64, alg="philox"),
            seeds,
            fn_output_signature=tf.TensorSpec([3, seq], tf.float64),
        )

    def _word_starts(self, ids, is_text):
        """Returns where what is masked together begins, bool[batch, seq]: at every piece, or at those that continue no word."""
        if not self.rules.whole_word:
            return is_text
        follows_text = tf.pad(is_text, [[0, 0], [1, 0]])[:, :-1]
        return is_text & ~(follows_text & tf.gather(np.asarray(self.rules.continues_word), ids))


def _choose(is_text, starts, counts, keys, whole_word):
    """Returns which positions are masked, bool[batch, seq].

    Args:
      is_text: bool[batch, seq], what may be masked.
      starts: bool[batch, seq], where the words of it begin.
      counts: int32[batch], how many positions to mask.
      keys: float64[batch, seq], by whose order words are gone through.
      whole_word: Whether words can be longer than a piece.
    """
    # The words in random order, those of no word (key 1) at the end; a word is known by the position of its start.
    order = tf.argsort(tf.where(starts, keys, 1.0), axis=1, stable=True)
    if not whole_word:
        taken = tf.range(tf.shape(keys)[1])[tf.newaxis] < counts[:, tf.newaxis]  # [batch, seq], by place in the order
        return _by_position(taken, order) & is_text
    word = tf.cumsum(tf.cast(starts, tf.int32), axis=1) - 1  # of each position, [batch, seq]
    own_start = tf.argsort(tf.where(starts, 0, 1), axis=1, stable=True)  # of each word, [batch, words]
    own_start = tf.gather(own_start, tf.maximum(word, 0), batch_dims=1)  # of each position, [batch, seq]
    seq = keys.shape[1]
    lengths = tf.reduce_sum(tf.one_hot(tf.where(is_text, own_start, -1), seq, dtype=tf.int32), axis=1)  # by the start, [batch, seq]
    taken = _fill(tf.gather(lengths, order, batch_dims=1), counts)
    return tf.gather(_by_position(taken, order), own_start, batch_dims=1) & is_text


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
