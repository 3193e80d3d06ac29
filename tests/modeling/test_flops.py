"""Floating-point operations of a step, by hand."""

import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.modeling.flops import head_flops, train_flops


def test_a_layer_by_hand():
    config = BertConfig(vocab_size=10, hidden_size=4, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16)
    # the first layer of all 20 positions, of the second keys and values alone, and the rest of it for 2 rows; the pooler
    attention, products = 12 * 4 * 5, 6 * (4 * 16 + 2 * 4 * 64 // 4)
    whole = products + attention
    keys_and_values = 6 * 2 * 16
    assert train_flops(config, 20, 5, 2) == 20 * whole + 20 * keys_and_values + 2 * (whole - keys_and_values) + 2 * 6 * 16


def test_a_head_alone_multiplies_each_of_its_matrices_once_a_position():
    variables = [tf.zeros([2, 3, 5]), tf.zeros([7, 3]), tf.zeros([9])]
    assert head_flops(variables, 10) == 6 * 10 * (30 + 21)
