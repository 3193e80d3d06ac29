"""Which record stands where: a pure function of (seed, place), whatever was asked before; and batches of one shape."""

import os
import re
import time
from itertools import pairwise

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.data import record_order as module
from bert_tf.data.batches import Batches, BucketedBatches
from bert_tf.data.buckets import BucketPlan
from bert_tf.data.record_order import OrderedRecords, ShuffledRecords
from bert_tf.data.records import RecordFile, serialize, write_records
from bert_tf.data.schema import CLASSIFICATION, PRETRAINING
from bert_tf.errors import InputError

# Of uneven length, one shorter than a block, one a whole number of blocks.
LENGTHS = (37, 2, 8, 21)
TOTAL = sum(LENGTHS)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of 4 records, 5 of which make a pool: the 68 records above are 18 blocks in 4 pools."""
    monkeypatch.setattr(module, "BLOCK_RECORDS", 4)
    monkeypatch.setattr(module, "POOL_BLOCKS", 5)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files whose record n, counted through all of them, is the text n."""
    folder = tmp_path_factory.mktemp("records")
    first, opened = 0, []
    for number, length in enumerate(LENGTHS):
        path = str(folder / f"{number}.tfrecord")
        write_records([path], [str(n).encode() for n in range(first, first + length)], compress=number == 2)
        opened.append(RecordFile(path))
        first += length
    return opened


def numbers(records):
    return [int(record) for record in records]


def epoch(files, seed, number):
    return numbers(ShuffledRecords(files, seed).take(number * TOTAL, TOTAL))


@pytest.mark.parametrize("seed", [0, 1, 12345, 2**32 - 1])
def test_every_record_once_an_epoch(files, seed):
    for number in (0, 1, 2, 1000):
        assert sorted(epoch(files, seed, number)) == list(range(TOTAL))


def test_epochs_and_seeds_have_orders_of_their_own(files):
    orders = [epoch(files, seed, number) for seed in (1, 2) for number in (0, 1, 2)]
    assert len(set(map(tuple, orders))) == 6
    assert list(range(TOTAL)) not in orders


