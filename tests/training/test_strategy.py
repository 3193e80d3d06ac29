"""What devices a run gets, and what it is told when they are not there."""

import types

import pytest
import tensorflow as tf

from bert_tf.config import PretrainConfig
from bert_tf.errors import InputError
from bert_tf.training import strategy


def config_of(**changes):
    return PretrainConfig(**(dict(input_file="gs://b/a", output_dir="gs://b/run", do_eval=True) | changes))


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)


def test_a_gpu_that_cannot_be_used_is_told(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [])
    monkeypatch.setattr(strategy, "_NVIDIA_DEVICE", str(tmp_path / "nvidia0"))
    assert strategy.device() == "the CPU" and caplog.text == ""
    (tmp_path / "nvidia0").touch()
    with caplog.at_level("WARNING", logger="absl"):
        assert strategy.device() == "the CPU"
    assert "an NVIDIA GPU that TensorFlow cannot use: pip install" in caplog.text


def test_one_device_is_the_default():
    found = strategy.connect(config_of())
    assert found.num_replicas_in_sync == 1 and strategy.is_chief(found) and not strategy.is_tpu(found)


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(distribution="mirrored"), "there is one device only"),
        (dict(distribution="multi_worker"), "TF_CONFIG names no workers"),
        (
            dict(train_batch_size=6, gradient_accumulation_steps=4),
            r"train_batch_size is 6, .*\(1 device x 4 gradient_accumulation_steps\).*multiple of 4",
        ),
        (dict(use_tpu=True, distribution="mirrored"), "use_tpu is true, but distribution is mirrored"),
    ],
)
def test_what_is_not_there_is_told(changes, message):
    with pytest.raises(InputError, match=message):
        strategy.connect(config_of(**changes))


@pytest.mark.parametrize("name", ["train_batch_size", "eval_batch_size"])
def test_a_batch_that_the_devices_do_not_divide(monkeypatch, name):
    monkeypatch.setattr(strategy, "_one_device", lambda config: types.SimpleNamespace(num_replicas_in_sync=3))
    with pytest.raises(InputError, match=rf"{name} is 8, which cannot be cut into 3 equal parts \(3 devices\); give a multiple of 3"):
        strategy.connect(config_of(**{"train_batch_size": 9, "eval_batch_size": 9, name: 8}))


@pytest.mark.parametrize("text", ["{", "[]", '{"cluster": 3}'])
def test_a_broken_cluster_is_told(monkeypatch, text):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(InputError, match=r"TF_CONFIG is .*no JSON object with a cluster"):
        strategy.connect(config_of())


@pytest.mark.parametrize("name", ["output_dir", "input_file", "init_checkpoint"])
def test_a_tpu_reached_over_the_network_wants_cloud_storage(name):
    with pytest.raises(InputError, match=rf"{name} is 'here/a', but a TPU reads and writes Cloud Storage only; give a gs:// path"):
        strategy.connect(config_of(use_tpu=True, tpu_name="mine", **{name: "here/a"}))


@pytest.mark.parametrize("tpu_name", [None, "mine"])
def test_a_tpu_is_connected_as_tensorflow_documents_it(monkeypatch, tpu_name):
    calls = []

    def resolver(**options):
        calls.append(("resolver", options))
        return "resolver"

    fake = types.SimpleNamespace(num_replicas_in_sync=8)
    monkeypatch.setattr(tf.distribute.cluster_resolver, "TPUClusterResolver", resolver)
    monkeypatch.setattr(tf.config, "experimental_connect_to_cluster", lambda found: calls.append(("connect", found)))
    monkeypatch.setattr(tf.tpu.experimental, "initialize_tpu_system", lambda found: calls.append(("initialize", found)))
    monkeypatch.setattr(tf.distribute, "TPUStrategy", lambda found: fake)
    config = config_of(use_tpu=True, tpu_name=tpu_name, tpu_zone="z", gcp_project="p")
    assert strategy.connect(config) is fake
    connected = [("connect", "resolver")] if tpu_name else []
    options = {"tpu": tpu_name or "local", "zone": "z", "project": "p"}
    assert calls == [("resolver", options), *connected, ("initialize", "resolver")]


def test_a_tpu_that_does_not_answer_is_told(monkeypatch):
    def resolver(**options):
        raise ValueError("no such TPU")

    monkeypatch.setattr(tf.distribute.cluster_resolver, "TPUClusterResolver", resolver)
    with pytest.raises(InputError, match=r"the TPU mine cannot be reached \(no such TPU\); check --tpu_name"):
        strategy.connect(config_of(use_tpu=True, tpu_name="mine"))
