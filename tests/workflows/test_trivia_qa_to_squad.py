"""TriviaQA's files -> a training file, on invented ones."""

import json

import pytest

from bert_tf.config import TriviaQaConfig
from bert_tf.errors import InputError
from bert_tf.squad.questions import parse_squad
from bert_tf.workflows import trivia_qa_to_squad
from tests.squad.test_trivia_qa import DOCUMENTS, QUESTION


@pytest.fixture
def folder(tmp_path):
    for name, text in DOCUMENTS.items():
        path = tmp_path / "evidence" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "qa.json").write_text(json.dumps({"Data": [QUESTION]}))
    return tmp_path


def config(folder, **changes):
    values = dict(input_file=folder / "qa.json", evidence_dir=folder / "evidence", output_file=folder / "out" / "squad.json")
    return TriviaQaConfig(**values | changes)


def test_writes_a_training_file(folder, caplog):
    with caplog.at_level("INFO", logger="absl"):
        assert trivia_qa_to_squad.run(config(folder)) == {"questions": 1, "kept": 2, "without_answer": 1, "missing": 1}
    assert "1 documents are not there (the first: wikipedia/None.txt)" in caplog.text
    questions = parse_squad(json.loads((folder / "out" / "squad.json").read_text()), "squad.json")
    assert [question.id for question in questions] == ["tc_1--Pond.txt", "tc_1--1/2.txt"]


def test_nothing_to_keep_writes_nothing(folder):
    with pytest.raises(InputError, match=r"of 1 questions none has a document in --evidence_dir that answers it"):
        trivia_qa_to_squad.run(config(folder, evidence_dir=folder / "out"))
    (folder / "qa.json").write_text("{")
    with pytest.raises(InputError, match=r"qa\.json: not valid JSON"):
        trivia_qa_to_squad.run(config(folder))
    assert not (folder / "out").exists()
