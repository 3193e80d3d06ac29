"""A sweep that is killed, or whose run is, each time started again: no finished run is run again, and all ends as unbroken."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bert_tf.training.checkpoints import checkpoint_steps
from bert_tf.workflows.eval_results import read_eval_results
from tests.conftest import ROOT
from tests.workflows.conftest import SAMPLE

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="child processes are looked up in /proc")]
NAMES = ["1_seed-12345", "2_seed-12346"]


def start(made, folder):
    arguments = [
        *(sys.executable, "-m", "bert_tf.cli.sweep", f"--output_dir={folder}", "--grid=", "--restarts=2", "--task_name=topic"),
        *(f"--data_dir={SAMPLE}", f"--vocab_file={made}/vocab.txt", f"--bert_config_file={made}/bert_config.json", "--deterministic"),
        *("--max_seq_length=32", "--train_batch_size=8", "--num_train_epochs=10", "--learning_rate=1e-3", "--save_checkpoints_steps=20"),
    ]
    return subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(condition, secs=180):
    deadline = time.monotonic() + secs
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def child_of(process):
    """Returns the process that a sweep's run is in."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(fields[1]) == process.pid:
            return int(path.parent.name)
    return None


def steps(folder, name):
    return checkpoint_steps(str(folder / name)) if (folder / name).is_dir() else []


@pytest.fixture(scope="module")
def unbroken(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken") / "s"
    assert start(made, folder).wait(timeout=600) == 0
    return [read_eval_results(str(folder / name)) for name in NAMES]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_same_command_goes_on(made, unbroken, tmp_path, number):
    folder = tmp_path / "s"
    process = start(made, folder)
    wait_for(lambda: steps(folder, NAMES[1]) or process.poll() is not None)
    first = (folder / f"{NAMES[0]}.log").stat().st_mtime_ns
    child = child_of(process)
    assert child is not None
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert process.returncode == {signal.SIGKILL: -9, signal.SIGTERM: 75, signal.SIGINT: 130}[number], told
    if number == signal.SIGKILL:  # its run ends too, by itself, with its state saved
        wait_for(lambda: not os.path.exists(f"/proc/{child}") or is_zombie(child), 60)
        assert "SIGTERM: saving a checkpoint" in (folder / f"{NAMES[1]}.log").read_text()
    assert [run["name"] for run in json.loads((folder / "sweep.json").read_text())["runs"]] == NAMES[:1]
    again = start(made, folder)
    _, told = again.communicate(timeout=600)
    assert again.returncode == 0, told
    assert (folder / f"{NAMES[0]}.log").stat().st_mtime_ns == first, "a finished run was run again"
    assert "training from step 0 " in (log := (folder / f"{NAMES[1]}.log").read_text()) and log.count("training from step") == 2
    assert [read_eval_results(str(folder / name)) for name in NAMES] == unbroken


def is_zombie(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def test_a_run_that_is_killed_is_marked_and_tried_again(made, unbroken, tmp_path):
    folder = tmp_path / "s"
    process = start(made, folder)
    wait_for(lambda: steps(folder, NAMES[0]) or process.poll() is not None)
    os.kill(child_of(process), signal.SIGKILL)
    table, told = process.communicate(timeout=600)
    assert process.returncode == 0, told
    content = json.loads((folder / "sweep.json").read_text())
    assert [(run["state"], run["note"]) for run in content["runs"]] == [("failed", "killed by SIGKILL"), ("finished", "")]
    assert content["best"] == NAMES[1] and "failed: killed by SIGKILL" in table
    again = start(made, folder)
    _, told = again.communicate(timeout=600)
    assert again.returncode == 0, told
    assert [run["state"] for run in json.loads((folder / "sweep.json").read_text())["runs"]] == ["finished", "finished"]
    assert [read_eval_results(str(folder / name)) for name in NAMES] == unbroken
