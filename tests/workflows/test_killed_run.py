"""A run that is killed at random points, each time started again, ends with the weights of the unbroken one; and none grows."""

import os
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
from tests.workflows.conftest import MASKS, SAMPLE, SEQ

pytestmark = pytest.mark.slow
KILLS = 20


def pretraining(made, folder, num_steps=400, *more):
    return [
        *(sys.executable, "run_pretraining.py", "--do_train", "--deterministic", f"--input_file={made}/data.tfrecord"),
        *(f"--bert_config_file={made}/bert_config.json", f"--output_dir={folder}", f"--max_seq_length={SEQ}"),
        *(f"--max_predictions_per_seq={MASKS}", "--train_batch_size=16", f"--num_train_steps={num_steps}", "--num_warmup_steps=40"),
        *("--learning_rate=1e-3", "--save_checkpoints_steps=10", "--keep_checkpoint_max=2", *more),
    ]


def accumulating(made, folder):
    return pretraining(made, folder, 400, "--gradient_accumulation_steps=2", "--pack_sequences")


def masking_anew(made, folder):
    flags = (f"--input_file={made}/unmasked.tfrecord", f"--vocab_file={made}/vocab.txt", "--do_whole_word_mask")
    return pretraining(made, folder, 400, *flags)


def finetuning(made, folder):
    return [
        *(sys.executable, "run_classifier.py", "--do_train", "--deterministic", "--task_name=topic", f"--data_dir={SAMPLE}"),
        *(f"--vocab_file={made}/vocab.txt", f"--bert_config_file={made}/bert_config.json", f"--output_dir={folder}"),
        *("--max_seq_length=32", "--train_batch_size=8", "--num_train_epochs=8", "--learning_rate=1e-3", "--eval_steps=50"),
        *("--save_checkpoints_steps=10", "--keep_checkpoint_max=2"),
    ]


def tagging_on_features(made, folder):
    lines = [line.split("\t")[0].split() for line in (SAMPLE / "train.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    (made / "tags.txt").write_text("\n".join("".join(f"{word} {'I-THE' if word == 'the' else 'O'}\n" for word in words) for words in lines))
    return [
        *(sys.executable, "run_classifier.py", "--do_train", "--deterministic", "--task_name=the", "--kind=tag"),
        *(f"--train_file={made}/tags.txt", f"--dev_file={made}/tags.txt", f"--vocab_file={made}/vocab.txt", "--feature_mix=sum_all"),
        *(f"--bert_config_file={made}/bert_config.json", f"--output_dir={folder}", "--lstm_size=16", "--max_seq_length=32"),
        *("--train_batch_size=8", "--num_train_epochs=6", "--learning_rate=1e-3", "--eval_steps=50"),
        *("--save_checkpoints_steps=10", "--keep_checkpoint_max=2"),
    ]


def run_and_kill(arguments, folder, delay):
    """Starts the run, waits for the next checkpoint, then `delay` seconds, and kills it; returns whether it was still running."""
    before = max(checkpoint_steps(str(folder)), default=0)
    process = subprocess.Popen(arguments, cwd=ROOT, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while process.poll() is None and max(checkpoint_steps(str(folder)), default=0) == before and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(delay)
    alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    return alive


@pytest.mark.parametrize("command", [pretraining, accumulating, masking_anew, finetuning, tagging_on_features])
def test_kill_minus_nine_again_and_again(made, unmasked, tmp_path, command):
    subprocess.run(command(made, tmp_path / "unbroken"), cwd=ROOT, check=True, stderr=subprocess.DEVNULL)
    last = max(checkpoint_steps(str(tmp_path / "unbroken")))
    seed = random.randrange(2**32)
    print(f"seed of the moments: {seed}")
    moments = random.Random(seed)
    arguments, folder = command(made, tmp_path / "broken"), tmp_path / "broken"
    # short delays: some fall into the writing of a checkpoint
    killed = [run_and_kill(arguments, folder, moments.uniform(0, 0.15)) for _ in range(KILLS)]
    assert sum(killed) >= KILLS // 2, f"{killed}: too few were killed while they ran"
    subprocess.run(arguments, cwd=ROOT, check=True, stderr=subprocess.DEVNULL)
    assert not [name for name in os.listdir(folder) if "partial" in name], "nothing half-written is left"
    first, second = (tf.train.load_checkpoint(str(tmp_path / name / f"model.ckpt-{last}")) for name in ("unbroken", "broken"))
    assert first.get_variable_to_shape_map() == second.get_variable_to_shape_map()
    for name in first.get_variable_to_shape_map():
        np.testing.assert_array_equal(first.get_tensor(name), second.get_tensor(name), err_msg=name)
    if command in (finetuning, tagging_on_features):
        assert (folder / "evaluations.json").read_bytes() == (tmp_path / "unbroken" / "evaluations.json").read_bytes()


def resident_bytes(process):
    with open(f"/proc/{process.pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="resident memory is read from /proc")
def test_ten_thousand_steps_do_not_grow(made, tmp_path):
    arguments = [*pretraining(made, tmp_path / "run", 10_000), "--save_checkpoints_steps=500"]
    process = subprocess.Popen(arguments, cwd=ROOT, stderr=subprocess.DEVNULL)
    held = {}
    while process.poll() is None:
        step = max(checkpoint_steps(str(tmp_path / "run")), default=0)
        if step not in held and step < 10_000:
            held[step] = resident_bytes(process)
        time.sleep(0.05)
    assert process.returncode == 0
    early, late = held[2000], max(size for step, size in held.items() if step >= 8000)
    assert late < 1.01 * early, f"from {early} bytes at step 2,000 to {late}"
