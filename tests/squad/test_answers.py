"""N-best lists, predictions and null odds: the original's from the same logits, and what it cannot do."""

import json

import numpy as np
import pytest

from bert_tf.squad.answers import NO_WINDOW_SCORE, AnswerSettings, predict, prediction_files
from bert_tf.squad.windows import FIRST_UNIQUE_ID, Windower
from tests.conftest import needs_shared
from tests.squad.golden import INPUTS, golden, question, toy_tokenizer

SIZES = [(20, 30), (5, 8)]
# Entries whose text from offsets is not the projected one: the reasons are in test_projection.py.
OTHER_TEXTS = {
    ("v1_en", 20): (5, 3166),
    ("v1_en", 5): (0, 257),
    ("v1_zh_cased", 20): (8, 1200),
    ("v1_zh_cased", 5): (1, 115),
    ("v2_en", 20): (10, 3275),
}


def golden_predictions(name, n_best_size, max_answer_length):
    case, next_id, found = golden(name), FIRST_UNIQUE_ID, {}
    for asked in case.questions:
        windows = case.windower.windows(asked, next_id)
        next_id += len(windows)
        starts, ends = ([case.logits[window.unique_id][which] for window in windows] for which in (0, 1))
        found[asked.id] = predict(windows, starts, ends, AnswerSettings(n_best_size, max_answer_length, case.version_2))
    return found


@needs_shared
@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("n_best_size, max_answer_length", SIZES)
def test_answers_are_the_originals(name, n_best_size, max_answer_length):
    suffix, folder = f"{n_best_size}_{max_answer_length}.json", golden(name).folder
    if not (folder / f"predictions_{suffix}").exists():
        assert (name, n_best_size) == ("v2_en", 5)  # where the original crashes
        return
    found = golden_predictions(name, n_best_size, max_answer_length)
    lists, right_answers = (json.loads((folder / f"{kind}_{suffix}").read_text()) for kind in ("nbest", "predictions"))
    others = total = 0
    for id, right in lists.items():
        assert [(entry.projected, entry.start_logit, entry.end_logit) for entry in found[id].n_best] == [
            (entry["text"], entry["start_logit"], entry["end_logit"]) for entry in right
        ]
        np.testing.assert_allclose(
            [entry.probability for entry in found[id].n_best], [entry["probability"] for entry in right], atol=1e-6, rtol=0
        )
        others += sum(entry.text != other["text"] for entry, other in zip(found[id].n_best, right))
        total += len(right)
    assert (others, total) == OTHER_TEXTS[name, n_best_size]
    for id, right in right_answers.items():
        best = found[id].best
        assert (best.projected if found[id].answer() else "") == right
    if golden(name).version_2:
        odds = json.loads((folder / f"null_odds_{suffix}").read_text())
        assert {id: prediction.null_odds for id, prediction in found.items()} == odds


@needs_shared
@pytest.mark.parametrize("name", INPUTS)
def test_every_text_is_a_part_of_its_context(name):
    contexts = {asked.id: asked.context for asked in golden(name).questions}
    for id, prediction in golden_predictions(name, 20, 30).items():
        for entry in prediction.n_best:
            assert contexts[id][entry.start : entry.end] == entry.text == entry.text.strip()


@needs_shared
def test_no_crash_where_the_original_crashes():
    found = golden_predictions("v2_en", 5, 8)
    only_null = {id: prediction for id, prediction in found.items() if prediction.best is None}
    assert len(only_null) == 66
    for prediction in only_null.values():
        (entry,) = prediction.n_best
        assert (entry.text, entry.probability, prediction.answer(), prediction.answer(1e9)) == ("", 1.0, "", "")
        assert prediction.null_odds == entry.score


def windows_of(context, max_seq_length=64, doc_stride=4):
    return Windower(toy_tokenizer(), max_seq_length, doc_stride, 8).windows(question(context))


def logits(window, places, size=None):
    """Low everywhere but at these places of the window's part of the context, or at "cls"."""
    values = np.full(size or len(window), -10.0)
    for place, value in places.items():
        values[0 if place == "cls" else window.offset + place] = value
    return values


