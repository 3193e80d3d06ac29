"""Processes that end with the one that started them, and what is compiled once for several."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.conftest import ROOT

# Starts a child, says that it has, and waits; the child says how it ends.
PARENT = """
import subprocess, sys, time
from bert_tf.startup import child_environment
subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[2]], env=child_environment(), start_new_session=True)
time.sleep(60)
"""
CHILD = """
import os, signal, sys, time
from pathlib import Path
def note(number, frame):
    Path(sys.argv[1], "ended").write_text(signal.Signals(number).name)
    sys.exit(0)
signal.signal(signal.SIGTERM, note)
from bert_tf.startup import end_with_parent
end_with_parent()
Path(sys.argv[1], "environment").write_text(str([name for name in os.environ if name.startswith("BERT_TF_PARENT")]))
time.sleep(60)
"""


def wait_for(path):
    deadline = time.monotonic() + 30
    while not path.exists() or not path.read_text():
        assert time.monotonic() < deadline, f"{path} did not come"
        time.sleep(0.02)
    return path.read_text()


@pytest.mark.skipif(os.name != "posix", reason="elsewhere there is no SIGTERM to send")
def test_a_child_hears_of_its_parents_death(tmp_path):
    parent = subprocess.Popen([sys.executable, "-c", PARENT, CHILD, str(tmp_path)], cwd=ROOT)
    assert wait_for(tmp_path / "environment") == "[]"  # its own children are its own business
    assert not (tmp_path / "ended").exists()
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert wait_for(tmp_path / "ended") == "SIGTERM"


COMPILES = """
import os, sys
from bert_tf.startup import keep_compiled
os.environ["TF_XLA_FLAGS"] = "--tf_xla_min_cluster_size=3"
keep_compiled(sys.argv[1])
assert os.environ["TF_XLA_FLAGS"].startswith("--tf_xla_min_cluster_size=3 ")
import tensorflow as tf
from bert_tf.modeling import fused
print(fused.dropout_mask(tf.ones([2, 3]), tf.constant([1, 2]), 3, 0.5).numpy().tolist())
"""


@pytest.mark.slow
def test_what_xla_compiled_serves_the_next_process(tmp_path):
    def run():
        done = subprocess.run([sys.executable, "-c", COMPILES, str(tmp_path / "new")], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout, {path: path.stat().st_mtime_ns for path in (tmp_path / "new").rglob("*.pb")}

    first, second = run(), run()
    assert first[1]  # something was kept
    assert second == first  # and served: nothing is written anew
