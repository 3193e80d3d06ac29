"""The figures of vocab_coverage, through its workflow and its command."""

import bz2
import json
import os
import subprocess
import sys

import pytest

from bert_tf.config import VocabCoverageConfig
from bert_tf.errors import InputError
from bert_tf.workflows import corpus_pass, vocab_coverage
from tests.conftest import ROOT, SHARED, needs_shared

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s"]


@pytest.fixture
def vocab_file(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{piece}\n" for piece in PIECES))
    return str(path)


def test_one_json_line_for_all_files_and_each(tmp_path, vocab_file):
    (tmp_path / "a.txt.bz2").write_bytes(bz2.compress(b"The cats.\n\n"))
    (tmp_path / "b.jsonl").write_text('{"text": "the 😀 😀"}\n', encoding="utf-8")
    (tmp_path / "c.txt").write_text("")
    names = [str(tmp_path / name) for name in ("a.txt.bz2", "b.jsonl", "c.txt")]
    command = [sys.executable, "-m", "bert_tf.cli.vocab_coverage", f"--input_file={','.join(names)}", f"--vocab_file={vocab_file}"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True)
    figures = json.loads(done.stdout)
    assert (figures["words"], figures["unk_word_rate"], figures["unknown_words"]) == (6, 0.5, {"😀": 2, ".": 1})
    first, second, empty = (figures["files"][name] for name in names)
    assert first == {
        **{"words": 3, "unk_word_rate": 0.333333, "pieces_per_word": 1.333333, "whole_word_rate": 0.333333},
        "unknown_words": {".": 1},
    }
    assert second["words"] == 3 and second["unknown_words"] == {"😀": 2}
    assert empty["words"] == 0 and empty["unk_word_rate"] is None


@needs_shared
def test_two_processes_say_what_one_says(monkeypatch):
    monkeypatch.setattr(corpus_pass, "WORTH_PROCESSES_BYTES", 0)
    monkeypatch.setattr(corpus_pass, "BLOCK_BYTES", 1 << 20)
    text, vocab = (str(SHARED / "data" / name) for name in ("corpus/books.heldout.txt", "vocab/uncased_vocab.txt"))
    one, two = (vocab_coverage.run(VocabCoverageConfig(input_file=text, vocab_file=vocab, num_processes=n)) for n in (1, 2))
    assert one == two and one["words"] > 400_000


def test_text_without_words_is_an_error(tmp_path, vocab_file):
    (tmp_path / "empty.txt").write_text("\n \n")
    with pytest.raises(InputError, match=r"no word found"):
        vocab_coverage.run(VocabCoverageConfig(input_file=str(tmp_path / "empty.txt"), vocab_file=vocab_file))
