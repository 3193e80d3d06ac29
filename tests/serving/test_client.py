"""The Predictor: loaded once, then raw texts in and plain Python values out."""

import json
import re
import time

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.serving.client import Predictor
from bert_tf.serving.export import export
from tests.serving.conftest import LABELS, PAIRS, TEXTS, Small


@pytest.fixture(scope="module")
def predictor(classifier):
    return Predictor(classifier.path)


@pytest.fixture(scope="module")
def pair_predictor(pair_classifier):
    return Predictor(pair_classifier.path)


def test_answers_are_plain_python_values(predictor, classifier):
    answers = predictor.predict(TEXTS)
    assert json.loads(json.dumps(answers)) == answers
    raw = classifier.module.outputs(classifier.module.pack(tf.constant(TEXTS), None))
    for answer, label, probabilities in zip(answers, raw["label"].numpy(), raw["probabilities"].numpy(), strict=True):
        assert answer.keys() == {"label", "probabilities"} and answer["label"] in LABELS
        assert answer["label"] == label.decode("utf-8")
        np.testing.assert_allclose(answer["probabilities"], probabilities, atol=1e-5)


def test_a_text_gets_the_same_answer_alone_and_in_company(predictor):
    for text, answer in zip(TEXTS, predictor.predict(TEXTS)):
        (alone,) = predictor.predict([text])
        assert alone["label"] == answer["label"]
        np.testing.assert_allclose(alone["probabilities"], answer["probabilities"], atol=1e-5)


def test_an_encoder_gives_a_vector_a_piece_and_none_of_padding(encoder):
    predictor = Predictor(encoder.path)
    answers = predictor.predict(TEXTS)
    inputs = encoder.module.pack(tf.constant(TEXTS), None)
    assert len({len(answer["sequence_output"]) for answer in answers}) > 2
    for text, answer, length in zip(TEXTS, answers, inputs["input_mask"].numpy().sum(axis=1), strict=True):
        assert answer.keys() == {"sequence_output", "pooled_output"} and len(answer["sequence_output"]) == length
        (alone,) = predictor.predict([text])
        np.testing.assert_allclose(alone["sequence_output"], answer["sequence_output"], atol=1e-5)


def test_pairs(pair_predictor):
    answers = pair_predictor.predict(TEXTS, PAIRS)
    swapped = pair_predictor.predict(PAIRS, TEXTS)
    assert len(answers) == len(TEXTS)
    assert any(abs(a["probabilities"][0] - b["probabilities"][0]) > 1e-3 for a, b in zip(answers, swapped))


def test_no_text_is_no_answer(predictor):
    assert predictor.predict([]) == []


def test_twenty_single_predictions_take_less_than_loading(classifier):
    """Row 16: nothing is loaded or compiled again, whatever the length."""
    start = time.process_time()
    predictor = Predictor(classifier.path)
    predictor.predict(["The sky"])
    loading = time.process_time() - start
    start = time.process_time()
    for length in range(20):
        predictor.predict(["a " * length])
    assert time.process_time() - start < loading / 2


def test_the_highest_version_is_taken(tmp_path):
    for version in range(1, 11):
        if version in (2, 10):
            export(Small(is_pair=version == 10), str(tmp_path), {}, [])
        else:
            (tmp_path / str(version)).mkdir()
    (tmp_path / "partial-11").mkdir()
    assert Predictor(str(tmp_path)).input_names == ["text", "text_pair"]
    assert Predictor(str(tmp_path / "2")).input_names == ["text"]
    assert Predictor(str(tmp_path / "2")).predict(["ab", ""]) == [{"length": 2}, {"length": 0}]


def test_texts_that_do_not_fit_the_model(predictor, pair_predictor):
    with pytest.raises(InputError, match="takes one text, not pairs; leave the second texts out"):
        predictor.predict(["a"], ["b"])
    with pytest.raises(InputError, match="takes pairs of texts; give the second texts too"):
        pair_predictor.predict(["a"])
    with pytest.raises(InputError, match="2 texts and 1 second texts; give as many of each") as caught:
        pair_predictor.predict(["a", "b"], ["c"])
    assert "\n" not in str(caught.value)
    # one string is a sequence of letters, and never meant as one
    for wrong in (lambda: predictor.predict("The sky"), lambda: pair_predictor.predict(["a"], "b")):
        with pytest.raises(InputError, match=r"one string.*give a list"):
            wrong()


def test_folders_without_a_model(tmp_path):
    (tmp_path / "partial-1").mkdir()
    with pytest.raises(InputError, match=f"{re.escape(str(tmp_path))}: holds no SavedModel; give an export directory"):
        Predictor(str(tmp_path))
    with pytest.raises(InputError, match=f"{re.escape(str(tmp_path))}/nowhere: is not there; give an export directory"):
        Predictor(str(tmp_path / "nowhere"))
    (tmp_path / "run" / "export").mkdir(parents=True)
    with pytest.raises(InputError, match=f"run: holds no SavedModel; give {re.escape(str(tmp_path))}/run/export"):
        Predictor(str(tmp_path / "run"))
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "saved_model.pb").write_bytes(b"It is a text.")
    with pytest.raises(InputError, match=f"{re.escape(str(tmp_path))}/1: cannot be loaded as a SavedModel") as caught:
        Predictor(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_a_savedmodel_of_something_else(tmp_path):
    tf.saved_model.save(tf.Module(), str(tmp_path / "1"))
    with pytest.raises(InputError, match="/1: has no signature serving_default; export it again"):
        Predictor(str(tmp_path))
