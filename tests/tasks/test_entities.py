"""Entities as conlleval counts them: against seqeval, against cases counted by hand, and the corpus's published numbers."""

import math
import random

import pytest

from bert_tf.tasks.entities import TAG_METRICS, entities, to_iob2


@pytest.mark.parametrize(
    "tags, settled",
    [
        ("I-PER I-PER O I-LOC", "B-PER I-PER O B-LOC"),  # IOB1
        ("I-PER B-PER I-PER", "B-PER B-PER I-PER"),
        ("I-PER I-LOC", "B-PER B-LOC"),
        ("B-PER I-PER O B-LOC", "B-PER I-PER O B-LOC"),  # IOB2 stays
        ("B-PER I-LOC I-PER", "B-PER B-LOC B-PER"),  # neither: read as conlleval reads it
        ("O O", "O O"),
        ("B-a-b I-a-b", "B-a-b I-a-b"),
        ("", ""),
    ],
)
def test_tags_become_iob2(tags, settled):
    assert to_iob2(tags.split()) == settled.split()


def test_entities_of_sentences_end_with_them():
    assert list(entities([["B-PER", "I-PER", "O", "I-LOC"], ["I-LOC", "B-LOC"], ["O"], []])) == [
        (0, 0, 1, "PER"),
        (0, 3, 3, "LOC"),
        (1, 0, 0, "LOC"),
        (1, 1, 1, "LOC"),
    ]


# right, predicted, how many entities are right, predicted and labelled: by hand
CASES = [
    ("B-PER I-PER O", "B-PER I-PER O", 1, 1, 1),
    ("B-PER I-PER O", "B-PER O O", 0, 1, 1),  # too short
    ("B-PER I-PER O", "B-PER I-PER I-PER", 0, 1, 1),  # too long
    ("B-PER I-PER O", "B-LOC I-LOC O", 0, 1, 1),  # another type
    ("B-PER I-PER I-PER", "B-PER B-PER I-PER", 0, 2, 1),  # cut in two
    ("B-PER B-PER O", "B-PER I-PER O", 0, 1, 2),  # two taken for one
    ("B-PER I-PER O", "I-PER I-PER O", 1, 1, 1),  # an I- that begins an entity
    ("B-PER I-PER I-PER", "B-PER I-LOC I-PER", 0, 3, 1),  # an entity within an entity
    ("B-ORG I-ORG I-ORG B-LOC", "B-ORG I-ORG I-ORG I-LOC", 2, 2, 2),
    ("B-ORG I-ORG I-ORG O", "O B-ORG I-ORG O", 0, 1, 1),
    ("O O O", "O B-LOC O", 0, 1, 0),
    ("B-LOC O B-PER", "B-LOC O O", 1, 1, 2),
]


@pytest.mark.parametrize("right, predicted, hits, found, labelled", CASES)
def test_errors_counted_by_hand(right, predicted, hits, found, labelled):
    sides = [right.split()], [predicted.split()]
    assert TAG_METRICS["entity_precision"](*sides) == hits / found
    assert TAG_METRICS["entity_recall"](*sides) == (hits / labelled if labelled else 0)
    assert TAG_METRICS["entity_f1"](*sides) == pytest.approx(2 * hits / (found + labelled))


def test_all_cases_together_are_micro_averaged():
    sides = [[case[side].split() for case in CASES] for side in (0, 1)]
    hits, found, labelled = (sum(case[place] for case in CASES) for place in (2, 3, 4))
    assert (hits, found, labelled) == (5, 16, 14)
    assert TAG_METRICS["entity_f1"](*sides) == pytest.approx(10 / 30)
    assert TAG_METRICS["accuracy"]([["O", "B-X"], ["O"]], [["O", "I-X"], ["O"]]) == pytest.approx(2 / 3)


def test_no_entity_predicted_is_0_and_no_entity_at_all_is_undefined():
    assert [TAG_METRICS[name]([["B-X"]], [["O"]]) for name in ("entity_f1", "entity_precision", "entity_recall")] == [0, 0, 0]
    assert all(math.isnan(TAG_METRICS[name]([["O"]], [["O"]])) for name in ("entity_f1", "entity_precision", "entity_recall"))


def test_scores_equal_seqevals():
    seqeval = pytest.importorskip("seqeval.metrics", reason="the oracle, seqeval, is not installed")
    rng = random.Random(5)
    tags = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"]
    for _ in range(200):
        right = [[rng.choice(tags) for _ in range(rng.randint(1, 9))] for _ in range(rng.randint(1, 6))]
        predicted = [[tag if rng.random() < 0.7 else rng.choice(tags) for tag in sentence] for sentence in right]
        predicted[0][0], right[0][0] = "B-PER", "I-LOC"  # so that there is an entity on both sides
        for name in ("f1", "precision", "recall"):
            expected = getattr(seqeval, f"{name}_score")(right, predicted, zero_division=0)
            assert TAG_METRICS[f"entity_{name}"](right, predicted) == pytest.approx(expected, abs=1e-12)
        assert TAG_METRICS["accuracy"](right, predicted) == pytest.approx(seqeval.accuracy_score(right, predicted))
