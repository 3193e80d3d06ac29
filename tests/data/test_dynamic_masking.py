"""Masks drawn by TensorFlow operations: the statistics and the exact numbers of `pretraining/masking.py`."""

from collections import Counter
from random import Random

import numpy as np
import pytest
import tensorflow as tf
from scipy.stats import chi2_contingency, chisquare

from bert_tf.data.batches import Batches, Shares
from bert_tf.data.dynamic_masking import DynamicMasking
from bert_tf.data.record_order import OrderedRecords, ShuffledRecords
from bert_tf.data.records import RecordFile, serialize, write_records
from bert_tf.data.schema import UNMASKED_PRETRAINING
from bert_tf.pretraining.masking import MaskingRules, assemble, mask, num_to_mask, to_features
from bert_tf.text.vocab import Vocabulary

P_VALUE = 1e-3  # below it, the draw at this fixed seed would be a one-in-a-thousand event

SPECIALS = ["[PAD]", "[unused1]", "[unused2]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<S>"]
VOCAB = Vocabulary(SPECIALS + [f"w{number}" for number in range(40)] + [f"##s{number}" for number in range(20)])
FIRST_WORD, FIRST_SUFFIX = len(SPECIALS), len(SPECIALS) + 40
REAL = range(FIRST_WORD, FIRST_WORD + 60)
MIX = (0.8, 0.1, 0.1)


def rules(masked_lm_prob=0.15, max_predictions=20, mix=MIX, whole_word=False) -> MaskingRules:
    return MaskingRules.of_vocabulary(VOCAB, masked_lm_prob, max_predictions, mix, whole_word)


def example(rng, least=2, most=60, first=REAL.start, end=REAL.stop):
    ids = [rng.randrange(first, end) for _ in range(rng.randint(least, most))]
    cut = rng.randint(1, len(ids) - 1)
    return assemble(ids[:cut], ids[cut:], rules())


def batch_of(examples, seq):
    """The examples as a parsed batch of the unmasked kind."""
    rows = [to_features(found, False, seq, 1) for found in examples]
    return {name: tf.constant([row[name] for row in rows], tf.int64) for name in ("input_ids", "input_mask", "segment_ids")}


def masked(examples, masking_rules, seq=64, seed=1, epoch=0, first=0):
    origins = tf.constant([[epoch, first + number] for number in range(len(examples))], tf.int64)
    batch = DynamicMasking(masking_rules, seed)(batch_of(examples, seq), origins)
    return {name: value.numpy() for name, value in batch.items()}


def positions_of(batch, row):
    """The masked positions of one example, after a look at what must hold of every one."""
    used = int(batch["masked_lm_weights"][row].sum())
    assert batch["masked_lm_weights"][row].tolist() == [1.0] * used + [0.0] * (batch["masked_lm_weights"].shape[1] - used)
    assert not batch["masked_lm_positions"][row, used:].any() and not batch["masked_lm_ids"][row, used:].any()
    positions = batch["masked_lm_positions"][row, :used].tolist()
    assert positions == sorted(set(positions))
    return positions


@pytest.mark.parametrize("whole_word", [False, True])
@pytest.mark.parametrize("prob, most", [(0.15, 20), (0.15, 3), (0.25, 20), (0.01, 20), (1.0, 70), (1.0, 20)])
def test_numbers_are_the_references_and_nothing_else_changes(prob, most, whole_word):
    masking_rules, rng = rules(prob, most, whole_word=whole_word), Random(1)
    examples = [example(rng) for _ in range(200)]
    batch = masked(examples, masking_rules)
    assert batch["masked_lm_positions"].shape == (200, most)
    for row, found in enumerate(examples):
        positions = positions_of(batch, row)
        candidates = [position for position, id in enumerate(found.input_ids) if id not in (VOCAB.cls_id, VOCAB.sep_id)]
        assert set(positions) <= set(candidates)
        wanted = min(num_to_mask(len(found.input_ids), prob, most), len(candidates))
        assert len(positions) <= wanted if whole_word else len(positions) == wanted
        assert batch["masked_lm_ids"][row, : len(positions)].tolist() == [found.input_ids[position] for position in positions]
        restored = batch["input_ids"][row].copy()
        restored[positions] = batch["masked_lm_ids"][row, : len(positions)]
        assert restored.tolist() == found.input_ids + [0] * (64 - len(found.input_ids))


@pytest.mark.parametrize("mix", [MIX, (0.5, 0.25, 0.25), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)])
def test_mix_and_replacements(mix):
    """Of one label throughout, so that what stands there tells what became of it, but for a replacement by itself."""
    label = FIRST_WORD + 7
    found = assemble([label] * 30, [label] * 30, rules())
    batch = masked([found] * 400, rules(0.4, 40, mix))
    stands = Counter(batch["input_ids"][row, position] for row in range(400) for position in positions_of(batch, row))
    assert stands.total() == 400 * num_to_mask(63, 0.4, 40)
    as_random = mix[2] / 60
    expected = {id: as_random for id in REAL} | {label: mix[1] + as_random, VOCAB.mask_id: mix[0]}
    assert set(stands) <= {id for id, share in expected.items() if share > 0}
    pairs = [(stands[id], share * stands.total()) for id, share in expected.items() if share > 0]
    if len(pairs) > 1:
        assert chisquare(*zip(*pairs)).pvalue > P_VALUE


