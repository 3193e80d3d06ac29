"""SIGTERM and Ctrl-C in the middle of training: a checkpoint first, then the end, and the run goes on from there."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.errors import Preempted
from bert_tf.training.checkpoints import checkpoint_steps
from bert_tf.training.interruption import Interruption
from tests.conftest import ROOT
from tests.workflows.conftest import MASKS, SEQ


@pytest.mark.parametrize("number, expected", [(signal.SIGTERM, Preempted), (signal.SIGINT, KeyboardInterrupt)])
def test_the_first_signal_waits_and_handlers_are_given_back(number, expected):
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with pytest.raises(expected), Interruption() as interruption:
        os.kill(os.getpid(), number)
        assert interruption.requested == number
        # a second signal would act at once
        assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
        interruption.finish("model.ckpt-7")
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_a_preempted_run_ends_as_the_unbroken_one(made, tmp_path):
    def command(folder):
        return [
            *(sys.executable, "run_pretraining.py", "--do_train", "--deterministic", f"--input_file={made}/data.tfrecord"),
            *(f"--bert_config_file={made}/bert_config.json", f"--output_dir={folder}", f"--max_seq_length={SEQ}"),
            *(f"--max_predictions_per_seq={MASKS}", "--num_train_steps=300", "--num_warmup_steps=40", "--learning_rate=1e-3"),
            *("--iterations_per_loop=5", "--save_checkpoints_steps=1000"),
        ]

    unbroken = subprocess.run(command(tmp_path / "unbroken"), cwd=ROOT, capture_output=True, text=True)
    assert unbroken.returncode == 0, unbroken.stderr
    process = subprocess.Popen(command(tmp_path / "broken"), cwd=ROOT, stderr=subprocess.PIPE, text=True)
    events = tmp_path / "broken" / "train"
    deadline = time.monotonic() + 120
    while not (events.is_dir() and any(events.iterdir())) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 75, said
    (step,) = checkpoint_steps(str(tmp_path / "broken"))
    assert 0 < step < 300 and said.splitlines()[-1].startswith(f"stopped by SIGTERM; saved {tmp_path}/broken/model.ckpt-{step};")
    subprocess.run(command(tmp_path / "broken"), cwd=ROOT, check=True, capture_output=True)
    first, second = (tf.train.load_checkpoint(str(tmp_path / name / "model.ckpt-300")) for name in ("unbroken", "broken"))
    for name in first.get_variable_to_shape_map():
        np.testing.assert_array_equal(first.get_tensor(name), second.get_tensor(name), err_msg=name)
