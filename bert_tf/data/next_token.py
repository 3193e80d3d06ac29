"""What a left-to-right language model is to tell, made while batches are read: at each place, the piece that comes next."""

from collections.abc import Mapping

import tensorflow as tf


def next_token_targets(batch: Mapping[str, tf.Tensor], origins: tf.Tensor) -> dict[str, tf.Tensor]:
    """Returns the batch with the places to predict at and what comes there, under the names that masked pieces have.

    New are masked_lm_positions, masked_lm_ids int64[batch, seq - 1] and masked_lm_weights float32[batch, seq - 1]: [CLS] is asked for the
    first piece, the last piece for [SEP]. Where nothing comes next all three are 0, as in records with fewer masks than there is room
    for. For the pieces `[CLS] a b [SEP]` and one place of padding, positions are `[0, 1, 2, 0]` and ids those of `[a b [SEP] 0]`.

    Args:
      batch: Of the kind NEXT_TOKEN_PRETRAINING: input_ids, input_mask int64[batch, seq], ...
      origins: Unused: nothing is drawn.
    """
    del origins
    is_asked = batch["input_mask"][:, 1:]  # [batch, seq] -> [batch, seq - 1]
    return {
        **batch,
        "masked_lm_positions": tf.range(tf.shape(is_asked)[1], dtype=tf.int64) * is_asked,
        "masked_lm_ids": batch["input_ids"][:, 1:] * is_asked,
        "masked_lm_weights": tf.cast(is_asked, tf.float32),
    }
