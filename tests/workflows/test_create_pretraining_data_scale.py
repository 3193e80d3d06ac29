"""create_pretraining_data with many blocks and parts: any number of processes, killed or not, writes the same bytes."""

import gzip
import json
import lzma
import os
from collections import Counter

import numpy as np
import pytest
import tensorflow as tf
from scipy.stats import chisquare

from bert_tf.data.manifest import read_manifest
from bert_tf.data.records import RecordFile
from bert_tf.data.workers import run_in_order
from bert_tf.errors import InputError, WorkerDied
from bert_tf.workflows import create_pretraining_data, pretraining_records, pretraining_text
from tests.workflows.corpus import SPECIALS, config_of, sentence_words, write_corpus
from tests.workflows.test_create_pretraining_data import P_VALUE, parse, restored_ids, split_pair


@pytest.fixture
def many_parts(tmp_path, monkeypatch):
    """A corpus of six blocks whose examples come in eleven parts, and workers for it however small it is."""
    monkeypatch.setattr(pretraining_text, "WORTH_PROCESSES_BYTES", 0)
    write_corpus(tmp_path, 150, 60)
    return lambda **changes: config_of(tmp_path, **({"dupe_factor": 5, "memory_per_process_mb": 1, "num_processes": 1} | changes))


NUM_BLOCKS, NUM_PARTS = 6, 11


def contents(outputs: str) -> list[bytes]:
    found = []
    for path in outputs.split(","):
        with open(path, "rb") as file:
            found.append(file.read())
    return found


def left(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.endswith((".work", "lock")) or "partial" in path.name)


def test_the_same_bytes_for_any_number_of_processes(many_parts, tmp_path, capfd):
    found = {}
    for number in (1, 3):
        outputs = ",".join(str(tmp_path / f"{number}-{shard}") for shard in range(4))
        content = create_pretraining_data.run(many_parts(output_file=outputs, num_processes=number))
        found[number] = contents(outputs), content["counts"], content["observed"]
        assert [read_manifest(path).content["counts"] for path in outputs.split(",")] == [content["counts"]] * 4
    assert found[1] == found[3]
    assert found[1][1]["documents"] == 150 and found[1][1]["tokens"] == 150 * 60 * 4
    assert left(tmp_path) == []
    told = capfd.readouterr().err
    assert "Traceback" not in told and "oneDNN" not in told


@pytest.mark.parametrize("compress", [False, True])
def test_parts_go_round_the_files_as_one_stream(many_parts, tmp_path, compress):
    create_pretraining_data.run(many_parts(output_file=str(tmp_path / "whole")))
    outputs = [str(tmp_path / f"shard{number}") for number in range(3)]
    create_pretraining_data.run(many_parts(output_file=",".join(outputs), compress=compress))
    whole = RecordFile(str(tmp_path / "whole"))
    records = whole.read(np.arange(len(whole)))
    for number, path in enumerate(outputs):
        shard = RecordFile(path)
        assert shard.read(np.arange(len(shard))) == records[number::3]
        assert read_manifest(path).num_examples == len(shard)
        by_tensorflow = tf.data.TFRecordDataset(path, compression_type="GZIP" if compress else "")
        assert list(by_tensorflow.as_numpy_iterator()) == records[number::3]


