"""Which checkpoint a path means."""

import numpy as np
import pytest

from bert_tf.convert.files import find_checkpoint
from bert_tf.errors import InputError
from tests.convert.tiny import write_safetensors, write_tf1

ARRAYS = {"x": np.ones(1, np.float32)}


def test_prefix_folder_and_safetensors(tmp_path):
    prefix = write_tf1(tmp_path / "bert_model.ckpt", ARRAYS)
    for path in (prefix, tmp_path, f"{tmp_path}/"):
        found = find_checkpoint(path)
        assert (found.weights, found.folder, found.is_huggingface) == (prefix, str(tmp_path), False)
    folder = tmp_path / "hf"
    folder.mkdir()
    file = write_safetensors(folder, ARRAYS)
    for path in (folder, file):
        found = find_checkpoint(path)
        assert (found.weights, found.folder, found.is_huggingface) == (file, str(folder), True)


def test_a_prefix_in_the_current_directory(tmp_path, monkeypatch):
    write_tf1(tmp_path / "bert_model.ckpt", ARRAYS)
    monkeypatch.chdir(tmp_path)
    assert find_checkpoint("bert_model.ckpt").weights == "bert_model.ckpt"
    assert find_checkpoint(".").weights == "./bert_model.ckpt"


def test_newest_checkpoint_of_a_run(tmp_path):
    for step in (9, 100, 20):
        write_tf1(tmp_path / f"model.ckpt-{step}", ARRAYS)
    assert find_checkpoint(tmp_path).weights == str(tmp_path / "model.ckpt-100")


def test_what_a_killed_run_leaves_is_no_checkpoint(tmp_path):
    write_tf1(tmp_path / "model.ckpt-5.partial-123", ARRAYS)
    with pytest.raises(InputError, match="holds no checkpoint"):
        find_checkpoint(tmp_path)


def test_checkpoint_that_the_state_file_names(tmp_path):
    for name in ("a", "b"):
        write_tf1(tmp_path / name, ARRAYS)
    with pytest.raises(InputError, match=r"several checkpoints \(a, b\)"):
        find_checkpoint(tmp_path)
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "/elsewhere/before/it/moved/b"\n')
    assert find_checkpoint(tmp_path).weights == str(tmp_path / "b")
    (tmp_path / "checkpoint").write_text('model_checkpoint_path: "gone"\n')
    with pytest.raises(InputError, match="several checkpoints"):
        find_checkpoint(tmp_path)


@pytest.mark.parametrize(
    "name, message",
    [
        ("nowhere", "no such directory or checkpoint"),
        ("bert_model.ckpt.index", "give its prefix, .*bert_model.ckpt$"),
        ("bert_model.ckpt.data-00000-of-00001", "give its prefix, .*bert_model.ckpt$"),
        ("notes.txt", "is no checkpoint"),
        ("empty", "holds no checkpoint; give a run directory"),
        ("torch", r"pytorch_model\.bin is not read: save the model as model\.safetensors"),
        ("shards", "weights in several files are not read"),
        ("both", r"holds both model\.safetensors and x\.index"),
    ],
)
def test_paths_that_mean_none(tmp_path, name, message):
    write_tf1(tmp_path / "bert_model.ckpt", ARRAYS)
    (tmp_path / "notes.txt").write_text("x")
    files = {"empty": "a.txt", "torch": "pytorch_model.bin", "shards": "model.safetensors.index.json", "both": "x.index"}
    for folder, file in files.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).write_text("x")
    write_safetensors(tmp_path / "both", ARRAYS)
    with pytest.raises(InputError, match=message) as caught:
        find_checkpoint(tmp_path / name)
    assert "\n" not in str(caught.value) and str(tmp_path / name) in str(caught.value)
