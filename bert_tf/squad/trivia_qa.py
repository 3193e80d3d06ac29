"""TriviaQA in SQuAD's form: one question a document, answered where the document has one of the answer's names.

TriviaQA (Joshi et al., 2017, section 2) gives an answer's names and documents found for it, not where they say it. As in the paper
(Devlin et al., 2018, section 4.2) a context is the first words of a document, and documents in whose first words no name of the
answer stands are left out.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bert_tf.errors import InputError

# Where TriviaQA lists a question's documents, and the folder of `evidence` that has their texts.
_DOCUMENTS = {"EntityPages": "wikipedia", "SearchResults": "web"}


@dataclass
class ConversionCounts:
    """What became of the documents.

    Attributes:
      questions: Questions read.
      kept: Documents that became a context.
      without_answer: Documents left out because no name of the answer stands in their first words.
      missing: Documents whose text is not there.
    """

    questions: int = 0
    kept: int = 0
    without_answer: int = 0
    missing: int = 0
    first_missing: str = field(default="")


def convert(
    content: object, source: str, read_text: Callable[[str], str | None], max_words: int, counts: ConversionCounts
) -> Iterator[dict[str, Any]]:
    """Yields a SQuAD paragraph for every document that answers its question.

    For example, the question "Who painted it?" with the name "Monet" and a document that begins "Claude Monet painted it" gives the
    context "Claude Monet painted it" with the answer "Monet" at 7.

    Args:
      content: What TriviaQA's JSON holds.
      source: Its file, for error messages.
      read_text: From a document's path below the evidence folder to its text, or None where it is not there.
      max_words: How many words of a document become the context.
      counts: To be filled.

    Raises:
      InputError: The JSON is not TriviaQA's.
    """
    if not isinstance(content, dict) or not isinstance(content.get("Data"), list):
        raise InputError(f"{source}: holds no list called Data; give one of TriviaQA's JSON files, as wikipedia-train.json")
    for number, question in enumerate(content["Data"]):
        place = f"{source}: Data[{number}]"
        id, text, names = _fields(question, place)
        counts.questions += 1
        for path in _documents(question, place):
            document = read_text(path)
            if document is None:
                counts.missing += 1
                counts.first_missing = counts.first_missing or path
                continue
            context = first_words(document, max_words)
            found = find_name(context, names)
            if found is None:
                counts.without_answer += 1
                continue
            counts.kept += 1
            answer = {"text": context[found[0] : found[1]], "answer_start": found[0]}
            qa = {"id": f"{id}--{path.split('/', 1)[1]}", "question": text, "answers": [answer]}
            yield {"context": context, "qas": [qa]}


def first_words(text: str, count: int) -> str:
    """Returns the text up to the end of its word number `count`, white space as it is."""
    match = re.match(rf"\s*(?:\S+\s+){{0,{count - 1}}}\S+", text)
    return match.group().lstrip() if match else ""


def find_name(text: str, names: list[str]) -> tuple[int, int] | None:
    """Returns where the first of the names stands in the text, as a word or words, whatever its case; of two at one place the longer."""
    alternatives = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    match = re.search(rf"(?<!\w)(?:{alternatives})(?!\w)", text, re.IGNORECASE) if alternatives else None
    return match.span() if match else None


def _fields(question: object, place: str) -> tuple[str, str, list[str]]:
    """Returns a question's id, its text, and the names of its answer."""
    if not isinstance(question, Mapping):
        raise InputError(f"{place}: is no object; give one of TriviaQA's JSON files")
    for name in ("QuestionId", "Question"):
        if not isinstance(question.get(name), str):
            raise InputError(f"{place}: has no {name}; give one of TriviaQA's JSON files")
    answer = question.get("Answer")
    if not isinstance(answer, Mapping):
        raise InputError(f"{place}: has no Answer, as in TriviaQA's test sets; give a train or dev file")
    names = [answer.get("Value"), *(answer.get("Aliases") or ())]
    return question["QuestionId"], question["Question"], list(dict.fromkeys(name.strip() for name in names if name and name.strip()))


def _documents(question: Mapping[str, Any], place: str) -> Iterator[str]:
    """Yields the paths of a question's documents below the evidence folder."""
    for name, folder in _DOCUMENTS.items():
        for document in question.get(name) or ():
            if not isinstance(document, Mapping) or not isinstance(document.get("Filename"), str):
                raise InputError(f"{place}: an entry of {name} has no Filename; give one of TriviaQA's JSON files")
            yield f"{folder}/{document['Filename']}"
