"""Parts: every document once a pass, in an order of its own, and the same examples whoever makes them."""

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from scipy.stats import chisquare

from bert_tf.pretraining.masking import MaskingRules
from bert_tf.pretraining.parts import ExampleRules, PartPlan, part_examples, place_in_shuffle, shuffled_place
from bert_tf.text.vocab import Vocabulary
from tests.pretraining.test_sentence_pairs import P_VALUE, document_of, make_corpus

VOCAB = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{number}" for number in range(50))])


def rules(use_nsp=True, seed=1) -> ExampleRules:
    return ExampleRules(MaskingRules.of_vocabulary(VOCAB, 0.15, 10, (0.8, 0.1, 0.1), False), 64, 0.1, use_nsp, seed)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000, 4097])
def test_an_order_holds_every_number_once(size):
    assert sorted(shuffled_place(place, size, "seed") for place in range(size)) == list(range(size))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 64, 65, 1000])
def test_where_a_number_stands_in_an_order(size):
    assert [place_in_shuffle(shuffled_place(place, size, "seed"), size, "seed") for place in range(size)] == list(range(size))


def test_orders_are_random_and_of_the_seed_alone():
    first, second = ([shuffled_place(place, 500, seed) for place in range(500)] for seed in ("a", "b"))
    assert first == [shuffled_place(place, 500, "a") for place in range(500)]
    assert sum(a == b for a, b in zip(first, second)) < 10
    assert sum(a + 1 == b for a, b in pairwise(first)) < 10
    # where a number comes to stand, over many seeds, is uniform
    places = Counter(shuffled_place(7, 40, f"{seed} pass 0") for seed in range(8000))
    assert chisquare([places[place] for place in range(40)]).pvalue > P_VALUE
    pairs = Counter((shuffled_place(0, 5, str(seed)), shuffled_place(1, 5, str(seed))) for seed in range(8000))
    assert len(pairs) == 20
    assert chisquare(list(pairs.values())).pvalue > P_VALUE


@pytest.mark.parametrize("num_parts", [1, 2, 7, 100, 300])
def test_parts_share_out_every_pass(num_parts):
    plan = PartPlan(num_stretches=100, dupe_factor=3, num_parts=num_parts, seed=5)
    parts = [list(plan.stretches_of(part)) for part in range(num_parts)]
    assert {len(part) for part in parts} <= {300 // num_parts, 300 // num_parts + 1}
    in_order = [stretch for part in parts for stretch in part]
    passes = [in_order[first : first + 100] for first in (0, 100, 200)]
    assert all(sorted(order) == list(range(100)) for order in passes)
    assert passes[0] != passes[1] != passes[2]


@pytest.mark.parametrize("num_parts", [1, 2, 7, 100, 300])
def test_each_stretch_knows_its_parts(num_parts):
    plan = PartPlan(num_stretches=100, dupe_factor=3, num_parts=num_parts, seed=5)
    sent = {part: [] for part in range(num_parts)}
    for stretch in range(100):
        for part, place in plan.places_of(stretch):
            sent[part].append((place, stretch))
    for part in range(num_parts):
        assert [stretch for _, stretch in sorted(sent[part])] == list(plan.stretches_of(part))


@pytest.mark.parametrize(
    ("num_stretches", "num_pieces", "part_pieces", "expected"), [(10, 1000, 5000, 1), (10, 1000, 900, 3), (3, 10**6, 10, 6)]
)
def test_parts_are_of_about_one_size_and_none_is_empty(num_stretches, num_pieces, part_pieces, expected):
    assert PartPlan.of_size(num_stretches, num_pieces, 2, part_pieces, 1).num_parts == expected


def test_a_part_is_the_same_alone_and_other_parts_draw_otherwise():
    corpus = make_corpus(Random(1), 30, (5, 9), (3, 9))
    corpus.ids = [5 + id % 50 for id in corpus.ids]
    stretches = list(map(corpus.sentences_of, range(30)))
    first = list(part_examples(corpus, stretches, 3, rules()))
    assert list(part_examples(corpus, iter(stretches), 3, rules())) == first
    assert list(part_examples(corpus, stretches, 4, rules())) != first
    assert list(part_examples(corpus, stretches, 3, rules(seed=2))) != first


def test_over_many_parts_half_of_the_pairs_are_random_and_from_everywhere():
    corpus = make_corpus(Random(1), 60, (3, 20), (3, 9))
    ids, corpus.ids = corpus.ids, [5 + id % 50 for id in corpus.ids]
    plan = PartPlan(60, 40, 200, 1)
    labels, others = Counter(), Counter()
    for part in range(plan.num_parts):
        for found, _ in part_examples(corpus, map(corpus.sentences_of, plan.stretches_of(part)), part, rules()):
            labels[found.is_random_next] += 1
            if found.is_random_next:
                others[(document_of(corpus, found.b_begin) - document_of(corpus, found.a_begin)) % 60] += 1
    assert len(ids) == len(corpus.ids)
    assert chisquare(list(labels.values())).pvalue > P_VALUE
    assert sorted(others) == list(range(1, 60))
    assert chisquare(list(others.values())).pvalue > P_VALUE


def test_running_text_in_parts_leaves_nothing_out():
    corpus = make_corpus(Random(1), 20, (1, 20), (3, 9))
    corpus.ids = [5 + id % 50 for id in corpus.ids]
    plan = PartPlan(20, 2, 7, 1)
    seen = Counter()
    for part in range(plan.num_parts):
        for found, _ in part_examples(corpus, map(corpus.sentences_of, plan.stretches_of(part)), part, rules(use_nsp=False)):
            seen.update(range(found.a_begin, found.a_end))
    assert seen == dict.fromkeys(range(len(corpus.ids)), 2)
