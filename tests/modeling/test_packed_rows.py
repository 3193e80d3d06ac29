"""Several examples in one row: the loss and the gradients of the same examples, each in a row of its own."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.data.packing import pack
from bert_tf.modeling.losses import pretraining_sums, total_loss
from bert_tf.modeling.models import PretrainingModel

SIZE, SEQ, MASKS, VOCAB = 16, 24, 4, 50
CONFIG = BertConfig(
    vocab_size=VOCAB,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=48,
    max_position_embeddings=SEQ,
    type_vocab_size=2,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    initializer_range=0.2,  # so that what is seen matters
)


def features(seed=1):
    """Examples of 3 to 24 pieces with one to four masked ones; the last example only fills up."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(3, SEQ + 1, SIZE)
    mask = (np.arange(SEQ) < lengths[:, None]).astype(np.int64)
    weights = (np.arange(MASKS) < rng.integers(1, MASKS + 1, SIZE)[:, None]).astype(np.float32)
    return {
        "input_ids": rng.integers(5, VOCAB, (SIZE, SEQ)) * mask,
        "input_mask": mask,
        "segment_ids": rng.integers(0, 2, (SIZE, SEQ)) * mask,
        "masked_lm_positions": (rng.random((SIZE, MASKS)) * lengths[:, None] * weights).astype(np.int64),
        "masked_lm_ids": rng.integers(5, VOCAB, (SIZE, MASKS)),
        "masked_lm_weights": weights,
        "next_sentence_labels": rng.integers(0, 2, (SIZE, 1)),
        "is_real_example": (np.arange(SIZE) < SIZE - 1).astype(np.int64),
    }


def figures(model, batch):
    batch = {name: tf.constant(value) for name, value in batch.items()}
    variables = [v.value for v in model.trainable_variables]
    with tf.GradientTape() as tape:
        sums = pretraining_sums(model(batch, training=True), batch)
        loss = total_loss(sums)
    gradients = [tf.convert_to_tensor(gradient).numpy() for gradient in tape.gradient(loss, variables)]
    return {name: float(part.mean()) for name, part in sums.items()} | {"loss": float(loss)}, gradients


@pytest.mark.parametrize("seed", [1, 2])
def test_loss_and_every_gradient(seed):
    model, batch = PretrainingModel(CONFIG), features(seed)
    packed = pack(batch)
    assert len(packed["input_ids"]) < SIZE
    expected, expected_gradients = figures(model, batch)
    found, gradients = figures(model, packed)
    assert found == pytest.approx(expected, abs=1e-5)
    for variable, gradient, other in zip(model.trainable_variables, gradients, expected_gradients, strict=True):
        np.testing.assert_allclose(gradient, other, atol=1e-5, err_msg=variable.path)


def test_examples_of_a_row_do_not_see_each_other():
    """Another text in the same row changes nothing for an example."""
    model, batch = PretrainingModel(CONFIG), features()
    packed = pack(batch)
    row = np.flatnonzero([len(set(ids) - {0}) > 1 for ids in packed["block_ids"]])[0]
    changed = packed | {"input_ids": packed["input_ids"].copy()}
    changed["input_ids"][row, packed["block_ids"][row] == 2] = 7
    first, second = (model({name: tf.constant(value) for name, value in each.items()}) for each in (packed, changed))
    in_block = (packed["cls_positions"] // SEQ == row) & (packed["block_ids"].reshape(-1)[packed["cls_positions"]] == 2)
    assert in_block.sum() == 1
    for name in ("masked_lm", "next_sentence"):
        np.testing.assert_allclose(first[name][~in_block], second[name][~in_block], atol=1e-6)
        assert not np.allclose(first[name][in_block], second[name][in_block], atol=1e-3)
