import numpy as np
import tensorflow as tf

from bert_tf.data.next_token import next_token_targets


def test_each_place_is_asked_for_the_next_piece_and_padding_for_nothing():
    batch = {
        "input_ids": tf.constant([[2, 7, 8, 3, 0, 0], [2, 5, 6, 7, 8, 3]], tf.int64),
        "input_mask": tf.constant([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]], tf.int64),
    }
    found = next_token_targets(batch, tf.zeros([2, 2], tf.int64))
    np.testing.assert_array_equal(found["masked_lm_positions"], [[0, 1, 2, 0, 0], [0, 1, 2, 3, 4]])
    np.testing.assert_array_equal(found["masked_lm_ids"], [[7, 8, 3, 0, 0], [5, 6, 7, 8, 3]])
    np.testing.assert_array_equal(found["masked_lm_weights"], [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    assert found["masked_lm_weights"].dtype == tf.float32
    np.testing.assert_array_equal(found["input_ids"], batch["input_ids"])
