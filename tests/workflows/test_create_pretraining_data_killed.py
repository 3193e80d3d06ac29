"""create_pretraining_data killed at any moment, and its memory: in processes of their own."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.conftest import ROOT
from tests.workflows.corpus import config_of, write_corpus
from tests.workflows.test_create_pretraining_data_scale import contents, left

pytestmark = pytest.mark.slow


def command(config, *more) -> list[str]:
    names = ("input_file", "output_file", "vocab_file", "max_seq_length", "max_predictions_per_seq", "dupe_factor", "memory_per_process_mb")
    flags = [f"--{name}={getattr(config, name)}" for name in names]
    return [sys.executable, "create_pretraining_data.py", "--do_lower_case", *flags, *more]


def test_kill_minus_nine_again_and_again(tmp_path):
    write_corpus(tmp_path, 90, 90)
    changes = dict(dupe_factor=300, memory_per_process_mb=1)
    unbroken = config_of(tmp_path, output_file=f"{tmp_path}/a0,{tmp_path}/a1", **changes)
    subprocess.run(command(unbroken), cwd=ROOT, check=True, capture_output=True)
    broken = config_of(tmp_path, output_file=f"{tmp_path}/b0,{tmp_path}/b1", **changes)
    seed = random.randrange(2**32)
    print(f"seed of the moments: {seed}")
    moments = random.Random(seed)
    killed = 0
    for _ in range(12):
        process = subprocess.Popen(command(broken, "--num_processes=2"), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moments.uniform(2, 9))
        killed += process.poll() is None
        assert process.poll() == 0 or not os.path.exists(tmp_path / "b1")
        process.send_signal(signal.SIGKILL)
        process.wait()
        if os.path.exists(tmp_path / "b1"):
            break
    assert killed >= 2
    subprocess.run(command(broken), cwd=ROOT, check=True, capture_output=True)
    assert contents(broken.output_file) == contents(unbroken.output_file)
    assert left(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is read from /proc")
def test_memory_does_not_grow_with_the_corpus(tmp_path):
    held = {}
    for copies in (1, 8):
        config = write_corpus(tmp_path, 60, 60)
        text = (tmp_path / "text.txt").read_text()
        (tmp_path / "text.txt").write_text(text * (20 * copies))
        config = config_of(tmp_path, dupe_factor=1, memory_per_process_mb=8)
        process = subprocess.Popen(command(config, "--num_processes=1"), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        held[copies] = 0
        while process.poll() is None:
            try:
                with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
                    private = next((line for line in file if line.startswith("RssAnon")), "0 0 kB")
            except OSError:
                break
            held[copies] = max(held[copies], int(private.split()[1]))
            time.sleep(0.01)
        assert process.wait() == 0
    assert held[8] < held[1] + 20_000, f"kB: {held}"
