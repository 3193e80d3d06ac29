"""Every command of the README's story runs as it stands, in the order in which it stands."""

import os
import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.slow


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_every_command_and_the_notebook_code(tmp_path):
    for name in ("bert_tf", "create_pretraining_data.py", "run_pretraining.py", "run_classifier.py"):
        (tmp_path / name).symlink_to(ROOT / name)
    environment = os.environ | {"PATH": f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(tmp_path)}
    commands, told = blocks("sh"), ""
    assert len(commands) == 5
    for command in commands:
        done = subprocess.run(["bash", "-ec", command], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stderr[-2000:]}"
        told += done.stderr
    for folder in ("runs/pretrained", "runs/topic"):
        assert f"exported to {folder}/export/1" in told
    assert '"label"' in done.stdout
    (code,) = blocks("python")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "(1, 7, 128) (1, 128)" in done.stdout
