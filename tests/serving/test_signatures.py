"""Packing inside the graph: what the original's Python makes of the same texts."""

import random

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.text.pack import pack
from tests.serving.conftest import PAIRS, TEXTS, TOKENIZER, VOCAB


def original_pair(ids_a, ids_b, max_seq_length):
    """Ids and segments by convert_single_example and _truncate_seq_pair of google-research/bert's run_classifier.py."""
    tokens_a, tokens_b = list(ids_a), list(ids_b)
    if tokens_b:
        while len(tokens_a) + len(tokens_b) > max_seq_length - 3:
            if len(tokens_a) > len(tokens_b):
                tokens_a.pop()
            else:
                tokens_b.pop()
    elif len(tokens_a) > max_seq_length - 2:
        tokens_a = tokens_a[0 : max_seq_length - 2]
    ids, segments = [VOCAB.cls_id, *tokens_a, VOCAB.sep_id], [0] * (len(tokens_a) + 2)
    if tokens_b:
        ids, segments = [*ids, *tokens_b, VOCAB.sep_id], segments + [1] * (len(tokens_b) + 1)
    return ids, segments


def rows(packed):
    """Returns ids and segments of each row without the padding, which must be nothing but zeros behind them."""
    ids, mask, segments = (packed[name].numpy() for name in ("input_ids", "input_mask", "segment_ids"))
    assert ids.dtype == mask.dtype == segments.dtype == np.int32
    lengths = mask.sum(axis=1)
    assert ids.shape[1] == lengths.max()
    for row, length in enumerate(lengths):
        assert mask[row].tolist() == [1] * length + [0] * (ids.shape[1] - length)
        assert not ids[row, length:].any() and not segments[row, length:].any()
    return [(ids[row, :length].tolist(), segments[row, :length].tolist()) for row, length in enumerate(lengths)]


@pytest.fixture
def modules(classifier, pair_classifier):
    return {False: classifier.module, True: pair_classifier.module}


@pytest.mark.parametrize("max_seq_length", [5, 6, 7, 8, 11, 12, 16])
def test_pairs_of_all_lengths_are_cut_as_the_original_cuts_them(modules, monkeypatch, max_seq_length):
    monkeypatch.setattr(modules[True], "max_seq_length", max_seq_length)
    rng = random.Random(max_seq_length)
    lengths = [(a, b) for a in range(max_seq_length + 3) for b in range(max_seq_length + 3)]
    texts = [[[rng.choice("abc") for _ in range(length)] for length in pair] for pair in lengths]
    first, second = ([" ".join(text[side]) for text in texts] for side in (0, 1))
    found = rows(modules[True].pack(tf.constant(first), tf.constant(second)))
    for text_a, text_b, row in zip(first, second, found):
        assert row == original_pair(TOKENIZER.encode(text_a), TOKENIZER.encode(text_b), max_seq_length), (text_a, text_b)


@pytest.mark.parametrize("max_seq_length", [5, 12])
def test_single_texts(modules, monkeypatch, max_seq_length):
    monkeypatch.setattr(modules[False], "max_seq_length", max_seq_length)
    texts = [" ".join("abcabcabcabcabcabc"[:length]) for length in range(18)] + TEXTS
    for text, row in zip(texts, rows(modules[False].pack(tf.constant(texts), None))):
        assert row == original_pair(TOKENIZER.encode(text), [], max_seq_length), text


def test_it_is_the_packing_of_the_training_data(modules):
    """The same as `text.pack`, up to the padding."""
    length = modules[True].max_seq_length
    for text, pair, (ids, segments) in zip(TEXTS, PAIRS, rows(modules[True].pack(tf.constant(TEXTS), tf.constant(PAIRS)))):
        expected = pack(TOKENIZER.encode(text), TOKENIZER.encode(pair) or None, length, VOCAB)
        padding = [0] * (length - len(ids))
        assert expected == {"input_ids": ids + padding, "input_mask": [1] * len(ids) + padding, "segment_ids": segments + padding}


def test_a_batch_without_any_second_text(modules):
    assert rows(modules[True].pack(tf.constant(["a", ""]), tf.constant(["", "\u200b"]))) == [
        ([VOCAB.cls_id, VOCAB.id_of("a"), VOCAB.sep_id], [0, 0, 0]),
        ([VOCAB.cls_id, VOCAB.sep_id], [0, 0]),
    ]


def test_an_empty_batch_has_empty_answers(classifier):
    packed = classifier.module.pack(tf.constant([], tf.string), None)
    answers = classifier.module.outputs(packed)
    assert packed["input_ids"].shape == (0, 1)
    assert answers["label"].shape == (0,) and answers["probabilities"].shape[0] == 0
