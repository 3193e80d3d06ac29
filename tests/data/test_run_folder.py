"""A run's folder goes with the run; what a killed one left goes with the next, what a running one has stays."""

import os
import subprocess
import sys

import filelock
import pytest

from bert_tf.data.run_folder import run_folder
from tests.conftest import ROOT


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_folder_goes_with_the_run(tmp_path):
    with run_folder(f"{tmp_path}/a/out.beam") as folder:
        assert os.listdir(folder) == [] and folder.startswith(f"{tmp_path}/a/out.beam-")
        open(f"{folder}/part", "w").close()
    assert names(tmp_path / "a") == []
    with pytest.raises(KeyboardInterrupt), run_folder(f"{tmp_path}/a/out.beam"):
        raise KeyboardInterrupt
    assert names(tmp_path / "a") == []


def test_a_killed_runs_folder_goes_with_the_next_run_and_a_running_ones_stays(tmp_path):
    stem = f"{tmp_path}/out.beam"
    hold = f"from bert_tf.data.run_folder import run_folder\nwith run_folder({stem!r}) as folder:\n print(folder, flush=True)\n input()"
    process = subprocess.Popen([sys.executable, "-c", hold], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    theirs = process.stdout.readline().strip()
    open(f"{theirs}/part", "w").close()
    for other in ("other.beam", "out.beam-"):
        with run_folder(f"{tmp_path}/{other}"):
            assert os.path.exists(f"{theirs}/part")
    with run_folder(stem) as folder:
        assert os.path.exists(f"{theirs}/part")
        assert {os.path.basename(path) for path in (folder, theirs)} < {*names(tmp_path)}
    assert names(tmp_path) == [os.path.basename(theirs), f"{os.path.basename(theirs)}.lock"]
    process.kill()
    process.communicate()
    assert os.path.exists(f"{theirs}/part")
    with run_folder(f"{tmp_path}/other.beam"):
        assert os.path.exists(f"{theirs}/part")
    with run_folder(stem) as folder:
        assert names(tmp_path) == [os.path.basename(folder), f"{os.path.basename(folder)}.lock"]
    assert names(tmp_path) == []


def test_where_there_are_no_locks_nothing_is_removed(tmp_path, monkeypatch):
    stem = f"{tmp_path}/out.beam"
    with run_folder(stem) as left:
        pass
    os.mkdir(left)

    def refused(*_, **__):
        raise NotImplementedError("no locks here")

    with monkeypatch.context() as patch:
        patch.setattr(filelock.FileLock, "acquire", refused)
        with run_folder(stem) as unlocked:
            assert os.path.isdir(left)
            patch.undo()
            with run_folder(stem):
                assert os.path.isdir(unlocked) and not os.path.exists(left)
    assert names(tmp_path) == []
