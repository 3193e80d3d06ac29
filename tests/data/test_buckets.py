"""Batching by length: every record once an epoch, full batches, little padding, the same plan from any step."""

import itertools

import numpy as np
import pytest

from bert_tf.data.buckets import MOST_BUCKETS, BucketPlan, choose_lengths


@pytest.fixture
def lengths():
    """203 records of 3 to 64 pieces, most of them short."""
    return np.minimum(3 + np.random.default_rng(1).geometric(0.08, 203), 64)


def padded(lengths, buckets):
    buckets = np.asarray(buckets)
    return int(buckets[np.searchsorted(buckets, lengths)].sum())


def test_the_chosen_lengths_pad_least():
    """Against every choice of multiples of 8 there is."""
    lengths = np.random.default_rng(3).integers(1, 80, 40)
    chosen = choose_lengths(lengths, 128)
    most = -(-int(lengths.max()) // 8) * 8
    sizes = range(8, most, 8)
    least = min(padded(lengths, (*some, most)) for count in range(MOST_BUCKETS) for some in itertools.combinations(sizes, count))
    assert padded(lengths, chosen) == least
    assert len(chosen) <= MOST_BUCKETS and list(chosen) == sorted(set(chosen)) and chosen[-1] == most


def test_with_few_buckets_too(monkeypatch):
    monkeypatch.setattr("bert_tf.data.buckets.MOST_BUCKETS", 3)
    lengths = np.random.default_rng(4).integers(1, 100, 300)
    chosen = choose_lengths(lengths, 104)
    assert len(chosen) == 3
    assert padded(lengths, chosen) == min(padded(lengths, (a, b, 104)) for a in range(8, 104, 8) for b in range(a, 104, 8))


@pytest.mark.parametrize("lengths, expected", [([5, 7, 120], (8, 120)), ([3], (8,)), ([9, 9], (16,)), ([50, 1], (8, 50))])
def test_chosen_by_hand(lengths, expected):
    # 50 is max_seq_length: longer than any multiple of 8 that fits
    assert choose_lengths(np.array(lengths), 50 if 50 in lengths else 128) == expected


@pytest.mark.parametrize("batch_size", [1, 8, 32, 203, 500])
def test_every_record_once_an_epoch_in_full_batches(lengths, batch_size):
    num_steps = int(3 * 203 / batch_size)
    plan = BucketPlan(lengths, choose_lengths(lengths, 64), batch_size, num_steps, seed=7)
    batches = [plan.batch(step) for step in range(num_steps)]
    assert all(len(records) == batch_size for records, _ in batches)
    assert all(lengths[records].max() <= length for records, length in batches)
    counts = np.bincount(np.concatenate([records for records, _ in batches]), minlength=203)
    # a window runs over the end of its epoch by less than a batch, and the training may stop within an epoch
    assert counts.sum() == num_steps * batch_size and abs(counts - 3).max() <= 1 + batch_size // 203


def test_the_same_records_as_without_buckets(lengths):
    """Window by window: only the grouping differs."""
    by_length = BucketPlan(lengths, (8, 16, 32, 64), 8, 100, seed=7)
    one = BucketPlan(lengths, (64,), 8, 100, seed=7)
    window = -(-203 // 8)
    for number in range(3):
        steps = range(number * window, (number + 1) * window)
        first, second = (sorted(np.concatenate([plan.batch(step)[0] for step in steps])) for plan in (by_length, one))
        assert first == second


def test_it_pads_little(lengths):
    plan = BucketPlan(lengths, choose_lengths(lengths, 64), 8, 200, seed=7)
    cost = sum(8 * plan.batch(step)[1] for step in range(200))
    text = sum(int(lengths[plan.batch(step)[0]].sum()) for step in range(200))
    assert cost < 1.35 * text < 0.5 * 200 * 8 * 64


@pytest.mark.parametrize("step", [0, 1, 26, 60, 99])
def test_any_step_is_reached_at_once(lengths, step):
    through = BucketPlan(lengths, (8, 16, 64), 8, 100, seed=7)
    records, length = [through.batch(number) for number in range(100)][step]
    again, same = BucketPlan(lengths, (8, 16, 64), 8, 100, seed=7).batch(step)
    assert records.tolist() == again.tolist() and length == same


def test_the_order_follows_the_seed_and_differs_from_epoch_to_epoch(lengths):
    plans = [BucketPlan(lengths, (16, 64), 8, 100, seed=seed) for seed in (7, 7, 8)]
    first, same, other = ([plan.batch(step)[0].tolist() for step in range(26)] for plan in plans)
    assert first == same != other
    assert first != [plans[0].batch(step)[0].tolist() for step in range(26, 52)]
    order = [plans[0].batch(step)[1] for step in range(26)]
    assert order not in (sorted(order), sorted(order, reverse=True))


@pytest.mark.parametrize("batch_size", [1, 8, 203, 500])
def test_one_pass_holds_every_record_once_longest_first(lengths, batch_size):
    plan = BucketPlan(lengths, (8, 16, 32, 64), batch_size)
    assert plan.num_steps == -(-203 // batch_size)
    batches = [plan.batch(step) for step in range(plan.num_steps)]
    assert sorted(np.concatenate([records for records, _ in batches]).tolist()) == list(range(203))
    assert [len(records) for records, _ in batches].count(batch_size) >= plan.num_steps - 1
    assert batches[0][1] == 64


def test_one_pass_in_one_bucket_is_the_records_own_order():
    plan = BucketPlan(np.array([3, 4, 5, 6, 7]), (8,), 5)
    assert plan.batch(0)[0].tolist() == [0, 1, 2, 3, 4]
