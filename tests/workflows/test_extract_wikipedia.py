"""Dumps -> documents: the file that comes out, whoever works on it; and what is refused."""

import os
import signal
import subprocess
import sys
import time

import pytest

from bert_tf.config import ExtractWikipediaConfig
from bert_tf.errors import InputError
from bert_tf.pretraining.documents import split_documents
from bert_tf.workflows import extract_wikipedia
from tests.conftest import ROOT, SHARED, needs_shared
from tests.data.test_wikipedia_dump import dump, page

pytest.importorskip("mwparserfromhell", reason="needs the extra bert_tf[wikipedia]")
pytest.importorskip("sentencex", reason="needs the extra bert_tf[sentences]")


def config_of(folder, name="*.xml", **changes):
    values = dict(input_file=str(folder / name), output_file=str(folder / "out.txt"), num_processes=1)
    return ExtractWikipediaConfig(**(values | changes))


def test_documents_of_several_dumps(tmp_path, capsys):
    (tmp_path / "a.xml").write_text(dump(page("A", "'''One''' z. B. two. Three."), page("L", "* list")))
    (tmp_path / "b.xml").write_text(dump(page("B", "Four."), page("C", "#", more='<redirect title="A" />')))
    counts = extract_wikipedia.run(config_of(tmp_path))
    assert (tmp_path / "out.txt").read_text() == "One z. B. two.\nThree.\n\nFour.\n"
    assert counts == {"articles": 3, "documents": 2, "sentences": 3}
    assert "3 articles" in capsys.readouterr().out
    extract_wikipedia.run(config_of(tmp_path, titles=True))
    assert (tmp_path / "out.txt").read_text() == "A\nOne z. B. two.\nThree.\n\nB\nFour.\n"


def test_the_bytes_do_not_depend_on_the_processes(tmp_path, monkeypatch):
    monkeypatch.setattr(extract_wikipedia, "_BLOCK_CHARACTERS", 100)
    (tmp_path / "a.xml").write_text(dump(*(page(str(n), f"Text number {n}. And a [[link]]." * (n % 5)) for n in range(100))))
    texts = []
    for number in (1, 2):
        assert extract_wikipedia.run(config_of(tmp_path, num_processes=number))["documents"] == 80
        texts.append((tmp_path / "out.txt").read_bytes())
    assert texts[0] == texts[1]
    assert len(list(split_documents(texts[0].decode().split("\n")))) == 80


@pytest.mark.parametrize(
    "content, changes, message",
    [
        ("Text.", {}, r"a\.xml: is no XML"),
        (dump(page("A", "Text."))[:-20], {}, r"a\.xml: damaged or cut XML"),
        (dump(page("A", "* list")), {}, r"no article with a sentence found"),
        (dump(page("A", "Text."), site="", attributes=""), {}, r"a\.xml: does not tell its language; give --language"),
        (dump(page("A", "Text.")), dict(output_file="x.txt,y.txt"), r"--output_file: names 2 files"),
        (dump(page("A", "Text.")), dict(input_file="nowhere.xml"), r"--input_file: no file matches"),
    ],
)
def test_mistakes_are_one_line_and_nothing_is_written(tmp_path, content, changes, message):
    (tmp_path / "a.xml").write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        extract_wikipedia.run(config_of(tmp_path, **changes))
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == ["a.xml"]


def test_a_killed_run_leaves_no_output_and_the_next_one_tidies_up(tmp_path):
    (tmp_path / "a.xml").write_text(dump(*(page(str(n), "A sentence of some length. " * 400) for n in range(1500))))
    (tmp_path / "out.txt").write_text("an earlier run's\n")
    arguments = [sys.executable, "-m", "bert_tf.cli.extract_wikipedia", f"--input_file={tmp_path}/a.xml"]
    arguments += [f"--output_file={tmp_path}/out.txt", "--num_processes=2"]
    process = subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 100
    while not any("partial" in name for name in os.listdir(tmp_path)) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "it ended before it could be killed"
    assert (tmp_path / "out.txt").read_text() == "an earlier run's\n"
    (tmp_path / "a.xml").write_text(dump(page("A", "Text.")))
    extract_wikipedia.run(config_of(tmp_path))
    assert sorted(os.listdir(tmp_path)) == ["a.xml", "out.txt"]


@needs_shared
def test_a_real_dump_reads_well(tmp_path):
    (path,) = (SHARED / "data" / "corpus").glob("bgwiki-*")
    counts = extract_wikipedia.run(config_of(path.parent, path.name, output_file=str(tmp_path / "out.txt")))
    text = (tmp_path / "out.txt").read_text()
    assert counts == {"articles": 1, "documents": 1, "sentences": 45}
    assert not set("[]{}|<>=*#") & set(text) and "''" not in text and "  " not in text
    assert all(line[-1] in ".:“" for line in text.splitlines())
    assert "Годините в нея се бележат със „сл.Хр.“ (след Христа) или с „н.е.“ (от новата ера), или са без такова уточнение.\n" in text
