"""Text of every form -> sentences with their documents."""

import pickle
import sys

import pytest

from bert_tf.data.block_tokenizer import BlockTokenizer
from bert_tf.data.text_blocks import TextBlock
from bert_tf.data.text_form import TextForm, json_sentences, text_sentences
from bert_tf.errors import InputError
from bert_tf.pretraining.documents import split_documents
from bert_tf.text.sentences import sentence_splitter
from tests.text.golden import vocabulary

VOCAB = vocabulary("a", "b", "##b", "\u4e00", ".")


def block(text: str, path="text.txt", first_line=1, ends_file=False) -> TextBlock:
    return TextBlock(path, first_line, text.encode("utf-8"), ends_file, len(text))


def test_sentences_are_the_documents_of_the_reference():
    lines = ["", " ", "a b.", "\tc.\r", "", "\u3000", "d.", "\x85", "e", "f"]
    placed, num_ends = text_sentences(lines)
    assert (placed, num_ends) == ([("a b.", 2), ("c.", 2), ("d.", 4), ("e", 5), ("f", 5)], 5)
    documents: dict[int, list[str]] = {}
    for sentence, document in placed:
        documents.setdefault(document, []).append(sentence)
    assert list(documents.values()) == list(split_documents(lines))


def test_ids_documents_and_counts():
    tokenizer = BlockTokenizer(VOCAB, True, TextForm())
    found = tokenizer(block("\ufeffA ab\n\u200b\nx \u4e00.\n\nb\n", ends_file=True))
    assert found.ids.tolist() == [5, 5, 7, 1, 8, 9, 6]
    assert found.lengths.tolist() == [3, 3, 1]
    assert (found.documents.tolist(), found.num_ends, found.num_counted) == ([0, 0, 1], 2, (1, 1))
    assert pickle.loads(pickle.dumps(found)).num_ends == 2


def test_an_empty_block():
    found = BlockTokenizer(VOCAB, True, TextForm())(block("", ends_file=True))
    assert (len(found.ids), len(found.lengths), found.num_ends) == (0, 0, 1)


@pytest.mark.parametrize(
    ("input_format", "path", "expected"),
    [
        ("auto", "a.jsonl", True),
        ("auto", "a.jsonl.gz", True),
        ("auto", "a.ndjson.zst", True),
        ("auto", "a.json.txt", False),
        ("auto", "jsonl", False),
        ("text", "a.jsonl", False),
        ("jsonl", "a.txt", True),
    ],
)
def test_json_lines_are_known_by_their_name_or_by_flag(input_format, path, expected):
    assert TextForm(input_format).is_json(path) == expected


def test_a_json_line_is_a_document():
    text = '{"text": "a b.\\n\\n  c. \\n"}\n\n{"text": " "}\n{"id": 1, "text": "d."}\n'
    assert json_sentences(block(text), "text") == ([("a b.", 0), ("c.", 0), ("d.", 2)], 3)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("not json", r"a.jsonl, line 12: not valid JSON"),
        ("[1]", r'a.jsonl, line 12: holds \[1\], no JSON object; give {"body": "..."}'),
        ('{"text": "a"}', r'a.jsonl, line 12: has no "body", only \["text"\]'),
        ('{"body": 7}', r"a.jsonl, line 12: body is 7, no string"),
    ],
)
def test_a_bad_json_line_is_named(line, message):
    form = TextForm(text_field="body")
    with pytest.raises(InputError, match=message):
        BlockTokenizer(VOCAB, True, form)(block('{"body": "a"}\n\n' + line + "\n", "a.jsonl", first_line=10))


def test_running_text_is_split_into_sentences():
    pytest.importorskip("sentencex", reason="needs the extra bert_tf[sentences]")
    text = "Mr. Smith left at 3.5 p.m. on Jan. 5. He said so!  Did he?\n\nYes."
    found = BlockTokenizer(VOCAB, True, TextForm(language="en"))(block(text))
    assert found.documents.tolist() == [0, 0, 0, 1]
    assert list(sentence_splitter("en")(text.split("\n")[0])) == ["Mr. Smith left at 3.5 p.m. on Jan. 5.", "He said so!", "Did he?"]


def test_without_the_library_its_name_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentencex", None)
    with pytest.raises(InputError, match=r"splitting sentences needs .* sentencex; install it, pip install 'bert_tf\[sentences\]'"):
        sentence_splitter("en")
