"""Files with a token a line: sentences, documents, columns, and what is refused."""

from collections import Counter

import pytest

from bert_tf.errors import InputError
from bert_tf.tasks.entities import entities
from bert_tf.tasks.rows import parse_rows
from bert_tf.tasks.spec import DEV, TEST, TRAIN, Row
from bert_tf.tasks.table import find_task
from tests.conftest import SHARED, needs_shared

CONLL = find_task("conll2003")
# two documents of one sentence each, the last line without an end
DOCUMENTS = "-DOCSTART- -X- -X- O\n\nAnna NNP B I-PER\nsleeps VBZ B O\n\n-DOCSTART- -X- -X- O\n\nBerlin NNP B I-LOC"


def rows(text, split=TRAIN):
    return list(parse_rows([line.removesuffix("\r") for line in text.split("\n")], CONLL, split, "eng.train"))


@pytest.mark.parametrize(
    "text", [DOCUMENTS, DOCUMENTS.replace("\n", "\r\n"), DOCUMENTS.replace("\n\n", "\n\n\n\n"), DOCUMENTS + "\n\n", DOCUMENTS + "\n \t\n"]
)
def test_no_sentence_is_lost_or_empty(text):
    found = rows(text)
    assert [(row.id, row.texts, row.label, row.document) for row in found] == [
        ("0", ("Anna", "sleeps"), ("B-PER", "O"), 0),
        ("1", ("Berlin",), ("B-LOC",), 1),
    ]


def test_a_document_may_begin_without_a_blank_line():
    assert [row.document for row in rows("a X X O\n-DOCSTART- O\nb X X O\n-DOCSTART- O\nc X X O")] == [None, 0, 1]


def test_a_file_without_documents_says_nothing_of_them():
    assert rows("a X X O\n\nb X X I-PER\nc X X B-PER") == [
        Row("0", ("a",), ("O",), "eng.train, line 1"),
        Row("1", ("b", "c"), ("B-PER", "B-PER"), "eng.train, line 3"),
    ]


def test_tags_of_a_test_file_are_never_read():
    assert [row.label for row in rows("a X X pink\n\nb X X -", TEST)] == [None, None]
    assert [row.texts for row in rows("a\nb\n\nc", TEST)] == [("a", "b"), ("c",)]


def test_columns_are_cut_at_spaces_and_tabs_alone():
    (row,) = rows("a\u00a0b\tX  X \t O\n\u2028 X X O \n\u200b X X I-PER")
    assert row.texts == ("a\u00a0b", "\u2028", "\u200b") and row.label == ("O", "O", "B-PER")


@pytest.mark.parametrize(
    "text, message",
    [
        ("a X X O\nb X O", "eng.train, line 2: has 3 columns where the lines before have 4; mend the line"),
        ("a X X O\n\n\nb b X X O", "eng.train, line 4: has 5 columns where the lines before have 4; mend the line"),
        ("a O\nb O", "eng.train, line 1: has 2 columns, so there is none of number 4; check --task_name and --data_dir"),
        (
            "a X X O\nb X X I-FOO\nc X X O",
            "eng.train, line 2: tag 'I-FOO' is not one of O, B-PER, .*, I-MISC; mend the file or --task_name",
        ),
        ("", "eng.train: has no sentences; it should hold the train rows of conll2003, a token a line"),
        ("-DOCSTART- -X- O O\n\n\n", "eng.train: has no sentences"),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        rows(text)


@needs_shared
@pytest.mark.parametrize(
    "name, tokens, documents, expected",
    [
        # published with the corpus (Tjong Kim Sang and De Meulder, 2003, tables 1 and 2)
        ("eng.train", 203621, 946, {"LOC": 7140, "MISC": 3438, "ORG": 6321, "PER": 6600}),
        ("eng.testa", 51362, 216, {"LOC": 1837, "MISC": 922, "ORG": 1341, "PER": 1842}),
    ],
)
def test_the_corpus_has_its_published_size(name, tokens, documents, expected):
    lines = (SHARED / "data" / "conll2003" / name).read_text(encoding="utf-8").split("\n")
    found = list(parse_rows(lines, CONLL, DEV, name))
    assert sum(len(row.texts) for row in found) == tokens
    assert len({row.document for row in found}) == documents
    assert Counter(type for *_, type in entities([row.label for row in found])) == expected
