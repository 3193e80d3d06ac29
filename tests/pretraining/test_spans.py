"""N-gram masking, and whole words that come with the text."""

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from scipy.stats import chisquare

from bert_tf.pretraining.masking import MaskingRules, assemble, mask, num_to_mask, to_features
from bert_tf.pretraining.spans import fill_spans, length_bounds, span_length
from tests.pretraining.test_masking import FIRST_SUFFIX, FIRST_WORD, P_VALUE, REAL, VOCAB


def rules(masked_lm_prob=0.15, max_predictions=20, max_ngram=3, word_segments=False) -> MaskingRules:
    return MaskingRules.of_vocabulary(VOCAB, masked_lm_prob, max_predictions, (0.8, 0.1, 0.1), True, max_ngram, word_segments)


def words_of(example) -> list[list[int]]:
    """The positions of each word, told from ## alone."""
    words: list[list[int]] = []
    for position, id in enumerate(example.input_ids):
        if id in (VOCAB.cls_id, VOCAB.sep_id):
            words.append([])
        elif id >= FIRST_SUFFIX and words[-1]:
            words[-1].append(position)
        else:
            words.append([position])
    return [word for word in words if word]


@pytest.mark.parametrize(
    "max_ngram, expected", [(1, [1]), (2, [2 / 3, 1 / 3]), (3, [6 / 11, 3 / 11, 2 / 11]), (4, [0.48, 0.24, 0.16, 0.12])]
)
def test_lengths_are_drawn_in_proportion_to_1_over_n(max_ngram, expected):
    bounds, rng = length_bounds(max_ngram), Random(1)
    assert [end - begin for begin, end in zip((0, *bounds), (*bounds, 1))] == pytest.approx(expected)
    counts = Counter(span_length(rng.random(), bounds) for _ in range(20_000))
    assert sorted(counts) == list(range(1, max_ngram + 1))
    if max_ngram > 1:
        assert chisquare([counts[n] for n in sorted(counts)], [20_000 * share for share in expected]).pvalue > P_VALUE


@pytest.mark.parametrize(
    "order, lengths, number, expected",
    [
        ((0, 1, 2, 3), (2, 1, 1, 1), 3, [1, 2, 3]),
        ((1, 0, 2, 3), (2, 2, 2, 2), 3, [2, 3, 1]),  # the third word stands behind [SEP]; of the first span a word is taken
        ((0, 2, 1, 3), (3, 1, 2, 1), 2, [1, 5]),  # two pieces are too many for what is left
        ((2, 3, 1, 0), (1, 1, 1, 2), 9, [5, 6, 2, 3, 1]),  # everything
        ((3, 2, 1, 0), (1, 1, 1, 3), 1, [6]),
        ((0, 1, 2, 3), (1, 1, 1, 1), 0, []),
    ],
)
def test_spans_end_at_sep_at_what_is_taken_and_at_the_number(order, lengths, number, expected):
    assert fill_spans([[1], [2, 3], [5], [6]], order, lengths, number) == expected


@pytest.mark.parametrize("prob, most", [(0.15, 20), (0.3, 5), (1.0, 100)])
def test_as_many_are_masked_as_without_spans_and_words_stay_whole(prob, most):
    rng = Random(3)
    for _ in range(300):
        ids = [rng.randrange(FIRST_WORD, FIRST_WORD + 40) for _ in range(rng.randint(2, 60))]  # words of one piece: any number can be met
        cut = rng.randint(1, len(ids) - 1)
        example = assemble(ids[:cut], ids[cut:], rules(prob, most))
        found = mask(example, rules(prob, most), rng)
        assert len(found.positions) == min(num_to_mask(len(example.input_ids), prob, most), len(ids))
        ids = [rng.choice(REAL) for _ in range(rng.randint(2, 60))]
        example = assemble(ids, [], rules(prob, most))
        masked = set(mask(example, rules(prob, most), rng).positions)
        assert len(masked) <= num_to_mask(len(example.input_ids), prob, most)
        assert all(masked.issuperset(word) or masked.isdisjoint(word) for word in words_of(example))


def test_neighbours_are_masked_together_and_never_over_sep():
    """With masks for one span an example, what is masked is that span: its length, and that it lies in one of the two texts."""
    masking_rules, rng, lengths = rules(0.05, 3), Random(4), Counter()
    example = assemble([*range(FIRST_WORD, FIRST_WORD + 29)], [*range(FIRST_WORD, FIRST_WORD + 28)], masking_rules)
    assert num_to_mask(len(example.input_ids), 0.05, 3) == 3
    firsts = 0
    for _ in range(4000):
        positions = mask(example, masking_rules, rng).positions
        assert 30 not in positions
        if positions[2] - positions[0] == 2:
            firsts += 1
        lengths[sum(after - before == 1 for before, after in pairwise(positions))] += 1
    # a first span of three has 2 in 11; of two or one and neighbours by chance a little more
    assert 0.18 < firsts / 4000 < 0.25
    # two words together: a span of two, first (3 in 11) or after a single (5 in 11 of 6 in 11, cut to two)
    assert 0.45 < lengths[1] / 4000 < 0.62


def test_the_seed_decides():
    example = assemble([*REAL][:40], [], rules())
    assert mask(example, rules(), Random(1)) == mask(example, rules(), Random(1)) != mask(example, rules(), Random(2))


def marked(*words: int) -> list[int]:
    """The ids of words of so many pieces each, marked where one goes on."""
    return [FIRST_WORD + place + (len(VOCAB) if place else 0) for size in words for place in range(size)]


def test_given_words_come_out_of_their_marks():
    example = assemble(marked(2, 1), marked(3), rules(word_segments=True))
    assert example.input_ids == [
        VOCAB.cls_id,
        *(FIRST_WORD + n for n in (0, 1, 0)),
        VOCAB.sep_id,
        *(FIRST_WORD + n for n in (0, 1, 2)),
        VOCAB.sep_id,
    ]
    assert example.continues_word == [0, 0, 1, 0, 0, 0, 1, 1, 0]
    features = to_features(example, False, 12, 3)
    assert features["continues_word"] == [0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0]
    assert "continues_word" not in to_features(assemble([9], [], rules()), False, 12, 3)


@pytest.mark.parametrize("max_ngram", [1, 3])
def test_given_words_are_masked_whole(max_ngram):
    masking_rules, rng = rules(0.3, 20, max_ngram, word_segments=True), Random(5)
    sizes = [1, 2, 3, 1, 2, 4, 1, 2]
    seen = Counter()
    for _ in range(500):
        # B was cut within a word: its first piece continues none of A
        example = assemble(marked(*sizes), marked(3, 2)[1:], masking_rules)
        positions = set(mask(example, masking_rules, rng).positions)
        words, begin = [], 1
        for size in [*sizes, 0, 2, 2]:
            words.append(range(begin, begin + size) if size else ())
            begin += size or 1
        assert begin == len(example.input_ids) - 1
        assert all(positions.issuperset(word) or positions.isdisjoint(word) for word in words)
        seen.update(number for number, word in enumerate(words) if word and positions.issuperset(word))
    assert sorted(seen) == [0, 1, 2, 3, 4, 5, 6, 7, 9, 10]
