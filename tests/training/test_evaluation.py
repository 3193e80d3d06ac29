"""Evaluation and prediction: exact over uneven batches, in the records' order, without dropout."""

import dataclasses

import numpy as np
import pytest

from bert_tf.data.batches import Batches
from bert_tf.data.record_order import OrderedRecords
from bert_tf.data.schema import CLASSIFICATION, PRETRAINING
from bert_tf.modeling import losses
from bert_tf.training import evaluation
from bert_tf.training.evaluation import Evaluator
from tests.training.conftest import AXES, CONFIG, SEQ, Run


def ordered(file, kind, batch_size):
    return Batches(OrderedRecords([file]), kind, AXES, batch_size)


def pretraining_figures(model, file):
    """The figures of all examples at once, in NumPy."""
    (batch,) = ordered(file, PRETRAINING, len(file)).dataset(num_steps=1)
    batch = {name: value.numpy() for name, value in batch.items()}
    logits = {name: np.asarray(value, np.float64) for name, value in model(batch, training=False).items()}

    def cross_entropy(scores, labels):
        scores = scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True)
        return -np.take_along_axis(scores, labels[..., None], -1)[..., 0], scores.argmax(-1) == labels

    masked, hits = cross_entropy(logits["masked_lm"], batch["masked_lm_ids"])
    weights = batch["masked_lm_weights"]
    assert sorted(set(weights.sum(axis=1))) == [1, 2, 3]
    following, right = cross_entropy(logits["next_sentence"], batch["next_sentence_labels"][:, 0])
    figures = {
        "masked_lm_loss": (masked * weights).sum() / weights.sum(),
        "masked_lm_accuracy": (hits * weights).sum() / weights.sum(),
        "next_sentence_loss": following.mean(),
        "next_sentence_accuracy": right.mean(),
    }
    return figures | {"loss": figures["masked_lm_loss"] + figures["next_sentence_loss"]}


@pytest.mark.parametrize("batch_size", [1, 4, 16])
def test_evaluation_is_exact_over_uneven_batches(unbroken, pretraining_file, batch_size):
    """Batches hold different numbers of masked positions, and the last one is filled up: every batch size gives the same figures."""
    expected = pretraining_figures(unbroken.model, pretraining_file)
    found = Evaluator(unbroken.model, losses.PRETRAINING).evaluate(ordered(pretraining_file, PRETRAINING, batch_size))
    assert found.keys() == expected.keys()
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5, err_msg=name)


def test_evaluation_of_the_first_batches_only(classification_file, tmp_path):
    model = Run(classification_file, tmp_path, kind=CLASSIFICATION).model
    batches = ordered(classification_file, CLASSIFICATION, 4)
    (whole,) = ordered(classification_file, CLASSIFICATION, 8).dataset(num_steps=1)
    expected = losses.classification_sums(model(whole, training=False), whole)
    found = Evaluator(model, losses.CLASSIFICATION).evaluate(batches, max_steps=2)
    np.testing.assert_allclose(found["classifier_accuracy"], expected["classifier_accuracy"].mean())
    np.testing.assert_allclose(found["loss"], expected["classifier_loss"].mean(), rtol=1e-6)
    # more than there are is all of them
    evaluator = Evaluator(model, losses.CLASSIFICATION)
    assert evaluator.evaluate(batches, max_steps=99) == evaluator.evaluate(batches)


def test_dropout_is_off_in_evaluation_and_prediction(classification_file, tmp_path):
    config = dataclasses.replace(CONFIG, hidden_dropout_prob=0.9, attention_probs_dropout_prob=0.9)
    model = Run(classification_file, tmp_path, kind=CLASSIFICATION, config=config).model
    batches = ordered(classification_file, CLASSIFICATION, 4)
    evaluator = Evaluator(model, losses.CLASSIFICATION)
    assert evaluator.evaluate(batches) == evaluator.evaluate(batches)
    np.testing.assert_array_equal(evaluator.predict(batches)["classifier"], evaluator.predict(batches)["classifier"])


@pytest.mark.parametrize("batch_size", [4, 16])
def test_predictions_come_in_the_records_order_without_the_filling(classification_file, tmp_path, batch_size):
    model = Run(classification_file, tmp_path, kind=CLASSIFICATION).model
    (whole,) = ordered(classification_file, CLASSIFICATION, 11).dataset(num_steps=1)
    expected = model(whole, training=False)["classifier"].numpy()
    assert len(np.unique(expected[:, 0])) == 11
    found = Evaluator(model, losses.CLASSIFICATION).predict(ordered(classification_file, CLASSIFICATION, batch_size))["classifier"]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("batch_size", [1, 4, 30])
def test_bucketed_predictions_come_in_the_records_order(by_length, tmp_path, batch_size):
    model = Run(by_length((SEQ,)).files[0], tmp_path, kind=CLASSIFICATION).model
    expected = Evaluator(model, losses.CLASSIFICATION).predict(by_length((SEQ,), 23))["classifier"]
    assert len(np.unique(expected[:, 0])) == 23
    found = Evaluator(model, losses.CLASSIFICATION).predict(by_length((3, 5, SEQ), batch_size))["classifier"]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_logits_of_several_lengths_are_filled_up_with_what_nothing_chooses():
    arrays = [np.ones((2, 3), np.float32), np.zeros((1, 5), np.float32)]
    joined = evaluation._joined(arrays)
    assert joined.tolist() == [[1, 1, 1, -np.inf, -np.inf]] * 2 + [[0] * 5]
    assert evaluation._joined([np.ones((2, 3)), np.ones((1, 3))]).shape == (3, 3)
