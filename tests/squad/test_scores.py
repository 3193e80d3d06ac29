"""Official scores: published figures, the official definitions by hand, and thresholds by trying every one."""

import json
import random

import pytest

from bert_tf.squad import scores
from bert_tf.squad.questions import gold_answers, parse_squad
from tests.conftest import SHARED, needs_shared


@needs_shared
@pytest.mark.parametrize("system, exact, f1", [("BERT_ensemble_google", 86.2062, 92.1956), ("LR_baseline_stanford", 40.1419, 50.9815)])
def test_published_predictions_score_as_published(system, exact, f1):
    folder = SHARED / "data" / "squad"
    gold = gold_answers(parse_squad(json.loads((folder / "dev-v1.1.reconstructed.json").read_text()), "dev"))
    predictions = json.loads((folder / "predictions" / f"v1.1_{system}.json").read_text())
    each = scores.question_scores(gold, predictions, version_2=False)
    summary = scores.summarize(gold, each, version_2=False)
    assert {name: round(value, 4) for name, value in summary.items()} == {"exact_match": exact, "f1": f1}


@pytest.mark.parametrize(
    "text, expected",
    [
        ("The  Beatles'", "beatles"),
        ("a-b", "ab"),
        ("AN apple, a day", "apple day"),
        ("anthem", "anthem"),
        ("“Quoted”", "“quoted”"),  # ASCII punctuation only
        ("\u00a0x\u3000y ", "x y"),
    ],
)
def test_normalize(text, expected):
    assert scores.normalize(text) == expected


@pytest.mark.parametrize(
    "prediction, answer, exact, f1, f1_version_2",
    [
        ("the cat", "cat", 1, 1, 1),
        ("cat sat", "cat", 0, 2 / 3, 2 / 3),
        ("cat cat dog", "cat dog dog", 0, 2 / 3, 2 / 3),
        ("dog", "cat", 0, 0, 0),
        ("", "cat", 0, 0, 0),
        ("The", "a", 1, 0, 1),  # no words on either side
        ("", "", 1, 0, 1),
    ],
)
def test_one_answer(prediction, answer, exact, f1, f1_version_2):
    assert scores.exact_match(prediction, answer) == exact
    assert scores.f1(prediction, answer) == pytest.approx(f1)
    assert scores.f1(prediction, answer, version_2=True) == pytest.approx(f1_version_2)


GOLD = {"a": ["red sea", "the sea"], "b": [], "c": ["1066"], "d": ["!", "x"], "e": []}


def test_best_over_answers_and_missing_predictions():
    each = scores.question_scores(GOLD, {"a": "Sea!", "b": "", "c": "1067", "d": ""}, version_2=True)
    assert each["a"] == {"exact_match": 1.0, "f1": 1.0}
    assert each["b"] == {"exact_match": 1.0, "f1": 1.0}
    assert each["c"] == each["d"] == {"exact_match": 0.0, "f1": 0.0}  # of no words "!" does not count as an answer
    assert each["e"] == {"exact_match": 0.0, "f1": 0.0}  # without a prediction, though it has no answer
    assert scores.summarize(GOLD, each, version_2=True) == pytest.approx(
        {"exact_match": 40, "f1": 40, "HasAns_exact": 100 / 3, "HasAns_f1": 100 / 3, "NoAns_exact": 50, "NoAns_f1": 50}
    )


def test_a_group_without_questions_is_left_out():
    each = scores.question_scores({"a": ["x"]}, {"a": "x"}, version_2=True)
    assert scores.summarize({"a": ["x"]}, each, version_2=True) == {"exact_match": 100, "f1": 100, "HasAns_exact": 100, "HasAns_f1": 100}


def thresholded(gold, answers, odds, threshold, metric):
    kept = {id: "" if odds[id] > threshold else answer for id, answer in answers.items()}
    each = scores.question_scores(gold, kept, version_2=True)
    return 100 * sum(score[metric] for score in each.values()) / len(gold)


@pytest.mark.parametrize("values", [range(-50, 50), range(-3, 3)])  # the second with many equal odds
def test_the_best_threshold_is_the_best_of_all(values):
    rng = random.Random(5)
    for _ in range(40):
        ids = [str(number) for number in range(rng.randrange(1, 12))]
        gold = {id: [] if rng.random() < 0.5 else ["one two"] for id in ids}
        answers = {id: rng.choice(["one two", "one", "three", ""]) for id in ids}
        odds = {id: rng.choice(values) / 10 for id in ids}
        each = scores.question_scores(gold, answers, version_2=True)
        found = scores.best_thresholds(gold, each, lambda id, answers=answers: bool(answers[id]), odds)
        for name, metric in (("best_exact", "exact_match"), ("best_f1", "f1")):
            possible = [thresholded(gold, answers, odds, threshold, metric) for threshold in {*odds.values(), min(odds.values()) - 1}]
            assert found[name] == pytest.approx(max(possible))
            # and the threshold, used, reaches it
            assert thresholded(gold, answers, odds, found[f"{name}_thresh"], metric) == pytest.approx(found[name])


def test_thresholds_of_four_questions():
    """Row 9: two with an answer, two without; odds tell them apart but for one."""
    gold = {"a": ["x"], "b": ["y"], "c": [], "d": []}
    answers, odds = {"a": "x", "b": "y", "c": "z", "d": "z"}, {"a": -3.0, "b": 1.0, "c": 0.5, "d": 2.0}
    each = scores.question_scores(gold, answers, version_2=True)
    assert scores.best_thresholds(gold, each, lambda id: bool(answers[id]), odds) == {
        "best_exact": 75.0,
        "best_exact_thresh": -3.0,
        "best_f1": 75.0,
        "best_f1_thresh": -3.0,
    }
