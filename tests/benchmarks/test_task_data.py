"""The benchmark's data sets: samples under the official columns, cuts, splits by article, and folders that are whole or not there."""

import json
import subprocess
import sys

import pytest

from benchmarks.tasks import data
from bert_tf.tasks.column_files import DOCUMENT_START
from tests.conftest import ROOT, SHARED, needs_shared

SAMPLE = {"7": {"text_a": "Is it\training?", "text_b": "It rains.", "label": "entailment"}}


@pytest.mark.parametrize(
    "name, places",
    # where google-research/bert's and GLUE's own readers look: both texts, then the label
    [("MNLI", (8, 9, -1)), ("QNLI", (1, 2, -1)), ("QQP", (3, 4, 5))],
)
def test_a_sample_stands_where_the_official_file_has_it(name, places):
    header, row = [line.split("\t") for line in data.sample_table(name, SAMPLE).splitlines()]
    assert [row[place] for place in places] == ["Is it raining?", "It rains.", "entailment"]
    assert row[0] == "7" and len(row) == len(header)


def test_sentences_are_counted_and_document_starts_are_not():
    text = f"{DOCUMENT_START} O\n\nA O\nb O\n\n{DOCUMENT_START} O\n\nC O\n\nD O\n"
    assert data.first_sentences(text, 2) == f"{DOCUMENT_START} O\n\nA O\nb O\n\n{DOCUMENT_START} O\n\nC O\n\n"
    assert data.first_sentences(text, 9) == text and data.first_sentences(text, None) == text


def test_questions_are_counted_over_contexts():
    content = {"version": "v", "data": [{"title": "t", "paragraphs": [{"context": "c", "qas": [1, 2]}, {"context": "d", "qas": [3, 4]}]}]}
    cut = data.first_questions(content, 3)
    assert [(paragraph["context"], paragraph["qas"]) for paragraph in cut["data"][0]["paragraphs"]] == [("c", [1, 2]), ("d", [3])]
    assert data.first_questions(content, 2)["data"][0]["paragraphs"] == [{"context": "c", "qas": [1, 2]}]
    assert data.first_questions(content, None) == content and cut["version"] == "v"


def test_a_folder_is_whole_or_not_there_and_made_once(tmp_path):
    source = tmp_path / "data" / "glue" / "RTE"
    source.mkdir(parents=True)
    (source / "train.tsv").write_text("header\none\ntwo\n")
    with pytest.raises(FileNotFoundError, match=r"dev\.tsv"):
        data.prepare("RTE", str(tmp_path / "data"), str(tmp_path / "made"))
    assert not (tmp_path / "made").exists()
    (source / "dev.tsv").write_text("header\nthree\n")
    place = data.prepare("RTE", str(tmp_path / "data"), str(tmp_path / "made"), 1)
    (source / "dev.tsv").unlink()
    assert data.prepare("RTE", str(tmp_path / "data"), str(tmp_path / "made"), 1) == place
    assert (tmp_path / "made" / "RTE" / "train.tsv").read_text() == "header\none\n"


@needs_shared
def test_every_data_set_is_made(tmp_path):
    counts = {}
    for name in data.MAKERS:
        data.prepare(name, str(SHARED / "data"), str(tmp_path))
        for file in (tmp_path / name).iterdir():
            text = file.read_text(encoding="utf-8")
            counts[f"{name}/{file.name}"] = text.count('"qas": ') if file.suffix == ".json" else text.count("\n")
    assert (counts["MRPC/train.tsv"], counts["MRPC/dev.tsv"]) == (3669, 409)
    assert (counts["QNLI/train.tsv"], counts["QNLI/dev.tsv"]) == (9000, 5464)
    assert (counts["MNLI/train.tsv"], counts["MNLI/dev_matched.tsv"]) == (9000, 1001)
    few = (tmp_path / "conll2003-5000" / "eng.train").read_text()
    sentences = [part for part in few.split("\n\n") if part.strip() and not part.startswith(DOCUMENT_START)]
    assert len(sentences) == data.FEW_SENTENCES
    assert (tmp_path / "conll2003" / "eng.train").read_text().startswith(few.rstrip())
    train, dev = ({a["title"] for a in json.loads((tmp_path / "squad2" / f"{n}.json").read_text())["data"]} for n in ("train", "dev"))
    assert (len(train), len(dev)) == (8, 2) and not train & dev


@needs_shared
def test_no_row_is_trained_and_evaluated_on(tmp_path):
    for name, texts in (("QNLI", (1, 2)), ("MNLI", (8, 9)), ("QQP", (3, 4))):
        place = tmp_path / name
        data.prepare(name, str(SHARED / "data"), str(tmp_path))
        train, dev = (
            {tuple(line.split("\t")[text] for text in texts) for line in (place / file).read_text().splitlines()[1:]}
            for file in ("train.tsv", "dev_matched.tsv" if name == "MNLI" else "dev.tsv")
        )
        assert not train & dev, name


def test_the_protocol_and_its_data_need_no_tensorflow():
    code = "import sys, benchmarks.tasks.table, benchmarks.tasks.data; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