def test_orders_mix_files_and_leave_hardly_anything_in_place(files):
    """Over many epochs every record is about as often in the first quarter as any other."""
    counts = np.zeros(TOTAL)
    epochs = 200
    for number in range(epochs):
        counts[epoch(files, 7, number)[: TOTAL // 4]] += 1
    # a block goes as a whole, so counts of its records move together: five deviations of the binomial are seldom left
    expected = epochs / 4
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected * 0.75)


def test_a_pool_is_shuffled_as_a_whole(files):
    for number in range(5):
        first_pool = epoch(files, 3, number)[:17]
        # blocks one after the other would have some 12 neighbours
        assert sum(b - a == 1 for a, b in pairwise(first_pool)) < 6


def test_the_same_place_holds_the_same_record_whatever_was_asked_before(files):
    length = 3 * TOTAL
    through = numbers(ShuffledRecords(files, 9).take(0, length))
    rng = np.random.default_rng(4)
    asked = ShuffledRecords(files, 9)
    for place in rng.integers(0, length, 60):
        count = int(rng.integers(1, 30))
        expected = numbers(ShuffledRecords(files, 9).take(place, count))
        assert numbers(asked.take(int(place), count)) == expected
        assert through[place : place + count] == expected[: length - place]


def test_batches_larger_than_an_epoch(files):
    taken = numbers(ShuffledRecords(files[1:2], 1).take(1, 9))
    assert len(taken) == 9
    assert [sorted(taken[start : start + 2]) for start in (1, 3, 5, 7)] == [[37, 38]] * 4


def test_what_fits_in_memory_is_shuffled_as_a_whole(files, monkeypatch):
    monkeypatch.undo()
    assert module.BLOCK_RECORDS * module.POOL_BLOCKS >= 50_000
    records = ShuffledRecords(files, 1)
    order = numbers(records.take(0, TOTAL))
    assert sorted(order) == list(range(TOTAL))
    # neighbours of the files are no neighbours any more, but by chance
    assert sum(abs(a - b) == 1 for a, b in pairwise(order)) < 8


def test_ordered_records_come_first_to_last(files):
    records = OrderedRecords(files)
    assert records.num_records == TOTAL
    assert numbers(records.take(0, TOTAL)) == list(range(TOTAL))
    for place, count in ((0, 1), (36, 2), (30, 20), (38, 30), (60, 100), (TOTAL, 5)):
        assert numbers(records.take(place, count)) == list(range(place, min(place + count, TOTAL)))


# Batches


def example(number):
    ids = [number, number + 1, 0]
    return serialize({"input_ids": ids, "input_mask": [1, 1, 0], "segment_ids": [0, 1, 0], "label_ids": number % 2}, CLASSIFICATION)


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """Two files of 11 examples in all, numbered by their first id."""
    folder = tmp_path_factory.mktemp("examples")
    write_records([str(folder / "a")], [example(number) for number in range(7)])
    write_records([str(folder / "b")], [example(number) for number in range(7, 11)])
    return [RecordFile(str(folder / name)) for name in "ab"]


def batches_of(records, batch_size):
    return Batches(records, CLASSIFICATION, {"seq": 3}, batch_size)


def first_ids(dataset):
    return [batch["input_ids"][:, 0].numpy().tolist() for batch in dataset]


def test_shapes_and_dtypes_are_known_before_the_first_batch(examples):
    spec = batches_of(OrderedRecords(examples), 4).dataset().element_spec
    assert spec == {
        **{name: tf.TensorSpec([4, 3], tf.int32) for name in ("input_ids", "input_mask", "segment_ids")},
        **{name: tf.TensorSpec([4], tf.int32) for name in ("label_ids", "is_real_example")},
    }


def test_pretraining_batches(tmp_path):
    features = {name: [1, 0] for name in ("input_ids", "input_mask", "segment_ids")}
    features |= {"masked_lm_positions": [1], "masked_lm_ids": [5], "masked_lm_weights": [0.5], "next_sentence_labels": [1]}
    write_records([str(tmp_path / "a")], [serialize(features, PRETRAINING)] * 3)
    (batch,) = Batches(ShuffledRecords([RecordFile(str(tmp_path / "a"))], 1), PRETRAINING, {"seq": 2, "masks": 1}, 3).dataset(num_steps=1)
    assert batch["masked_lm_weights"].dtype == tf.float32 and batch["masked_lm_weights"].numpy().tolist() == [[0.5]] * 3
    assert batch["next_sentence_labels"].numpy().tolist() == [[1]] * 3
    assert batch["is_real_example"].numpy().tolist() == [1, 1, 1]


def test_the_last_ordered_batch_is_filled_up_and_says_so(examples):
    batches = batches_of(OrderedRecords(examples), 4)
    assert len(batches) == 3
    parts = list(batches.dataset(num_steps=len(batches)))
    assert [part["is_real_example"].numpy().tolist() for part in parts] == [[1] * 4, [1] * 4, [1, 1, 1, 0]]
    assert np.concatenate([part["input_ids"][:, 0] for part in parts]).tolist() == [*range(11), 10]


def test_a_file_of_fewer_examples_than_a_batch(examples):
    (batch,) = batches_of(OrderedRecords(examples[1:]), 9).dataset(num_steps=1)
    assert batch["is_real_example"].numpy().tolist() == [1] * 4 + [0] * 5


def test_an_example_that_was_written_as_filling_stays_so(tmp_path):
    filling = tf.train.Example.FromString(example(1))
    filling.features.feature["is_real_example"].int64_list.value.append(0)
    write_records([str(tmp_path / "a")], [example(0), filling.SerializeToString()])
    (batch,) = batches_of(OrderedRecords([RecordFile(str(tmp_path / "a"))]), 2).dataset(num_steps=1)
    assert batch["is_real_example"].numpy().tolist() == [1, 0]


@pytest.mark.parametrize("first_step", [1, 3, 40])
def test_starting_at_a_step_is_going_there(examples, first_step):
    through = first_ids(batches_of(ShuffledRecords(examples, 5), 4).dataset(num_steps=first_step + 4))
    assert first_ids(batches_of(ShuffledRecords(examples, 5), 4).dataset(first_step, 4)) == through[first_step:]
    # the stream of a training run has no end
    assert first_ids(batches_of(ShuffledRecords(examples, 5), 4).dataset(first_step).take(4)) == through[first_step:]


def test_training_batches_are_full_across_epochs(examples):
    parts = list(batches_of(ShuffledRecords(examples, 5), 4).dataset(num_steps=11))
    assert all(part["is_real_example"].numpy().all() for part in parts)
    seen = np.concatenate([part["input_ids"][:, 0] for part in parts]).reshape(4, 11)
    assert [sorted(row) for row in seen.tolist()] == [list(range(11))] * 4


def test_a_million_steps_away_is_at_once(examples):
    batches = batches_of(ShuffledRecords(examples, 5), 4)
    start = time.process_time()  # so that a busy machine does not count
    batch = next(iter(batches.dataset(1_000_000)))
    assert time.process_time() - start < 1
    expected = ShuffledRecords(examples, 5).take(4_000_000, 4)
    assert batch["input_ids"].numpy().tolist() == [
        list(tf.train.Example.FromString(e).features.feature["input_ids"].int64_list.value) for e in expected
    ]


@pytest.mark.parametrize("place", [0, 13, TOTAL - 5, 2 * TOTAL + 30])
def test_shuffled_records_know_which_they_are(files, place):
    records = ShuffledRecords(files, 9)
    assert records.numbers(place, 25).tolist() == numbers(records.take(place, 25))


def test_a_steps_records_in_words(files):
    batches = Batches(OrderedRecords(files), CLASSIFICATION, {"seq": 3}, 5)
    first, second = (files[number].path for number in (0, 1))
    assert batches.where(7) == f"{first} records 35, 36; {second} records 0, 1; {files[2].path} records 0"


def test_records_picked_by_number_come_in_the_order_asked_for(files):
    asked = np.random.default_rng(1).permutation(TOTAL)[:30]
    assert numbers(OrderedRecords(files).pick(asked)) == asked.tolist()


def test_bucketed_batches_are_cut_to_their_length(tmp_path):
    """Records of 1 to 6 pieces, written at 6: each batch holds the records of the plan, without the padding beyond its length."""
    lengths = np.array([1, 6, 2, 4, 1, 3, 5, 2, 2])

    def features(number):
        mask = [1] * lengths[number] + [0] * (6 - lengths[number])
        return {"input_ids": [number + 5] * 6, "input_mask": mask, "segment_ids": [0] * 6, "label_ids": number, "is_real_example": 1}

    paths = [str(tmp_path / name) for name in "ab"]
    write_records(paths[:1], [serialize(features(number), CLASSIFICATION) for number in range(4)])
    write_records(paths[1:], [serialize(features(number), CLASSIFICATION) for number in range(4, 9)])
    plan = BucketPlan(lengths, (2, 4, 6), 2)
    batches = BucketedBatches([RecordFile(path) for path in paths], CLASSIFICATION, {"seq": 6}, 2, plan)
    parts = list(batches.dataset(num_steps=len(batches)))
    assert len(parts) == 5
    for step, part in enumerate(parts):
        records, length = plan.batch(step)
        assert part["input_ids"].shape == part["input_mask"].shape == (2, length)
        real = part["is_real_example"].numpy().astype(bool)
        assert part["label_ids"].numpy()[real].tolist() == records.tolist() == batches.numbers(step).tolist()
        assert part["input_mask"].numpy()[real].sum(axis=1).tolist() == lengths[records].tolist()
    assert batches.dataset().element_spec["input_ids"].shape.as_list() == [2, None]


def test_a_file_that_vanishes_is_told_by_the_batches(tmp_path):
    path = str(tmp_path / "a")
    write_records([path], [example(number) for number in range(30)])
    batches = batches_of(OrderedRecords([RecordFile(path)]), 4)
    os.remove(path)
    with pytest.raises(tf.errors.OpError) as caught:
        list(batches.dataset(num_steps=2))
    failure = batches.failure_behind(caught.value)
    assert isinstance(failure, InputError)
    assert re.match(f"{re.escape(path)}: cannot be read", str(failure))


def test_another_failure_is_not_the_datas(examples):
    assert batches_of(OrderedRecords(examples), 4).failure_behind(tf.errors.ResourceExhaustedError(None, None, "out of memory")) is None
