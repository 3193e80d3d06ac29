"""Packing: no example is cut, moved apart or laid over another, and few rows are used."""

import numpy as np
import pytest

from bert_tf.data.packing import pack, place


def test_the_worked_example():
    rows, offsets = place(np.array([3, 5, 2]), 8)
    assert rows.tolist() == [0, 0, 1] and offsets.tolist() == [5, 0, 0]


@pytest.mark.parametrize("seed", range(5))
def test_examples_do_not_overlap_and_rows_are_full(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 17, 200)
    rows, offsets = place(lengths, 16)
    taken = np.zeros((rows.max() + 1, 16), int)
    for row, offset, length in zip(rows, offsets, lengths):
        assert offset + length <= 16
        taken[row, offset : offset + length] += 1
    assert taken.max() == 1
    # first fit of the longest first needs at most 11/9 of the best, and 6/9 of a row (Dosa, 2007)
    assert len(taken) <= np.ceil(lengths.sum() / 16) * 11 / 9 + 6 / 9


def features(rng, size, seq, masks):
    lengths = rng.integers(3, seq + 1, size)
    mask = (np.arange(seq) < lengths[:, None]).astype(np.int64)
    return {
        "input_ids": rng.integers(5, 50, (size, seq)) * mask,
        "input_mask": mask,
        "segment_ids": rng.integers(0, 2, (size, seq)) * mask,
        "masked_lm_positions": (rng.random((size, masks)) * lengths[:, None]).astype(np.int64),
        "masked_lm_ids": rng.integers(5, 50, (size, masks)),
        "next_sentence_labels": rng.integers(0, 2, (size, 1)),
    }


@pytest.mark.parametrize("num_groups", [1, 2, 4])
def test_every_example_is_found_again(num_groups):
    rng = np.random.default_rng(3)
    batch = features(rng, 32, 12, 3)
    packed = pack(batch, num_groups)
    rows = len(packed["input_ids"]) // num_groups
    assert rows * num_groups < 32 and packed["input_mask"].sum() == batch["input_mask"].sum()
    assert np.array_equal(packed["input_mask"], packed["block_ids"] > 0)
    for example in range(32):
        group = slice(example // (32 // num_groups) * rows, (example // (32 // num_groups) + 1) * rows)
        flat = {name: packed[name][group].reshape(-1) for name in ("input_ids", "segment_ids", "block_ids", "position_ids")}
        first, length = packed["cls_positions"][example], batch["input_mask"][example].sum()
        assert first // 12 == (first + length - 1) // 12  # in one row
        for name in ("input_ids", "segment_ids"):
            assert np.array_equal(flat[name][first : first + length], batch[name][example, :length])
        assert flat["position_ids"][first : first + length].tolist() == list(range(length))
        row = packed["block_ids"][group][first // 12]
        assert np.array_equal(np.flatnonzero(row == flat["block_ids"][first]), np.arange(first % 12, first % 12 + length))
        targets = flat["input_ids"][packed["masked_lm_positions"][example]]
        assert np.array_equal(targets, batch["input_ids"][example][batch["masked_lm_positions"][example]])
    for name in ("masked_lm_ids", "next_sentence_labels"):
        assert np.array_equal(packed[name], batch[name])


def test_row_counts_come_in_few_sizes():
    rng = np.random.default_rng(3)
    counts = {len(pack(features(rng, 64, 12, 3))["input_ids"]) for _ in range(50)}
    assert all(count % 8 == 0 for count in counts) and len(counts) <= 3
