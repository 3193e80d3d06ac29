"""Two worker processes that train together, through the public command: the weights of one process."""

import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from tests.conftest import ROOT

pytestmark = pytest.mark.slow


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("localhost", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def start(made, output_dir, environment, *flags):
    # no dropout: its masks differ from device to device
    config = json.loads((made / "bert_config.json").read_text()) | {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config_file = output_dir.parent / "no_dropout.json"
    config_file.write_text(json.dumps(config))
    command = [sys.executable, "run_pretraining.py", f"--input_file={made}/data.tfrecord", f"--eval_input_file={made}/data.tfrecord"]
    command += [
        f"--bert_config_file={config_file}",
        f"--vocab_file={made}/vocab.txt",
        f"--output_dir={output_dir}",
        "--do_train",
        "--do_eval",
    ]
    command += [
        "--max_seq_length=32",
        "--max_predictions_per_seq=5",
        "--train_batch_size=4",
        "--num_train_steps=20",
        "--num_warmup_steps=2",
    ]
    command += ["--learning_rate=1e-3", "--save_checkpoints_steps=10", "--do_export", "--precision=float32", "--eval_steps=5", *flags]
    return subprocess.Popen(command, cwd=ROOT, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def results(folder):
    lines = (folder / "eval_results.txt").read_text().splitlines()
    return {name: float(value) for name, value in (line.split(" = ") for line in lines)}


def test_two_workers(made, tmp_path):
    cluster = {"worker": [f"localhost:{port}" for port in free_ports(2)]}
    configs = [json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}}) for index in range(2)]
    workers = [start(made, tmp_path / "two", {"TF_CONFIG": config}) for config in configs]
    told = [worker.communicate(timeout=300)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0], told
    alone = start(made, tmp_path / "one", {})
    assert alone.communicate(timeout=300) and alone.returncode == 0
    names = sorted(path.name for path in (tmp_path / "two").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "one").iterdir())
    assert os.listdir(tmp_path / "two" / "export") == ["1"]
    one, two = (tf.train.load_checkpoint(str(tmp_path / name / "model.ckpt-20")) for name in ("one", "two"))
    for name in one.get_variable_to_shape_map():
        np.testing.assert_allclose(two.get_tensor(name), one.get_tensor(name), atol=1e-4, err_msg=name)
    assert results(tmp_path / "two") == pytest.approx(results(tmp_path / "one"), abs=1e-4)
