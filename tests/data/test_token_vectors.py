"""The kept vectors of tokens: what is read is what was written, in whatever order; damaged files are told."""

import os

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.data import token_vectors
from bert_tf.data.buckets import BucketPlan
from bert_tf.data.records import RecordFile, serialize, write_records
from bert_tf.data.schema import TAGGING
from bert_tf.data.token_vectors import TokenVectorBatches, TokenVectors
from bert_tf.errors import InputError

SEQ, LAYERS, HIDDEN = 6, 3, 2
# where the tokens of each record begin
PLACES = [[1, 3], [2], [], [1, 2, 4], [4], [1, 2]]
COUNTS = [len(places) for places in PLACES]


def vectors_of(record):
    """Returns [layers, tokens, hidden]: numbers that tell record, layer, token and place in the vector."""
    layer, token, place = np.meshgrid(range(LAYERS), range(COUNTS[record]), range(HIDDEN), indexing="ij")
    return np.float32(300 * record + 100 * layer + 10 * token + place)  # below 2,048: whole numbers of float16


@pytest.fixture
def path(tmp_path):
    token_vectors.write(str(tmp_path / "vectors"), map(vectors_of, range(len(PLACES))))
    return str(tmp_path / "vectors")


def test_what_is_read_is_what_was_written(path):
    kept = TokenVectors(path, COUNTS, LAYERS, HIDDEN)
    found = kept.take(np.array([3, 2, 0, 3]), 4, (2, 0))
    assert found.shape == (4, 4, 2, HIDDEN) and found.dtype == np.float16
    for row, record in zip(found, (3, 2, 0, 3)):
        expected = vectors_of(record)[[2, 0]].transpose(1, 0, 2)
        np.testing.assert_array_equal(row[: COUNTS[record]], expected)
        assert not row[COUNTS[record] :].any()
    np.testing.assert_array_equal(kept.take(np.array([3]), 1, (1,))[0, 0, 0], vectors_of(3)[1, 0])


def test_sixteen_bits_hold_what_a_layer_norm_puts_out():
    values = np.random.default_rng(1).normal(0, 1, (LAYERS, 50, HIDDEN)).astype(np.float32)
    np.testing.assert_allclose(np.frombuffer(token_vectors._payload(values), "<f2").reshape(values.shape), values, rtol=2**-11, atol=2**-24)


@pytest.mark.parametrize("number", [np.nan, np.inf, 70000.0])
def test_numbers_that_it_cannot_hold_are_refused_and_nothing_is_written(tmp_path, number):
    with pytest.raises(InputError, match=r"not finite, or beyond 65,504; give a sound --init_checkpoint"):
        token_vectors.write(str(tmp_path / "vectors"), [np.zeros((1, 1, 1)), np.full((1, 1, 1), number)])
    assert not os.listdir(tmp_path)


def test_a_file_of_other_records_is_refused(path):
    for counts in (COUNTS[:-1], COUNTS[::-1]):
        with pytest.raises(InputError, match=r"vectors: is damaged \(its records have other sizes than the data's\); remove it"):
            TokenVectors(path, counts, LAYERS, HIDDEN)


@pytest.fixture
def records(tmp_path):
    def features(record):
        mask = [int(place in PLACES[record]) for place in range(SEQ)]
        labels = [10 * record + place if place in PLACES[record] else 0 for place in range(SEQ)]
        ones = [1] * SEQ
        return dict(input_ids=ones, input_mask=ones, segment_ids=ones, label_ids=labels, label_mask=mask, is_real_example=1)

    name = str(tmp_path / "train.tf_record")
    write_records([name], [serialize(features(record), TAGGING) for record in range(len(PLACES))])
    return RecordFile(name)


def made(path, records, num_steps=None, buckets=(1, 3)):
    lengths = np.maximum(COUNTS, 1)
    plan = BucketPlan(lengths, buckets, 2, num_steps, 7 if num_steps else None)
    kept = TokenVectors(path, COUNTS, LAYERS, HIDDEN)
    return TokenVectorBatches([records], TAGGING, {"seq": SEQ}, 2, plan, kept, (0, 2))


@pytest.mark.parametrize("buckets", [(1, 3), (3,)])
def test_batches_hold_each_records_own_vectors_and_labels(path, records, buckets):
    batches = made(path, records, 9, buckets)
    seen = []
    for step, batch in enumerate(batches.dataset(0, 9)):
        assert batch["token_vectors"].shape[1] in buckets
        for row, record in enumerate(batches.numbers(step)):
            count = COUNTS[record]
            seen.append(record)
            np.testing.assert_array_equal(batch["token_vectors"][row, :count], vectors_of(record)[[0, 2]].transpose(1, 0, 2))
            assert batch["label_ids"][row, :count].numpy().tolist() == [10 * record + place for place in PLACES[record]]
            assert batch["label_mask"][row].numpy().tolist() == [1] * count + [0] * (batch["label_mask"].shape[1] - count)
            np.testing.assert_array_equal(batch["input_mask"][row], batch["label_mask"][row])
    assert sorted(seen) == sorted([*range(len(PLACES))] * 3)


def test_a_step_is_the_same_wherever_one_begins(path, records):
    whole = list(made(path, records, 9).dataset(0, 9))
    for batch, other in zip(whole[4:], made(path, records, 9).dataset(4, 5), strict=True):
        for name in batch:
            np.testing.assert_array_equal(batch[name], other[name])


def test_damage_is_told_when_it_is_met(path, records):
    with open(path, "r+b") as file:
        file.seek(int(RecordFile(path).starts[3]) + 12)
        file.write(b"\xff\xff")
    batches = made(path, records, 3)
    with pytest.raises(InputError, match=r"vectors: record 3 is damaged"), batches.named_failures():
        list(batches.dataset(0, 3))
    assert tf.io.gfile.exists(path)
