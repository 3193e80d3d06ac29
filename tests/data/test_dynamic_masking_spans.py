"""Spans and given words in masks drawn by TensorFlow: position by position what `pretraining/spans.py` makes of the same draws."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.data.dynamic_masking import DynamicMasking
from bert_tf.pretraining.masking import MaskingRules, assemble, num_to_mask, to_features
from bert_tf.pretraining.spans import fill_spans, length_bounds, span_length
from tests.data.test_dynamic_masking import FIRST_WORD, REAL, VOCAB, positions_of
from tests.pretraining.test_spans import words_of

SEQ = 64


def rules(prob, most, max_ngram, word_segments=False) -> MaskingRules:
    return MaskingRules.of_vocabulary(VOCAB, prob, most, (0.8, 0.1, 0.1), True, max_ngram, word_segments)


def masked(examples, masking_rules, seed=3, epoch=2):
    rows = [to_features(found, False, SEQ, 1) for found in examples]
    names = ("input_ids", "input_mask", "segment_ids", *(["continues_word"] if masking_rules.given_words else []))
    origins = tf.constant([[epoch, number] for number in range(len(rows))], tf.int64)
    masking = DynamicMasking(masking_rules, seed)
    batch = masking({name: tf.constant([row[name] for row in rows], tf.int64) for name in names}, origins)
    return {name: value.numpy() for name, value in batch.items()}, masking.draw(origins, SEQ).numpy()


def reference(words, draws, number, max_ngram):
    """The positions that the reference takes, given the draws of one example, float64[4, seq]."""
    starts = [word[0] for word in words]
    order = np.argsort(draws[0][starts], kind="stable")
    return sorted(fill_spans(words, order, [span_length(draw, length_bounds(max_ngram)) for draw in draws[3][starts]], number))


@pytest.mark.parametrize("max_ngram", [2, 3, 7])
@pytest.mark.parametrize("prob, most", [(0.15, 20), (0.3, 4), (1.0, 70)])
def test_spans_are_the_references(prob, most, max_ngram):
    masking_rules, rng = rules(prob, most, max_ngram), Random(1)
    examples = []
    for _ in range(150):
        ids = [rng.choice(REAL) for _ in range(rng.randint(2, SEQ - 3))]
        cut = rng.randint(1, len(ids) - 1)
        examples.append(assemble(ids[:cut], ids[cut:], masking_rules))
    batch, draws = masked(examples, masking_rules)
    for row, found in enumerate(examples):
        number = num_to_mask(len(found.input_ids), prob, most)
        assert positions_of(batch, row) == reference(words_of(found), draws[row], number, max_ngram)


def test_given_words_are_masked_whole():
    masking_rules, rng = rules(0.3, 20, 2, word_segments=True), Random(2)
    examples, words_of_each = [], []
    for _ in range(100):
        sizes = [rng.randint(1, 4) for _ in range(rng.randint(3, 12))]
        marked = [FIRST_WORD + place + (len(VOCAB) if place else 0) for size in sizes for place in range(size)]
        examples.append(assemble(marked, [], masking_rules))
        ends = np.cumsum([1, *sizes])
        words_of_each.append([list(range(begin, end)) for begin, end in pairwise(ends)])
    batch, draws = masked(examples, masking_rules)
    assert "continues_word" not in batch
    for row, (found, words) in enumerate(zip(examples, words_of_each)):
        assert positions_of(batch, row) == reference(words, draws[row], num_to_mask(len(found.input_ids), 0.3, 20), 2)


def test_single_words_are_drawn_as_before_there_were_spans():
    """The draws that order words, and decide what becomes of them, are the same numbers with and without a fourth row."""
    origins = tf.constant([[0, 5], [7, 1]], tf.int64)
    three, four = (DynamicMasking(rules(0.15, 20, n), 9).draw(origins, SEQ).numpy() for n in (1, 3))
    assert three.shape == (2, 3, SEQ) and four.shape == (2, 4, SEQ)
    np.testing.assert_array_equal(four[:, :3], three)
