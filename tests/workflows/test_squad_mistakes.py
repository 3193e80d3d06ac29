"""What run_squad.py says of files and flags that are wrong, and that nothing is trained then."""

import copy
import json
import re

import pytest

from bert_tf.errors import InputError
from bert_tf.workflows import squad
from tests.workflows.squad_data import LINES, squad_config, squad_content, write_json


def changed(version_2=False, **changes):
    """Returns a content whose second question has other fields."""
    content = copy.deepcopy(squad_content(version_2))
    content["data"][0]["paragraphs"][0]["qas"][1] |= changes
    return content


@pytest.fixture
def run(made, tmp_path):
    def run(content, **changes):
        return squad.run(squad_config(made, tmp_path / "run", write_json(tmp_path / "squad.json", content), **changes))

    return run


@pytest.mark.parametrize(
    "content, changes, message",
    [
        ('{"data": [', {}, r"squad\.json: not valid JSON \(.*\); give a whole file in SQuAD's format"),
        ({"data": {}}, {}, r"squad\.json: has dict as data"),
        (squad_content(version_2=True), {}, r"qas\[2\]: question 0c is unanswerable .*12 of 36; give --version_2_with_negative"),
        (changed(id="0a"), dict(do_predict=True), r"qas\[1\]: id '0a' is that of .*qas\[0\] too; give each question its own"),
        (changed(answers=None), dict(do_eval=True), r"qas\[1\]: question 0b has no answers to score by"),
        (changed(answers=[]), {}, r"qas\[1\]: question 0b has no answer to train on"),
        (squad_content(), dict(train_batch_size=1000), r"96 windows make no batch of 1000 in 1\.0 epochs"),
        (squad_content(), dict(do_train=False, do_predict=True, init_checkpoint=None), r"no checkpoint; give --do_train, or an"),
        (squad_content(), dict(do_train=False), r"nothing to do: give at least one of --do_train, --do_predict, --do_eval"),
        (squad_content(), dict(max_seq_length=65), r"65.*64"),
        (
            changed(answers=[{"text": "Anna", "answer_start": 3}]),
            dict(strict=True),
            r"1 of 24 answers are not where answer_start .*--strict",
        ),
    ],
)
def test_one_line_and_nothing_trained(run, tmp_path, content, changes, message):
    with pytest.raises(InputError, match=message) as caught:
        run(content, **changes)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_unanswerable_questions_to_predict_need_the_flag_too(run, tmp_path):
    file = write_json(tmp_path / "train.json", squad_content())
    with pytest.raises(InputError, match=r"squad\.json: .*question 0c is unanswerable .*; give --version_2_with_negative"):
        run(squad_content(version_2=True), train_file=file, do_predict=True)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "changes, flags, message",
    [
        (dict(answers=[{"text": "Anna", "answer_start": 3}]), {}, r"1 of 24 answers are not where answer_start says; their questions"),
        pytest.param(
            dict(answers=[{"text": "moon", "answer_start": 3}]),
            {},
            r"1 of 24 answers are not where answer_start says, but among the words",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            dict(answers=[{"text": LINES.format(0).strip(), "answer_start": 0}]),
            dict(max_seq_length=24),
            r"1 of 24 answers are in no window whole",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            dict(answers=2 * [{"text": "moon", "answer_start": 4}]),
            {},
            r"1 of 24 questions have several answers; the first is",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {},
            dict(doc_stride=30),
            r"doc_stride is 30, but beside a question of max_query_length 10 there is room for 27 pieces",
            marks=pytest.mark.slow,
        ),
        pytest.param({}, dict(version_2_with_negative=True), r"has no unanswerable question \(is_impossible\)", marks=pytest.mark.slow),
    ],
)
def test_told_and_trained_all_the_same(run, caplog, changes, flags, message):
    with caplog.at_level("WARNING", logger="absl"):
        assert run(changed(**changes), **flags)["global_step"] > 0
    (line,) = [record.getMessage() for record in caplog.records if re.search(message, record.getMessage())]
    if changes:
        assert line.endswith("(the first: data[0].paragraphs[0].qas[1])")


def test_empty_and_very_long_inputs(run, tmp_path, caplog):
    content = squad_content(num_paragraphs=2)
    long = "The moon rose. " * 6700  # 100,500 characters
    asked = [("e", "", "What?"), ("f", "\u200b", "What?"), ("g", "The soup was hot.", ""), ("h", long, "What was hot? " * 100)]
    content["data"][0]["paragraphs"] += [{"context": context, "qas": [{"id": id, "question": text}]} for id, context, text in asked]
    file = write_json(tmp_path / "train.json", squad_content(num_paragraphs=2))
    with caplog.at_level("INFO", logger="absl"):
        run(content, train_file=file, do_predict=True, do_export=True, predict_batch_size=256)
    assert "2 questions are on a context without any text; they get no answer" in caplog.text
    assert re.search(r"predict: 8 questions in \d{4} windows, 1 questions cut to 10 pieces", caplog.text)
    predictions = json.loads((tmp_path / "run" / "predictions.json").read_text())
    assert predictions["e"] == predictions["f"] == "empty"  # the original's word
    assert predictions["g"] in "The soup was hot." and predictions["h"] in long


def test_questions_on_no_text_alone(run, tmp_path):
    content = {"data": [{"paragraphs": [{"context": "", "qas": [{"id": "a", "question": "What?"}]}]}]}
    file = write_json(tmp_path / "train.json", squad_content(version_2=True))
    run(content, train_file=file, do_predict=True, version_2_with_negative=True)
    assert (tmp_path / "run" / "predictions.json").read_text() == '{\n    "a": ""\n}\n'
    assert (tmp_path / "run" / "null_odds.json").read_text() == '{\n    "a": 1000000.0\n}\n'
