"""TriviaQA in SQuAD's form, on invented questions and documents."""

import pytest

from bert_tf.errors import InputError
from bert_tf.squad.questions import parse_squad
from bert_tf.squad.trivia_qa import ConversionCounts, convert, find_name, first_words
from bert_tf.squad.windows import stands_there

DOCUMENTS = {
    "wikipedia/Pond.txt": "The Pond\n\nwas painted by Ann Lee, or  A. Lee as she signed.",
    "wikipedia/Lake.txt": "A lake is a body of water.",
    "web/1/2.txt": "Lee (Ann) painted; lee is also a side of a ship.",
}
QUESTION = {
    "QuestionId": "tc_1",
    "Question": "Who painted The Pond?",
    "Answer": {"Value": "Ann Lee", "Aliases": ["A. Lee", "Lee", " "], "NormalizedAliases": ["ann lee"]},
    "EntityPages": [{"Filename": "Pond.txt"}, {"Filename": "Lake.txt"}, {"Filename": "None.txt"}],
    "SearchResults": [{"Filename": "1/2.txt"}],
}


def converted(max_words=100, **changes):
    counts = ConversionCounts()
    content = {"Data": [QUESTION | changes], "Domain": "Wikipedia"}
    return list(convert(content, "train.json", DOCUMENTS.get, max_words, counts)), counts


def test_documents_that_answer_become_contexts():
    paragraphs, counts = converted()
    assert [(paragraph["qas"][0]["id"], paragraph["qas"][0]["answers"]) for paragraph in paragraphs] == [
        ("tc_1--Pond.txt", [{"text": "Ann Lee", "answer_start": 25}]),
        ("tc_1--1/2.txt", [{"text": "Lee", "answer_start": 0}]),
    ]
    assert counts == ConversionCounts(questions=1, kept=2, without_answer=1, missing=1, first_missing="wikipedia/None.txt")


def test_it_is_squads_form_and_every_answer_stands_where_it_says():
    paragraphs, _ = converted()
    questions = parse_squad({"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]}, "made")
    assert [question.text for question in questions] == ["Who painted The Pond?"] * 2
    assert all(stands_there(question.context, question.answers[0]) for question in questions)


def test_only_the_first_words_count():
    paragraphs, counts = converted(max_words=5)
    assert [paragraph["context"] for paragraph in paragraphs] == ["Lee (Ann) painted; lee is"]
    assert counts.without_answer == 2


@pytest.mark.parametrize("text, count, expected", [(" a\n\nb  c d ", 3, "a\n\nb  c"), ("a b", 9, "a b"), (" \n", 2, ""), ("a", 1, "a")])
def test_first_words(text, count, expected):
    assert first_words(text, count) == expected


@pytest.mark.parametrize(
    "text, names, expected",
    [
        ("the leeward lee", ["Lee"], (12, 15)),
        ("LEE, Ann", ["ann", "lee"], (0, 3)),
        ("New York City", ["New York", "New York City"], (0, 13)),
        ("C++ is", ["C++"], (0, 3)),
        ("İstanbul and lee", ["lee"], (13, 16)),  # whose lower-cased form is longer than itself
        ("nothing", ["lee"], None),
        ("nothing", [], None),
    ],
)
def test_find_name(text, names, expected):
    assert find_name(text, names) == expected


@pytest.mark.parametrize(
    "content, message",
    [
        ([], r"^train\.json: holds no list called Data"),
        ({"data": []}, r"^train\.json: holds no list called Data"),
        ({"Data": [1]}, r"^train\.json: Data\[0\]: is no object"),
        ({"Data": [{"QuestionId": "a"}]}, r"Data\[0\]: has no Question;"),
        ({"Data": [{"QuestionId": "a", "Question": "b"}]}, r"Data\[0\]: has no Answer, as in TriviaQA's test sets"),
        ({"Data": [QUESTION | {"EntityPages": [{}]}]}, r"an entry of EntityPages has no Filename"),
    ],
)
def test_what_is_not_triviaqa_is_named(content, message):
    with pytest.raises(InputError, match=message):
        list(convert(content, "train.json", DOCUMENTS.get, 10, ConversionCounts()))
