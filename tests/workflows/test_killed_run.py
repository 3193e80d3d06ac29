"""A run that is killed at random points, each time started again, ends with the weights of the unbroken one."""

import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.training.checkpoints import checkpoint_steps
from tests.conftest import ROOT
from tests.workflows.conftest import MASKS, SEQ

pytestmark = pytest.mark.slow
STEPS = 400


def command(made, folder):
    return [
        *(sys.executable, "run_pretraining.py", "--do_train", "--deterministic", f"--input_file={made}/data.tfrecord"),
        *(f"--bert_config_file={made}/bert_config.json", f"--output_dir={folder}", f"--max_seq_length={SEQ}"),
        *(f"--max_predictions_per_seq={MASKS}", "--train_batch_size=16", f"--num_train_steps={STEPS}", "--num_warmup_steps=40"),
        *("--learning_rate=1e-3", "--save_checkpoints_steps=20", "--keep_checkpoint_max=2"),
    ]


def run_and_kill(arguments, folder, delay):
    """Starts the run, waits for the next checkpoint, then `delay` seconds, and kills it; returns whether it was still running."""
    before = max(checkpoint_steps(str(folder)), default=0)
    process = subprocess.Popen(arguments, cwd=ROOT, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while process.poll() is None and max(checkpoint_steps(str(folder)), default=0) == before and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(delay)
    alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    return alive


def test_kill_minus_nine_three_times(made, tmp_path):
    subprocess.run(command(made, tmp_path / "unbroken"), cwd=ROOT, check=True, stderr=subprocess.DEVNULL)
    seed = random.randrange(2**32)
    print(f"seed of the moments: {seed}")
    moments = random.Random(seed)
    arguments = command(made, tmp_path / "broken")
    killed = [run_and_kill(arguments, tmp_path / "broken", moments.uniform(0, 0.5)) for _ in range(3)]
    assert all(killed), "the run ended before it could be killed"
    assert max(checkpoint_steps(str(tmp_path / "broken"))) < STEPS
    subprocess.run(arguments, cwd=ROOT, check=True, stderr=subprocess.DEVNULL)
    first, second = (tf.train.load_checkpoint(str(tmp_path / name / f"model.ckpt-{STEPS}")) for name in ("unbroken", "broken"))
    assert first.get_variable_to_shape_map() == second.get_variable_to_shape_map()
    for name in first.get_variable_to_shape_map():
        np.testing.assert_array_equal(first.get_tensor(name), second.get_tensor(name), err_msg=name)
