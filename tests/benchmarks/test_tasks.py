"""The driver of the results table on invented rows: killed, started again, and started once more when all is done."""

import csv
import itertools
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from bert_tf.config import BertConfig
from bert_tf.workflows import pretrain
from tests.conftest import ROOT
from tests.workflows.conftest import SAMPLE, pretrain_config

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="runs are killed")]


@pytest.fixture(scope="module")
def arguments(made, tmp_path_factory):
    """The driver's command line: a model with a layer, and rows of the sample as rows of RTE and MRPC."""
    folder = tmp_path_factory.mktemp("tasks")
    shape = dict(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, type_vocab_size=2)
    (folder / "bert_config.json").write_text(BertConfig(vocab_size=600, max_position_embeddings=128, **shape).to_json())
    changes = dict(bert_config_file=str(folder / "bert_config.json"), num_train_steps=2, num_warmup_steps=1)
    pretrain.run(pretrain_config(made, folder / "model", **changes))
    lines = [line.split("\t")[:2] for line in (SAMPLE / "train.tsv").read_text().splitlines()[1:]]
    for task, header, labels in (
        ("RTE", ["index", "sentence1", "sentence2", "label"], ("entailment", "not_entailment")),
        ("MRPC", ["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"], ("1", "0")),
    ):
        (place := folder / "data" / "glue" / task).mkdir(parents=True)
        pairs = enumerate(itertools.pairwise(lines))
        rows = [(str(number), first, second, labels[own != other]) for number, ((first, own), (second, other)) in pairs]
        rows = rows if task == "RTE" else [(label, n, n, first, second) for n, first, second, label in rows]
        for split, part in (("train", rows[:320]), ("dev", rows[320:400])):
            with open(place / f"{split}.tsv", "w", newline="") as file:
                csv.writer(file, delimiter="\t", quoting=csv.QUOTE_NONE, lineterminator="\n").writerows([header, *part])
    places = dict(data_dir=folder / "data", work_dir=folder / "work", init_checkpoint=folder / "model")
    return folder / "work", [*(f"--{name}={value}" for name, value in places.items()), "--only=rte,mrpc-random"]


def start(arguments):
    command = [sys.executable, "-m", "benchmarks.tasks", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_killed_driver_goes_on_and_a_finished_one_trains_nothing(arguments):
    work, flags = arguments
    process = start(flags)
    deadline = time.monotonic() + 300
    while not (under_way := list(work.glob("runs/rte/2_*/train.tf_record"))) and process.poll() is None:
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    assert under_way, process.communicate()[1]
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    first = (work / "runs/rte/1_seed-1.log").stat().st_mtime_ns
    again = start(flags)
    table, told = again.communicate(timeout=600)
    assert again.returncode == 0, told
    assert (work / "runs/rte/1_seed-1.log").stat().st_mtime_ns == first, "a finished run was run again"
    content = json.loads(table.splitlines()[-1])
    assert [(row["name"], row["seeds"]) for row in content["rows"]] == [("rte", [1, 2, 3]), ("mrpc-random", [1])]
    assert all(0 < score["mean"] <= 100 for row in content["rows"] for score in row["scores"].values())
    assert table.startswith((work / "tasks.md").read_text())
    last = start(flags)
    same, told = last.communicate(timeout=300)
    assert last.returncode == 0 and told.count("is finished") == 2, told
    assert json.loads(same.splitlines()[-1])["rows"] == content["rows"]


def test_what_cannot_be_done_is_one_line(arguments):
    _, flags = arguments
    missing = start([*flags[:-1], "--only=cola"])
    _, told = missing.communicate(timeout=300)
    assert missing.returncode == 1 and told.splitlines()[-1].startswith("error: ") and "CoLA/train.tsv" in told and "Traceback" not in told
    refused = start(["--only=imdb", *flags[:-1]])
    _, told = refused.communicate(timeout=300)
    assert refused.returncode == 1 and told.startswith("error: --only names imdb; give some of mrpc, cola, "), told
