"""What create_pretraining_data refuses, and what it warns of."""

import dataclasses
import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from bert_tf.data.manifest import read_manifest
from bert_tf.errors import InputError
from bert_tf.workflows import create_pretraining_data
from tests.conftest import ROOT
from tests.workflows.corpus import SPECIALS, config_of, write_corpus


def test_a_mistake_is_one_line_and_exit_code_1(tmp_path):
    write_corpus(tmp_path, 1, 3)
    command = [sys.executable, "-m", "bert_tf.cli.create_pretraining_data"]
    flags = [
        f"--{name}={tmp_path / file}" for name, file in (("input_file", "text.txt"), ("output_file", "out"), ("vocab_file", "vocab.txt"))
    ]
    done = subprocess.run(command + flags, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert "text.txt" in line and "--use_nsp=false" in line
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "text, changes, words",
    [
        ("", {}, r"text\.txt: no sentence found"),
        ("\n \n\u200b\n", {}, r"text\.txt: no sentence found"),
        ("a b.\nc d.\n", {}, r"text\.txt: one document only.*--use_nsp=false"),
        (b"a b.\n\nc \xff d.\n", {}, r"text\.txt, line 3: not UTF-8"),
        (gzip.compress(b"a\n\nb\n", mtime=0)[:-3], {}, r"text\.txt: cut gzip file"),
        ("a b.\n\nc d.\n", {"input_file": "absent.txt"}, r"--input_file: no file matches 'absent\.txt'"),
        ("a b.\n\nc d.\n", {"vocab_file": "absent.txt"}, r"absent\.txt"),
        ("a b.\n\nc d.\n", {"output_file": "/dev/null/out"}, r"--output_file: /dev/null/out cannot be written"),
        (
            "a b.\n\nc d.\n",
            {"output_file": ",".join(f"out{number}" for number in range(9))},
            r"--output_file: names 9 files for \d examples",
        ),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path, monkeypatch, text, changes, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    (tmp_path / "vocab.txt").write_text("\n".join([*SPECIALS, *"abcd."]) + "\n")
    with pytest.raises(InputError, match=words) as error:
        create_pretraining_data.run(config_of(tmp_path, **changes))
    assert "\n" not in str(error.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.txt", "vocab.txt"]


def test_the_beam_engine_without_beam_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "apache_beam", None)
    config = write_corpus(tmp_path, 3, 3)
    with pytest.raises(InputError, match=r"engine is beam, but apache-beam cannot be loaded .*pip install 'bert_tf\[beam\]'"):
        create_pretraining_data.run(config_of(tmp_path, engine="beam", beam_args="--runner=FnApiRunner"))
    assert not (tmp_path / "out.tfrecord").exists() and config.engine == "local"


def test_a_manifest_writes_over_no_input_and_no_output(tmp_path):
    config = write_corpus(tmp_path, 3, 3)
    text = tmp_path / "a.tfrecord.manifest.json"
    text.write_bytes(Path(config.input_file).read_bytes())
    with pytest.raises(InputError, match=r"a\.tfrecord\.manifest\.json is an input file as well"):
        create_pretraining_data.run(dataclasses.replace(config, input_file=str(text), output_file=str(tmp_path / "a.tfrecord")))
    assert text.read_bytes() == Path(config.input_file).read_bytes()
    both = f"{tmp_path}/b.tfrecord,{tmp_path}/b.tfrecord.manifest.json"
    with pytest.raises(InputError, match=r"names .*b\.tfrecord\.manifest\.json twice"):
        create_pretraining_data.run(dataclasses.replace(config, output_file=both))


def test_vocabulary_without_mask_is_refused(tmp_path):
    config = write_corpus(tmp_path, 3, 3)
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n")
    with pytest.raises(InputError, match=r"vocab\.txt.*\[MASK\]"):
        create_pretraining_data.run(config)


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"max_seq_length": 4}, "max_seq_length is 4"),
        ({"max_predictions_per_seq": 0}, "max_predictions_per_seq is 0"),
        ({"dupe_factor": 0}, "dupe_factor is 0"),
        ({"masked_lm_prob": 0.0}, "masked_lm_prob is 0.0"),
        ({"short_seq_prob": 1.5}, "short_seq_prob is 1.5"),
        ({"num_processes": 0}, "num_processes is 0"),
        ({"memory_per_process_mb": 0}, "memory_per_process_mb is 0"),
        ({"work_dir": "gs://bucket/work"}, "work_dir is gs://bucket/work; give a folder on this machine"),
        ({"mask_mix": "0.8,0.1"}, "mask_mix is '0.8,0.1'"),
        ({"mask_mix": "0.8,0.1,0.2"}, "mask_mix is '0.8,0.1,0.2'"),
    ],
)
def test_bad_flags_are_refused(tmp_path, changes, words):
    with pytest.raises(InputError, match=words):
        config_of(tmp_path, **changes)


def test_old_records_lose_their_manifest_before_new_ones_come(tmp_path, monkeypatch):
    config = write_corpus(tmp_path, 10, 10)
    create_pretraining_data.run(config)

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(create_pretraining_data, "write_manifests", fail)
    with pytest.raises(KeyboardInterrupt):
        create_pretraining_data.run(config_of(tmp_path, max_seq_length=9))
    assert read_manifest(config.output_file) is None


def warnings_of(caplog, tmp_path, text: str, vocab: list[str], **changes) -> str:
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    (tmp_path / "vocab.txt").write_text("\n".join(SPECIALS + vocab) + "\n", encoding="utf-8")
    create_pretraining_data.run(config_of(tmp_path, **changes))
    return caplog.text


def test_warns_of_unknown_pieces(caplog, tmp_path):
    assert r"20 % of the text's pieces are [UNK]" in warnings_of(caplog, tmp_path, "a b c d x\n\na b c d y\n", list("abcd"))


def test_warns_of_whole_words_in_chinese(caplog, tmp_path):
    text = "使用语言模型\n来预测\n\n下一个词的\n概率\n"
    assert "do_whole_word_mask changes nothing" in warnings_of(
        caplog, tmp_path, text, list(text.replace("\n", "")), do_whole_word_mask=True
    )


def test_warns_of_one_sentence_documents(caplog, tmp_path):
    assert "100 % of the next sentences are random" in warnings_of(caplog, tmp_path, "a b\n\nc d\n\na d\n", list("abcd"))


def test_warns_of_an_empty_file_among_others(caplog, tmp_path):
    (tmp_path / "text2.txt").write_text("")
    assert "text2.txt holds no sentence" in warnings_of(caplog, tmp_path, "a b\n\nc d\n", list("abcd"), input_file=f"{tmp_path}/text*.txt")


@pytest.mark.parametrize("most, words", [(20, "the rest is padding"), (1, "of a full example 5.3 % will be masked")])
def test_warns_of_predictions_that_make_no_sense(caplog, tmp_path, most, words):
    assert words in warnings_of(caplog, tmp_path, "a b\na\n\nc d\nd\n", list("abcd"), max_predictions_per_seq=most)


def test_plain_text_gives_no_warning(caplog, tmp_path):
    text = "\n".join("a b c d\nb a d\nc d a b\n" for _ in range(20))
    assert warnings_of(caplog, tmp_path, text, list("abcd")) == ""