def test_the_end_is_that_of_the_last_piece():
    """H26: no blank, line break or full stop that follows belongs to an answer."""
    (window,) = windows_of("Paris  is big.\n\nRome\tis old.")
    for first, last, span, text in ((0, 0, (0, 5), "Paris"), (4, 4, (16, 20), "Rome"), (5, 6, (21, 27), "is old")):
        prediction = predict([window], [logits(window, {first: 5})], [logits(window, {last: 5})], AnswerSettings())
        assert (prediction.best.start, prediction.best.end) == span
        assert prediction.answer() == prediction.best.text == text


def test_unusual_characters_stay_as_they_are():
    """Row 10: the original would write the words whole, or with its own spaces."""
    context = "a Café\u00a0Noir  가나, b"
    (window,) = windows_of(context)
    pieces = window.context.piece_texts(0, len(window.context) - 1)
    assert pieces[:3] == ["a", "cafe", "noir"]
    last = pieces.index(",") - 1
    prediction = predict([window], [logits(window, {1: 5})], [logits(window, {last: 5})], AnswerSettings())
    assert prediction.answer() == "Café\u00a0Noir  가나"


def test_a_piece_is_an_answers_first_where_it_has_most_context_only():
    windows = windows_of("a b c d e f g h", max_seq_length=8, doc_stride=2)  # of four pieces: a to d, c to f, e to h
    assert len(windows) == 3
    starts = [logits(windows[0], {3: 9}), logits(windows[1], {1: 5}), logits(windows[2], {})]
    ends = [logits(windows[0], {3: 9}), logits(windows[1], {2: 5}), logits(windows[2], {})]
    prediction = predict(windows, starts, ends, AnswerSettings(n_best_size=1))
    assert [entry.text for entry in prediction.n_best] == ["d e"]  # not d in the first window, though it scores higher


def test_null_odds_take_the_lowest_null_score_of_all_windows():
    """Row 9."""
    windows = windows_of("a b c d e f g h", max_seq_length=8, doc_stride=2)
    starts = [logits(window, {"cls": null, 1: 2}) for window, null in zip(windows, (6, 1, 3))]
    ends = [logits(window, {"cls": null, 1: 2}) for window, null in zip(windows, (6, 1, 3))]
    prediction = predict(windows, starts, ends, AnswerSettings(version_2=True))
    assert prediction.null_odds == 1 + 1 - 2 - 2
    assert (prediction.answer(-2.0), prediction.answer(-2.1)) == ("b", "")
    assert sum(entry.text == "" for entry in prediction.n_best) == 1


def test_a_question_without_windows():
    prediction = predict([], [], [], AnswerSettings(version_2=True))
    assert (prediction.answer(), prediction.null_odds, len(prediction.n_best)) == ("", NO_WINDOW_SCORE, 1)
    # where every question has an answer, the original's word for none
    assert predict([], [], [], AnswerSettings()).answer() == "empty"


@pytest.mark.parametrize("max_answer_length, expected", [(1, {"a", "b", "c"}), (2, {"a", "b", "c", "a b", "b c"})])
def test_the_longest_answer(max_answer_length, expected):
    (window,) = windows_of("a b c")
    flat = np.zeros(len(window))
    assert {entry.text for entry in predict([window], [flat], [flat], AnswerSettings(20, max_answer_length)).n_best} == expected


def test_of_one_text_twice_the_likelier_stays():
    (window,) = windows_of("a b a")
    found = predict([window], [logits(window, {0: 1, 2: 3})], [logits(window, {0: 1, 2: 3})], AnswerSettings(2))
    assert [(entry.text, entry.start) for entry in found.n_best] == [("a", 4), ("a b a", 0)]


def test_files():
    (window,) = windows_of("a b c")
    peak = logits(window, {1: 2.5})
    for version_2, names in ((False, 2), (True, 3)):
        files = prediction_files({"q": predict([window], [peak], [peak], AnswerSettings(1, version_2=version_2))}, threshold=-30.0)
        assert len(files) == names
        assert files["predictions.json"] == {"q": "" if version_2 else "b"}
        first = files["nbest_predictions.json"]["q"][0]
        assert list(first) == ["text", "probability", "start_logit", "end_logit"] and first["text"] == "b"
    assert files["null_odds.json"] == {"q": -25.0}
