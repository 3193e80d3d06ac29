"""What training says of the device it runs on."""

import tensorflow as tf

from bert_tf.training import strategy


def test_a_gpu_that_cannot_be_used_is_told(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [])
    monkeypatch.setattr(strategy, "_NVIDIA_DEVICE", str(tmp_path / "nvidia0"))
    assert strategy.device() == "the CPU" and caplog.text == ""
    (tmp_path / "nvidia0").touch()
    with caplog.at_level("WARNING", logger="absl"):
        assert strategy.device() == "the CPU"
    assert "an NVIDIA GPU that TensorFlow cannot use: pip install" in caplog.text