@pytest.mark.parametrize("prob", [pytest.param(0.05, marks=pytest.mark.slow), 0.15, pytest.param(0.4, marks=pytest.mark.slow)])
def test_every_position_is_masked_alike_in_every_epoch_and_example(prob):
    found = assemble([*REAL][:12], [*REAL][:15], rules())
    counts: Counter[int] = Counter()
    for epoch in range(5):
        batch = masked([found] * 800, rules(prob, 100), seq=32, epoch=epoch)
        for row in range(800):
            counts.update(positions_of(batch, row))
    assert sorted(counts) == [*range(1, 13), *range(14, 29)]
    assert chisquare(list(counts.values())).pvalue > P_VALUE


def test_whole_words_as_the_reference_draws_them():
    """Which set of positions is masked: each as often as by the reference, in a layout small enough to meet every set."""
    masking_rules = rules(0.3, 20, whole_word=True)
    # words of 1, 2 and 3 pieces; B begins within a word, whose piece continues none of A
    found = assemble(
        [FIRST_WORD, FIRST_WORD + 1, FIRST_SUFFIX, FIRST_WORD + 2, FIRST_SUFFIX + 1, FIRST_SUFFIX + 2],
        [FIRST_SUFFIX + 3, FIRST_WORD],
        rules(),
    )
    draws, rng = 3000, Random(4)
    by_reference = Counter(tuple(mask(found, masking_rules, rng).positions) for _ in range(draws))
    batch = masked([found] * draws, masking_rules, seq=13)
    by_tensorflow = Counter(tuple(positions_of(batch, row)) for row in range(draws))
    assert set(by_tensorflow) == set(by_reference)
    # of the 11 pieces 3 are wanted; a word of two or three leaves room for no other of its size
    assert {len(positions) for positions in by_tensorflow} == {3}
    assert chi2_contingency([[counts[key] for key in by_reference] for counts in (by_reference, by_tensorflow)]).pvalue > P_VALUE


def test_whole_words_are_masked_together_and_long_ones_passed_over():
    masking_rules, rng = rules(0.2, 100, whole_word=True), Random(2)
    examples = [example(rng, 20, 60, FIRST_WORD + 30) for _ in range(200)]
    batch = masked(examples, masking_rules)
    fewer = 0
    for row, found in enumerate(examples):
        positions = set(positions_of(batch, row))
        fewer += len(positions) < num_to_mask(len(found.input_ids), 0.2, 100)
        for position, id in enumerate(found.input_ids[1:], 1):
            if id >= FIRST_SUFFIX and found.input_ids[position - 1] not in (VOCAB.cls_id, VOCAB.sep_id):
                assert (position in positions) == (position - 1 in positions)
    words = [mask(found, masking_rules, rng) for found in examples]
    assert abs(fewer - sum(len(m.positions) < num_to_mask(len(m.input_ids), 0.2, 100) for m in words)) < 40


def test_masks_follow_seed_epoch_and_number_alone():
    rng = Random(3)
    found = [example(rng, 40) for _ in range(6)]
    whole = masked(found, rules(), epoch=2)
    alone = masked(found[3:4], rules(), epoch=2, first=3)
    for name in whole:
        np.testing.assert_array_equal(whole[name][3:4], alone[name], err_msg=name)
    drawn = [masked(found[:1] * 2, rules(), seed=seed, epoch=epoch)["masked_lm_positions"] for seed, epoch in ((1, 0), (1, 1), (2, 0))]
    assert len({tuple(row) for rows in drawn for row in rows}) == 6
    assert masked(found[:1], rules(), seed=2**32 - 1, epoch=1000)["masked_lm_weights"].sum() > 0


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two files of 17 examples in all, the first pieces of which tell their number."""
    folder, rng, opened = tmp_path_factory.mktemp("unmasked"), Random(5), []
    numbers = iter(range(17))
    for name, count in (("a", 11), ("b", 6)):
        found = [assemble([FIRST_WORD + next(numbers)] * 8, [rng.choice(REAL)] * 4, rules()) for _ in range(count)]
        records = [serialize(to_features(one, False, 16, 1), UNMASKED_PRETRAINING) for one in found]
        write_records([str(folder / name)], records)
        opened.append(RecordFile(str(folder / name)))
    return opened


def batches(records, batch_size, seed=9):
    return Batches(records, UNMASKED_PRETRAINING, {"seq": 16, "masks": 3, "vocab": len(VOCAB)}, batch_size, DynamicMasking(rules(), seed))


def examples_of(dataset):
    """Every example of the batches, as comparable bytes, in the order of their places."""
    rows = []
    for batch in dataset:
        values = [batch[name].numpy() for name in sorted(batch) if name != "is_real_example"]
        rows += [tuple(value[row].tobytes() for value in values) for row in range(len(values[0]))]
    return rows


def test_batches_resume_anywhere_and_do_not_depend_on_their_size(files):
    through = examples_of(batches(ShuffledRecords(files, 9), 4).dataset(0, 17))  # four epochs
    assert examples_of(batches(ShuffledRecords(files, 9), 4).dataset(7, 10)) == through[28:]
    assert examples_of(batches(ShuffledRecords(files, 9), 2).dataset(3, 5)) == through[6:16]
    assert len(set(through)) > 60, "every epoch has masks of its own"


def test_each_reader_sees_the_masks_of_its_part(files):
    whole = examples_of(batches(ShuffledRecords(files, 9), 4).dataset(2, 5))
    halves = [examples_of(batches(ShuffledRecords(files, 9), 4).dataset(2, 5, Shares(part, 1, 2))) for part in (0, 1)]
    assert [row for step in range(5) for half in halves for row in half[2 * step : 2 * step + 2]] == whole


def test_evaluation_sees_the_same_masks_each_time(files):
    first, second = (examples_of(batches(OrderedRecords(files), 5, seed=0).dataset(0, 4)) for _ in range(2))
    assert first == second
    assert first[17:] == [first[17]] * 3, "the last batch is filled up with repetitions"
