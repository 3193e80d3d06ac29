"""Scoring through its command: one JSON line, and what is told of files that do not match."""

import json
import subprocess
import sys

import pytest

from bert_tf.config import ScoreSquadConfig
from bert_tf.errors import InputError
from bert_tf.workflows import score_squad
from tests.conftest import ROOT, SHARED, needs_shared

QUESTIONS = [
    {"id": "a", "question": "?", "answers": [{"text": "x", "answer_start": 0}], "is_impossible": False},
    {"id": "b", "question": "?", "answers": [{"text": "y", "answer_start": 2}], "is_impossible": False},
    {"id": "c", "question": "?", "answers": [], "is_impossible": True},
    {"id": "d", "question": "?", "answers": [], "is_impossible": True},
]


def config(folder, predictions, odds=None, questions=QUESTIONS):
    contents = {
        "dataset": {"version": "v2.0", "data": [{"title": "t", "paragraphs": [{"context": "x y", "qas": questions}]}]},
        "predictions": predictions,
    }
    contents |= {} if odds is None else {"null_odds": odds}
    for name, content in contents.items():
        (folder / f"{name}.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return ScoreSquadConfig(**{name: str(folder / f"{name}.json") for name in contents})


ANSWERS = {"a": "x", "b": "y", "c": "z", "d": "z"}
ODDS = {"a": -3.0, "b": 1.0, "c": 0.5, "d": 2.0}


@needs_shared
@pytest.mark.parametrize("system, scores", [("BERT_ensemble_google", (86.2062, 92.1956)), ("LR_baseline_stanford", (40.1419, 50.9815))])
def test_the_command_on_the_whole_dev_set(system, scores):
    folder = SHARED / "data" / "squad"
    command = ["--dataset", str(folder / "dev-v1.1.reconstructed.json"), "--predictions", str(folder / f"predictions/v1.1_{system}.json")]
    done = subprocess.run([sys.executable, "-m", "bert_tf.cli.score_squad", *command], cwd=ROOT, capture_output=True, text=True, timeout=60)
    (line,) = done.stdout.splitlines()
    assert {name: round(value, 4) for name, value in json.loads(line).items()} == dict(zip(("exact_match", "f1"), scores))
    # the baseline's file is of another version of the set
    assert ("13 questions" in done.stderr and "28 questions" in done.stderr) == (system != "BERT_ensemble_google")


def test_version_2_and_thresholds(tmp_path, capsys):
    results = score_squad.run(config(tmp_path, ANSWERS, ODDS))
    assert (
        json.loads(capsys.readouterr().out)
        == results
        == {
            **{"exact_match": 50, "f1": 50, "HasAns_exact": 100, "HasAns_f1": 100, "NoAns_exact": 0, "NoAns_f1": 0},
            **{"best_exact": 75, "best_exact_thresh": -3, "best_f1": 75, "best_f1_thresh": -3},
        }
    )


def test_a_missing_prediction_is_told_and_wrong(tmp_path, caplog):
    with caplog.at_level("WARNING", logger="absl"):
        results = score_squad.run(config(tmp_path, {"a": "x", "c": "", "e": "?"}, {"a": -3.0, "c": 1, "d": -9.0}))
    assert results["exact_match"] == 50  # d, too, is wrong: nothing was said of it
    assert results["best_exact"] == 50
    assert "has no answer for 2 questions (the first: b) of 4; they count as wrong" in caplog.text
    assert "question e of 3 are not in --dataset; they do not count" in caplog.text


@pytest.mark.parametrize(
    "predictions, odds, message",
    [
        ('{"a": ', None, r"predictions\.json: not valid JSON"),
        (["x"], None, r"predictions\.json: holds no JSON object; give one from question ids to answers"),
        ({"a": 3}, None, r"predictions\.json: 'a' has 3; give an object from question ids to answers"),
        (ANSWERS, ODDS | {"z": 1}, r"null_odds\.json: question z of 5 are not in --dataset"),
        (ANSWERS, {"a": 1}, r"null_odds\.json: has no odds for 3 questions \(the first: b\) of 4"),
        (ANSWERS, ODDS | {"a": "1"}, r"null_odds\.json: 'a' has '1'"),
        (ANSWERS, '{"a": NaN}', r"null_odds\.json: 'a' has nan"),
    ],
)
def test_bad_files_are_one_line(tmp_path, predictions, odds, message):
    with pytest.raises(InputError, match=message) as caught:
        score_squad.run(config(tmp_path, predictions, odds))
    assert "\n" not in str(caught.value)


def test_a_data_set_with_an_id_twice_or_without_answers(tmp_path):
    with pytest.raises(InputError, match=r"qas\[4\]: id 'a' is that of"):
        score_squad.run(config(tmp_path, ANSWERS, questions=[*QUESTIONS, QUESTIONS[0]]))
    with pytest.raises(InputError, match=r"qas\[0\]: question t has no answers to score by"):
        score_squad.run(config(tmp_path, ANSWERS, questions=[{"id": "t", "question": "?"}]))
