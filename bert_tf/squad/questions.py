"""SQuAD's JSON as questions, each checked, and what training and prediction ask of all of them together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bert_tf.errors import InputError


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """An answer that the data set gives.

    Attributes:
      text: Its words.
      start: Where the context has them, in code points.
    """

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Question:
    """One question on one context.

    Attributes:
      id: The data set's id.
      text: The question.
      context: The text that is asked about.
      answers: The answers given; empty where there is none to give, None where the file does not tell (a test set).
      is_impossible: Whether the file says that the context does not answer it.
      where: File and place, for error messages.
    """

    id: str
    text: str
    context: str
    answers: tuple[GivenAnswer, ...] | None
    is_impossible: bool
    where: str


def parse_squad(content: object, source: str) -> list[Question]:
    """Returns the questions of a file, v1.1 or v2.0, in its order.

    Args:
      content: What the JSON holds.
      source: The file's name.

    Raises:
      InputError: Something that is missing or of another type: the file, the place, what to do.
    """
    questions = []
    for article_place, article in _items(_mapping(content, source), "data", source):
        for paragraph_place, paragraph in _items(_mapping(article, article_place), "paragraphs", article_place):
            fields = _mapping(paragraph, paragraph_place)
            context = _text(fields, "context", paragraph_place)
            questions += [_question(qa, context, place) for place, qa in _items(fields, "qas", paragraph_place)]
    if not questions:
        raise InputError(f"{source}: holds no question; give a file in SQuAD's format")
    return questions


def is_version_2(content: Mapping[str, Any], questions: Sequence[Question]) -> bool:
    """Returns whether a file is scored as SQuAD v2.0 is: it says so, or has questions without an answer."""
    version = str(content.get("version", "")).lower().removeprefix("v")
    return version.startswith("2") or any(question.is_impossible or question.answers == () for question in questions)


def check_version(questions: Sequence[Question], version_2: bool) -> None:
    """Checks that unanswerable questions come with --version_2_with_negative.

    Raises:
      InputError: There is one and the flag is not given.
    """
    impossible = [question for question in questions if question.is_impossible]
    if impossible and not version_2:
        raise InputError(
            f"{impossible[0].where}: question {impossible[0].id} is unanswerable (is_impossible), as are {len(impossible)} of "
            f"{len(questions)}; give --version_2_with_negative"
        )


def check_ids(questions: Sequence[Question]) -> None:
    """Checks that every question has an id of its own, by which predictions are written and scored.

    Raises:
      InputError: An id that occurs twice; both places are named.
    """
    places: dict[str, str] = {}
    for question in questions:
        if question.id in places:
            raise InputError(f"{question.where}: id {question.id!r} is that of {places[question.id]} too; give each question its own")
        places[question.id] = question.where


def gold_answers(questions: Sequence[Question]) -> dict[str, list[str]]:
    """Returns by question id the answers' texts, none for an unanswerable question.

    Raises:
      InputError: A question whose answers the file does not tell.
    """
    for question in questions:
        if question.answers is None and not question.is_impossible:
            raise InputError(f"{question.where}: question {question.id} has no answers to score by; give a file that has them")
    return {question.id: [answer.text for answer in question.answers or ()] for question in questions}


def _question(qa: object, context: str, place: str) -> Question:
    fields = _mapping(qa, place)
    is_impossible = fields.get("is_impossible", False)
    if not isinstance(is_impossible, bool):
        raise InputError(f"{place}: is_impossible is {is_impossible!r}; give true or false")
    answers = None
    if fields.get("answers") is not None and not is_impossible:  # v2.0 lists plausible answers apart, some files list them here
        answers = tuple(_answer(answer, answer_place) for answer_place, answer in _items(fields, "answers", place))
    elif is_impossible:
        answers = ()
    id = fields.get("id")
    if not isinstance(id, str | int) or isinstance(id, bool):
        raise InputError(f"{place}: id is {id!r}; give each question an id")
    return Question(str(id), _text(fields, "question", place), context, answers, is_impossible, place)


def _answer(answer: object, place: str) -> GivenAnswer:
    fields = _mapping(answer, place)
    start = fields.get("answer_start")
    if not isinstance(start, int) or isinstance(start, bool):
        raise InputError(f"{place}: answer_start is {start!r}; give the answer's first character, counted from 0")
    return GivenAnswer(_text(fields, "text", place), start)


def _mapping(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{place}: holds {type(value).__name__}, not an object; give a file in SQuAD's format")
    return value


def _items(fields: Mapping[str, Any], name: str, place: str) -> list[tuple[str, object]]:
    """Returns the items of a list field, each with its place in words: file.json: data[0].paragraphs[2]."""
    value = fields.get(name)
    if not isinstance(value, list):
        found = "no" if name not in fields else f"{type(value).__name__} as"
        raise InputError(f"{place}: has {found} {name}, where SQuAD's format has a list; give a file in that format")
    separator = "." if ": " in place else ": "
    return [(f"{place}{separator}{name}[{number}]", item) for number, item in enumerate(value)]


def _text(fields: Mapping[str, Any], name: str, place: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        found = f"has no {name}" if value is None else f"{name} is {value!r}"
        raise InputError(f"{place}: {found}; give it as text")
    return value
