"""The exported question answering: what plain Python answers from the same logits, windows included, in another process too."""

from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.modeling.models import QuestionAnsweringModel
from bert_tf.serving.export import export
from bert_tf.serving.question_answering import NO_SCORE, QuestionAnsweringModule
from bert_tf.squad.answers import AnswerSettings, predict
from bert_tf.squad.questions import Question
from bert_tf.squad.windows import Windower
from tests.serving.conftest import CONFIG, MAX_SEQ_LENGTH, TOKENIZER, VOCAB, ask_in_another_process
from tests.serving.test_export import assert_three_times_the_same, operations

DOC_STRIDE, QUERY, N_BEST, LONGEST = 3, 4, 6, 5
QUESTIONS = ["is it blue?", "", "a b c a b c a b c", "the sky", "Is caf\u00e9?", "what", "c"]
CONTEXTS = [
    "The  sky is\tblue.\n\nThe SKY is\u2028blues, a b c.",
    "a b c",
    "caf\u00e9 \U0001f600 \u5929\u7a7a skyly \U0001f680! " * 30,
    "",
    " \u200b",
    "cafe\u0301, blue",
    "b",
]


def make(null_threshold):
    keras.utils.set_random_seed(3)
    return QuestionAnsweringModule(
        doc_stride=DOC_STRIDE,
        max_query_length=QUERY,
        n_best_size=N_BEST,
        max_answer_length=LONGEST,
        null_threshold=null_threshold,
        model=QuestionAnsweringModel(CONFIG),
        vocab=VOCAB,
        do_lower_case=True,
        max_seq_length=MAX_SEQ_LENGTH,
    )


@pytest.fixture(scope="module", params=[pytest.param(None, marks=pytest.mark.slow), 0.5])
def exported(request, tmp_path_factory):
    module = make(request.param)
    tf.function(module.model)({name: tf.ones([2, 4], tf.int32) for name in ("input_ids", "input_mask", "segment_ids")}, training=True)
    probes = [{"signature": "serving_default", "question": QUESTIONS, "context": CONTEXTS}]
    path = export(module, str(tmp_path_factory.mktemp("export")), {"vocab.txt": VOCAB.to_text()}, probes)
    return SimpleNamespace(module=module, path=path, threshold=request.param)


def expected(module, question, context):
    """What plain Python makes of the model's logits, one window at a time."""
    windower = Windower(TOKENIZER, MAX_SEQ_LENGTH, DOC_STRIDE, QUERY)
    windows = windower.windows(Question("q", question, context, None, False, ""))
    starts, ends = [], []
    for window in windows:
        features = windower.features(window)
        inputs = {name: np.asarray([features[name][: len(window)]], np.int32) for name in ("input_ids", "input_mask", "segment_ids")}
        logits = module.model(inputs, training=False)
        starts.append(logits["start"].numpy()[0])
        ends.append(logits["end"].numpy()[0])
    return len(windows), predict(windows, starts, ends, AnswerSettings(N_BEST, LONGEST, module.null_threshold is not None))


def assert_answers(module, answers, questions, contexts):
    seen = set()
    for row, (question, context) in enumerate(zip(questions, contexts)):
        num_windows, right = expected(module, question, context)
        seen.add(min(num_windows, 2))
        answer = {name: values[row] for name, values in answers.items()}
        text = answer["answer"].decode()
        assert text == context[answer["start"] : answer["end"]]
        if not num_windows:
            assert (text, answer["score"]) == ("", NO_SCORE)
            continue
        np.testing.assert_allclose(answer["score"], right.best.score, atol=1e-4)
        if module.null_threshold is None:
            assert text == right.best.text and answer["start"] == right.best.start
        else:
            np.testing.assert_allclose(answer["null_odds"], right.null_odds, atol=1e-4)
            assert text == right.answer(module.null_threshold)
    return seen


def test_answers_in_a_process_that_knows_tensorflow_only(exported, tmp_path):
    """H26, H38: the same three times, alone and in company."""
    parts = [slice(None), slice(2, 3), slice(3, 6), slice(3, 4), slice(0, 0)]
    requests = [
        (exported.path, "serving_default", {"question": np.asarray(QUESTIONS[part], object), "context": np.asarray(CONTEXTS[part], object)})
        for part in parts
    ]
    said, answers = ask_in_another_process(requests, tmp_path)
    outputs = sorted({"answer", "score", "start", "end"} | ({"null_odds"} if exported.threshold is not None else set()))
    inputs = ["input_ids", "input_mask", "segment_ids"]
    assert said["foreign"] == []
    assert said["signatures"][exported.path] == {
        "serving_default": [["context", "question"], outputs],
        "ids": [inputs, ["end_logits", "start_logits"]],
        "examples": [["examples"], ["end_logits", "start_logits"]],
    }
    assert_three_times_the_same(answers)
    for part, turns in zip(parts[:-1], answers):
        assert_answers(exported.module, turns[0], QUESTIONS[part], CONTEXTS[part])
    assert assert_answers(exported.module, answers[0][0], QUESTIONS, CONTEXTS) == {0, 1, 2}
    assert all(len(values) == 0 for values in answers[-1][0].values())


@pytest.mark.slow
def test_more_windows_than_go_at_once_and_a_very_long_context(exported):
    context = "The sky is blue, a b c. " * 300 + "cafe!"  # 2,700 pieces in 900 windows
    answer = exported.module.answer(tf.constant(["is it"]), tf.constant([context]))
    assert_answers(exported.module, {name: value.numpy() for name, value in answer.items()}, ["is it"], [context])


def test_bytes_that_are_not_utf8_are_answered(exported):
    answer = exported.module.answer(tf.constant([b"\xff sky"]), tf.constant([b"a \xff b c"]))
    start, end = (int(answer[name][0]) for name in ("start", "end"))
    assert answer["answer"][0].numpy().decode() == "a \ufffd b c"[start:end]


def test_no_random_and_no_foreign_operation(exported):
    found = operations(exported.path)
    assert {"MatMul", "LookupTableFindV2"} <= found
    assert not [name for name in found if ">" in name or "random" in name.lower() or "dropout" in name.lower()]
