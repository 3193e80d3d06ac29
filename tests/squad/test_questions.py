"""SQuAD's JSON: what it holds, and what is said of files that hold something else."""

import copy

import pytest

from bert_tf.errors import InputError
from bert_tf.squad.questions import GivenAnswer, check_ids, check_version, gold_answers, is_version_2, parse_squad

FILE = {
    "version": "v2.0",
    "data": [
        {
            "title": "t",
            "paragraphs": [
                {
                    "context": "The sky is blue.",
                    "qas": [
                        {"id": "a", "question": "What is blue?", "answers": [{"text": "The sky", "answer_start": 0}]},
                        {
                            "id": 7,
                            "question": "What is red?",
                            "answers": [],
                            "is_impossible": True,
                            "plausible_answers": [{"text": "The sky", "answer_start": 0}],
                        },
                        {"id": "c", "question": "What is it?"},
                    ],
                }
            ],
        }
    ],
}


def test_questions():
    first, second, third = parse_squad(FILE, "dev.json")
    assert (first.id, first.text, first.context) == ("a", "What is blue?", "The sky is blue.")
    assert first.answers == (GivenAnswer("The sky", 0),) and not first.is_impossible
    assert (second.id, second.answers, second.is_impossible) == ("7", (), True)
    assert third.answers is None
    assert third.where == "dev.json: data[0].paragraphs[0].qas[2]"
    assert gold_answers([first, second]) == {"a": ["The sky"], "7": []}


def changed(path, value):
    content = copy.deepcopy(FILE)
    place = content
    for key in path[:-1]:
        place = place[key]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return content


QAS = ("data", 0, "paragraphs", 0, "qas")


@pytest.mark.parametrize(
    "content, message",
    [
        ([], r"^dev\.json: holds list, not an object; give a file in SQuAD's format$"),
        ({}, r"^dev\.json: has no data, where SQuAD's format has a list"),
        ({"data": {}}, r"^dev\.json: has dict as data, where"),
        ({"data": []}, r"^dev\.json: holds no question"),
        ({"data": [3]}, r"^dev\.json: data\[0\]: holds int, not an object"),
        (changed(("data", 0, "paragraphs"), None), r"^dev\.json: data\[0\]: has no paragraphs"),
        (changed(("data", 0, "paragraphs", 0, "context"), None), r"paragraphs\[0\]: has no context; give it as text"),
        (changed((*QAS, 1, "question"), 5), r"qas\[1\]: question is 5; give it as text"),
        (changed((*QAS, 1, "id"), None), r"qas\[1\]: id is None; give each question an id"),
        (changed((*QAS, 1, "is_impossible"), "yes"), r"qas\[1\]: is_impossible is 'yes'; give true or false"),
        (changed((*QAS, 0, "answers", 0, "answer_start"), "0"), r"qas\[0\]\.answers\[0\]: answer_start is '0'"),
        (changed((*QAS, 0, "answers", 0, "text"), None), r"qas\[0\]\.answers\[0\]: has no text; give it as text"),
        (changed((*QAS, 0, "answers"), "The sky"), r"qas\[0\]: has str as answers"),
    ],
)
def test_what_is_no_squad_file_is_named(content, message):
    with pytest.raises(InputError, match=message) as caught:
        parse_squad(content, "dev.json")
    assert "\n" not in str(caught.value)


def test_an_id_twice():
    questions = parse_squad(changed((*QAS, 2, "id"), "a"), "dev.json")
    with pytest.raises(InputError, match=r"qas\[2\]: id 'a' is that of dev\.json: data\[0\]\.paragraphs\[0\]\.qas\[0\] too"):
        check_ids(questions)


def test_unanswerable_questions_need_the_flag():
    questions = parse_squad(FILE, "dev.json")
    check_version(questions, version_2=True)
    with pytest.raises(InputError, match=r"qas\[1\]: question 7 is unanswerable \(is_impossible\).*give --version_2_with_negative"):
        check_version(questions, version_2=False)


def test_no_answers_to_score_by():
    with pytest.raises(InputError, match=r"qas\[2\]: question c has no answers to score by"):
        gold_answers(parse_squad(FILE, "dev.json"))


@pytest.mark.parametrize(
    "content, expected",
    [(FILE, True), (changed(("version",), "1.1"), True), (changed(("version",), None), True), ({"version": "1.1", "data": []}, False)],
)
def test_which_version(content, expected):
    questions = parse_squad(content, "dev.json") if content["data"] else []
    assert is_version_2(content, questions) == expected
