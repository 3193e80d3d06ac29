import gzip
import json
import os
import subprocess
import sys
from itertools import product

import pytest

from bert_tf.config import BuildVocabConfig
from bert_tf.errors import InputError
from bert_tf.text.wordpiece import WordPieceTokenizer
from bert_tf.workflows import build_vocab, corpus_pass
from tests.conftest import ROOT, SHARED, needs_shared

SAMPLE = "The cat sat on the mat.\nThe mat was flat.\n\nA cat ran; the rat ran.\n"


def learn(tmp_path, text: str | bytes = SAMPLE, **changes):
    source = tmp_path / "text.txt"
    source.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    values = dict(input_file=str(source), output_file=str(tmp_path / "vocab.txt"), vocab_size=45)
    return build_vocab.run(BuildVocabConfig(**(values | changes)))


def test_writes_the_vocabulary_it_returns(tmp_path, capsys):
    vocab = learn(tmp_path)
    assert (tmp_path / "vocab.txt").read_text(encoding="utf-8").split("\n") == [*vocab.pieces, ""]
    assert vocab.pieces[:5] == ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    tokenizer = WordPieceTokenizer(vocab, do_lower_case=True)
    assert vocab.unk_id not in tokenizer.encode(SAMPLE)
    assert len(tokenizer.encode("the cat")) == 2
    assert "20 words, 12 different" in capsys.readouterr().out


def test_casing_and_unused_slots(tmp_path):
    cased = learn(tmp_path, do_lower_case=False, num_unused=3, vocab_size=60)
    assert cased.pieces[:5] == ("[PAD]", "[unused0]", "[unused1]", "[unused2]", "[UNK]")
    assert "T" in cased and "The" in cased
    assert not any(character.isupper() for piece in learn(tmp_path).pieces[5:] for character in piece)


def test_says_how_many_were_found_where_the_text_has_no_more(tmp_path, caplog):
    vocab = learn(tmp_path, vocab_size=1000)
    assert len(vocab) < 1000
    assert f"found {len(vocab)} pieces, not 1000" in caplog.text


def test_many_and_packed_files_count_as_one(tmp_path):
    for number, line in enumerate(SAMPLE.splitlines()):
        (tmp_path / f"part{number}.gz").write_bytes(gzip.compress(line.encode()))
    assert learn(tmp_path, input_file=f"{tmp_path}/part*.gz").pieces == learn(tmp_path).pieces


def test_json_lines_are_read_by_their_field(tmp_path):
    lines = "".join(json.dumps({"id": 7, "body": line}) + "\n" for line in SAMPLE.splitlines())
    (tmp_path / "sample.jsonl").write_text(lines)
    found = learn(tmp_path, input_file=str(tmp_path / "sample.jsonl"), text_field="body")
    assert found.pieces == learn(tmp_path).pieces


@pytest.mark.parametrize("block_bytes", [1, 20, 1 << 20])
def test_any_number_of_processes_and_size_of_blocks_gives_the_same_bytes(tmp_path, monkeypatch, block_bytes):
    expected = learn(tmp_path).pieces
    monkeypatch.setattr(corpus_pass, "WORTH_PROCESSES_BYTES", 0)
    monkeypatch.setattr(corpus_pass, "BLOCK_BYTES", block_bytes)
    assert learn(tmp_path, num_processes=2).pieces == expected


def test_words_beyond_what_memory_holds_are_told(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(corpus_pass, "MOST_WORDS", 6)
    caplog.set_level("INFO", logger="absl")
    vocab = learn(tmp_path, vocab_size=100)
    assert "the" in vocab and "flat" not in vocab
    assert "too rare to be kept in memory" in caplog.text


def test_equal_counts_give_equal_bytes_in_every_run(tmp_path):
    words = ["".join(letters) for letters in product("abe", "lmo", "st", "uv")][:30]
    assert len(words) == 30
    forward, backward = tmp_path / "forward.txt", tmp_path / "backward.txt"
    forward.write_text("\n".join(words * 10) + "\n")
    backward.write_text("\n".join((words * 10)[::-1]) + "\n")
    output = tmp_path / "vocab.txt"
    results = set()
    for source in (forward, backward):
        learn(tmp_path, input_file=str(source), vocab_size=60)
        results.add(output.read_bytes())
    # this process has a random hash seed, the next one another
    command = [sys.executable, "-m", "bert_tf.cli.build_vocab", f"--input_file={forward}", f"--output_file={output}", "--vocab_size=60"]
    subprocess.run(command, env=os.environ | {"PYTHONHASHSEED": "1"}, cwd=ROOT, check=True, capture_output=True)
    results.add(output.read_bytes())
    assert len(results) == 1
    assert results.pop().count(b"\n") == 60


@pytest.mark.parametrize(
    "text, changes, words",
    [
        ("", {}, r"text\.txt: no word found"),
        (" \n\n\u200b\n", {}, r"text\.txt: no word found"),
        (b"good\n\xff\n", {}, r"text\.txt, line 2: not UTF-8"),
        (SAMPLE, {"input_file": "absent-*.txt"}, r"--input_file: no file matches 'absent-\*\.txt'"),
        (SAMPLE, {"output_file": "a.txt,b.txt"}, r"--output_file: names 2 files"),
        (SAMPLE, {"output_file": "/dev/null/vocab.txt"}, r"--output_file: /dev/null/vocab\.txt cannot be written"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path, text, changes, words):
    with pytest.raises(InputError, match=words) as error:
        learn(tmp_path, text, **changes)
    assert "\n" not in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"vocab_size": 9}, "vocab_size is 9"),
        ({"min_count": 0}, "min_count is 0"),
        ({"character_coverage": 0.0}, "character_coverage is 0.0"),
        ({"num_unused": 45}, "num_unused is 45"),
    ],
)
def test_bad_flags_are_refused(tmp_path, changes, words):
    with pytest.raises(InputError, match=words):
        learn(tmp_path, **changes)


@needs_shared
def test_chinese_characters_stand_alone_and_need_no_inner_form(tmp_path):
    articles = json.loads((SHARED / "data" / "squad" / "xquad.zh.json").read_text(encoding="utf-8"))["data"]
    text = "\n".join(paragraph["context"] for article in articles for paragraph in article["paragraphs"])
    vocab = learn(tmp_path, text, vocab_size=4000)
    chinese = [piece for piece in vocab.pieces if any("\u4e00" <= character <= "\u9fff" for character in piece)]
    assert len(chinese) > 1000
    assert not any(piece.startswith("##") for piece in chinese)
    assert vocab.unk_id not in WordPieceTokenizer(vocab, do_lower_case=True).encode(text)
