"""Processes that end with the one that started them."""

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