def test_every_part_has_text_of_the_whole_corpus_and_random_text_comes_from_all_of_it(many_parts, tmp_path):
    config = many_parts()
    content = create_pretraining_data.run(config)
    examples = parse(config.output_file, 19, 5)
    ids = restored_ids(examples)
    pairs = [split_pair(*row) for row in zip(ids, examples["input_mask"], examples["segment_ids"])]
    documents = np.array([[(side[0] - len(SPECIALS)) // 240 for side in pair] for pair in pairs])
    random_next = examples["next_sentence_labels"][:, 0] == 1
    assert chisquare([random_next.sum(), (~random_next).sum()]).pvalue > P_VALUE
    assert (documents[~random_next, 0] == documents[~random_next, 1]).all()
    distance = Counter(((documents[random_next, 1] - documents[random_next, 0]) % 150).tolist())
    assert sorted(distance) == list(range(1, 150))
    assert chisquare(list(distance.values())).pvalue > P_VALUE
    first = documents[: len(documents) // NUM_PARTS, 0]  # about a part
    assert len(set(first.tolist())) > 50
    assert content["observed"]["random_next_share"] == pytest.approx(random_next.mean(), abs=1e-6)


def stop_after(monkeypatch, owner, name, count):
    """Makes the method raise KeyboardInterrupt instead of its call number `count`."""
    calls, real = [], getattr(owner, name)

    def limited(*arguments, **named):
        if len(calls) == count:
            raise KeyboardInterrupt
        calls.append(1)
        return real(*arguments, **named)

    monkeypatch.setattr(owner, name, limited)


@pytest.mark.parametrize(
    ("owner", "name", "count"),
    [
        (pretraining_text.SpoolWriter, "add", 0),
        (pretraining_text.SpoolWriter, "add", 3),
        (pretraining_text.SpoolWriter, "finish", 0),
        (pretraining_records.RecordsFolder, "add", 0),
        (pretraining_records.RecordsFolder, "add", 4),
        (pretraining_records, "move_into_place", 0),
        (pretraining_records, "move_into_place", 1),
        (create_pretraining_data, "write_manifests", 0),
    ],
)
def test_a_stopped_run_goes_on_where_it_was(many_parts, tmp_path, monkeypatch, owner, name, count):
    outputs = [",".join(str(tmp_path / f"{run}{shard}") for shard in "012") for run in ("unbroken", "broken")]
    create_pretraining_data.run(many_parts(output_file=outputs[0]))
    config = many_parts(output_file=outputs[1])
    with monkeypatch.context() as patch:
        stop_after(patch, owner, name, count)
        with pytest.raises(KeyboardInterrupt):
            create_pretraining_data.run(config)
    if name != "write_manifests":
        assert sum(os.path.exists(path) for path in outputs[1].split(",")) == (count if name == "move_into_place" else 0)
        assert not os.path.exists(outputs[1].split(",")[2])
    done = Counter()
    for module in (pretraining_text, pretraining_records):
        monkeypatch.setattr(module, "run_in_order", lambda *arguments: count_results(done, *arguments))
    create_pretraining_data.run(config)
    assert contents(outputs[1]) == contents(outputs[0])
    assert left(tmp_path) == []
    blocks, parts = done["BlockTokenizer"], done["open"]
    if name in ("add", "finish") and owner is pretraining_text.SpoolWriter:
        assert (blocks, parts) == (0 if name == "finish" else NUM_BLOCKS - count, NUM_PARTS)
    else:
        assert (blocks, parts) == (0, NUM_PARTS - count if name == "add" else 0)


def count_results(done: Counter, make_job, *arguments):
    for result in run_in_order(make_job, *arguments):
        done[make_job.__name__] += 1
        yield result


def test_other_flags_use_the_text_again_but_not_the_parts(many_parts, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stop_after(patch, pretraining_records.RecordsFolder, "add", 4)
        with pytest.raises(KeyboardInterrupt):
            create_pretraining_data.run(many_parts())
    done = Counter()
    for module in (pretraining_text, pretraining_records):
        monkeypatch.setattr(module, "run_in_order", lambda *arguments: count_results(done, *arguments))
    other = many_parts(masked_lm_prob=0.3)
    create_pretraining_data.run(other)
    assert done == {"open": NUM_PARTS}
    found = contents(other.output_file)
    create_pretraining_data.run(other)
    assert contents(other.output_file) == found


def test_changed_text_is_tokenized_anew(many_parts, tmp_path, monkeypatch):
    config = many_parts()
    with monkeypatch.context() as patch:
        stop_after(patch, pretraining_records.RecordsFolder, "add", 3)
        with pytest.raises(KeyboardInterrupt):
            create_pretraining_data.run(config)
    with open(config.input_file, "a", encoding="utf-8") as file:
        file.write("\n" + " ".join(sentence_words(3, 3)) + "\n")
    assert create_pretraining_data.run(config)["counts"]["documents"] == 151


def test_a_worker_that_dies_leaves_what_is_done(many_parts, tmp_path, monkeypatch):
    config = many_parts()

    def dies(*arguments):
        yield next(run_in_order(*arguments))
        raise WorkerDied("a worker process died")

    with monkeypatch.context() as patch:
        patch.setattr(pretraining_records, "run_in_order", dies)
        with pytest.raises(InputError, match="died"):
            create_pretraining_data.run(config)
    assert left(tmp_path) == ["out.tfrecord.work"]
    create_pretraining_data.run(config)
    assert left(tmp_path) == []


def test_two_runs_at_once_are_refused(many_parts, tmp_path, monkeypatch):
    config = many_parts()

    def second(*_):
        with pytest.raises(InputError, match=r"out\.tfrecord\.work: another run is making these records"):
            create_pretraining_data.run(config)
        assert left(tmp_path) == ["out.tfrecord.work"]
        raise KeyboardInterrupt

    monkeypatch.setattr(create_pretraining_data, "fill_spool", second)
    with pytest.raises(KeyboardInterrupt):
        create_pretraining_data.run(config)


def test_the_work_folder_can_be_elsewhere(many_parts, tmp_path, monkeypatch):
    config = many_parts(work_dir=str(tmp_path / "scratch"), output_file=str(tmp_path / "made" / "out.tfrecord"))
    with monkeypatch.context() as patch:
        stop_after(patch, pretraining_records.RecordsFolder, "add", 2)
        with pytest.raises(KeyboardInterrupt):
            create_pretraining_data.run(config)
    assert [path.name for path in (tmp_path / "scratch").iterdir()] == ["out.tfrecord.work"]
    assert not (tmp_path / "made").exists()
    create_pretraining_data.run(config)
    assert list((tmp_path / "scratch").iterdir()) == []
    assert len(RecordFile(config.output_file)) > 1000


def test_text_of_every_form_gives_the_same_bytes(tmp_path):
    config = write_corpus(tmp_path, 12, 9)
    create_pretraining_data.run(config)
    expected = contents(config.output_file)
    text = (tmp_path / "text.txt").read_bytes()
    documents = text.decode().strip().split("\n\n")
    rows = "".join(json.dumps({"id": number, "body": document}) + "\n" for number, document in enumerate(documents)).encode()
    forms = {
        "a.xz": lzma.compress(text),
        "a.txt.gz": gzip.compress(text),
        "a.jsonl": rows,
        "a.jsonl.xz": lzma.compress(rows),
        "b.txt": rows,
    }
    for name, content in forms.items():
        (tmp_path / name).write_bytes(content)
        more = {"input_format": "jsonl"} if name == "b.txt" else {}
        create_pretraining_data.run(config_of(tmp_path, input_file=str(tmp_path / name), text_field="body", **more))
        assert contents(config.output_file) == expected, name


def test_one_long_document_is_made_in_parts(tmp_path):
    write_corpus(tmp_path, 1, 9000)
    config = config_of(tmp_path, use_nsp=False, dupe_factor=2, memory_per_process_mb=1, num_processes=1)
    assert create_pretraining_data.run(config)["counts"]["documents"] == 1
    examples = parse(config.output_file, 19, 5)
    seen = Counter(restored_ids(examples)[examples["input_mask"] == 1].tolist())
    assert all(seen[id] == 2 for id in range(len(SPECIALS), len(SPECIALS) + 36_000))


def test_files_may_lie_elsewhere(tmp_path):
    """TensorFlow's file system in memory stands for object stores: no local path, no link, no rename over folders."""
    config = write_corpus(tmp_path, 12, 9)
    create_pretraining_data.run(config)
    tf.io.gfile.makedirs("ram://text")
    tf.io.gfile.copy(config.input_file, "ram://text/a.txt", overwrite=True)
    outputs = ["ram://made/0.tfrecord", "ram://made/1.tfrecord"]
    remote = config_of(tmp_path, input_file="ram://text/*.txt", output_file=",".join(outputs), work_dir=str(tmp_path / "scratch"))
    create_pretraining_data.run(remote)
    whole, shards = RecordFile(config.output_file), list(map(RecordFile, outputs))
    for number, shard in enumerate(shards):
        assert shard.read(np.arange(len(shard))) == whole.read(np.arange(len(whole)))[number::2]
        assert read_manifest(outputs[number]).num_examples == len(shard)
    assert sorted(tf.io.gfile.listdir("ram://made")) == [f"{n}.tfrecord{suffix}" for n in "01" for suffix in ("", ".manifest.json")]
    assert list((tmp_path / "scratch").iterdir()) == []
