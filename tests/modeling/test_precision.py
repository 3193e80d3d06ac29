"""Half precision: finite where a row is all padding, with LayerNorm and softmax in float32 (user problem 28)."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.modeling.encoder import BertEncoder
from bert_tf.modeling.losses import pretraining_sums
from bert_tf.modeling.models import PretrainingModel

CONFIG = BertConfig(
    vocab_size=50,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    max_position_embeddings=16,
    type_vocab_size=2,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
HALVES = ("mixed_float16", "mixed_bfloat16")
MASK = np.array([[1] * 12, [1] * 5 + [0] * 7, [0] * 12], np.int32)  # the last row is all padding
IDS = np.random.default_rng(3).integers(5, 50, MASK.shape).astype(np.int32) * MASK
INPUTS = {"input_ids": IDS, "input_mask": MASK, "segment_ids": np.zeros_like(IDS)}
BATCH = INPUTS | {
    "masked_lm_positions": np.array([[1, 2], [1, 0], [0, 0]], np.int32),
    "masked_lm_ids": np.array([[7, 8], [9, 0], [0, 0]], np.int32),
    "masked_lm_weights": np.array([[1, 1], [1, 0], [0, 0]], np.float32),
    "next_sentence_labels": np.array([[0], [1], [0]], np.int32),
    "is_real_example": np.array([1, 1, 1], np.int32),
}


@pytest.mark.parametrize("policy", ("float32", *HALVES))
def test_all_padding_gives_finite_outputs(policy):
    outputs = BertEncoder(CONFIG, dtype=policy)(INPUTS)
    for name in ("sequence_output", "pooled_output"):
        assert np.isfinite(tf.cast(outputs[name], tf.float32)).all(), name


@pytest.mark.parametrize("policy", HALVES)
def test_outputs_are_near_those_of_float32(policy):
    full, half = BertEncoder(CONFIG), BertEncoder(CONFIG, dtype=policy)
    half.set_weights(full.get_weights())
    assert all(weight.dtype == "float32" for weight in half.weights)
    expected = full(INPUTS)["sequence_output"]
    found = tf.cast(half(INPUTS)["sequence_output"], tf.float32)
    # outputs are of size 1: 10 bits of mantissa in float16, 7 in bfloat16, over two layers
    np.testing.assert_allclose(found, expected, atol={"mixed_float16": 1e-2, "mixed_bfloat16": 8e-2}[policy])


@pytest.mark.parametrize("policy", HALVES)
def test_padding_has_no_weight(policy):
    encoder = BertEncoder(CONFIG, dtype=policy)
    other = INPUTS | {"input_ids": np.where(MASK == 1, IDS, 17)}
    np.testing.assert_array_equal(encoder(INPUTS)["sequence_output"][1, :5], encoder(other)["sequence_output"][1, :5])


@pytest.mark.parametrize("policy", HALVES)
def test_softmax_and_layer_norm_compute_in_float32(policy):
    encoder = BertEncoder(CONFIG, dtype=policy)
    graph = tf.function(lambda inputs: encoder(inputs)).get_concrete_function(INPUTS).graph
    kinds = {}
    for operation in graph.get_operations():
        if operation.type in ("Softmax", "Rsqrt", "Mean", "SquaredDifference"):
            kinds.setdefault(operation.type, set()).update(tensor.dtype for tensor in operation.outputs)
    assert {"Softmax", "Rsqrt"} <= kinds.keys()
    assert set.union(*kinds.values()) == {tf.float32}, kinds
    products = {op.outputs[0].dtype for op in graph.get_operations() if op.type in ("BatchMatMulV2", "MatMul")}
    assert products == {tf.as_dtype(keras.dtype_policies.get(policy).compute_dtype)}, "the products are what half precision speeds up"


@pytest.mark.parametrize("policy", HALVES)
def test_losses_and_gradients_are_finite_float32(policy):
    model = PretrainingModel(CONFIG, dtype=policy)
    with tf.GradientTape() as tape:
        logits = model(BATCH)
        sums = pretraining_sums(logits, BATCH)
        loss = sums["masked_lm_loss"].total + sums["next_sentence_loss"].total
    assert loss.dtype == tf.float32 and all(value.dtype == tf.float32 for value in logits.values())
    for variable, gradient in zip(model.trainable_variables, tape.gradient(loss, [v.value for v in model.trainable_variables])):
        gradient = tf.convert_to_tensor(gradient)
        assert gradient.dtype == tf.float32 and np.isfinite(gradient).all(), variable.path
