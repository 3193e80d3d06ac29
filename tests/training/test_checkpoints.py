"""Checkpoints: TF1 names and files, whole or not there, and the original's own as a point to go on from."""

import os
import re

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.convert.names import training_state
from bert_tf.errors import InputError
from bert_tf.modeling.models import ClassificationModel, PretrainingModel
from bert_tf.training.checkpoints import Checkpoints, checkpoint_steps, latest_checkpoint, open_checkpoint
from bert_tf.training.optimizer import AdamWeightDecay, LinearSchedule
from tests.conftest import SHARED, needs_shared
from tests.training.conftest import CONFIG

GOLDEN = SHARED / "golden" / "tf1_tiny"
DATA, INDEX = ".data-00000-of-00001", ".index"


def state_of(model, num_layers=1, step=0):
    optimizer = AdamWeightDecay(model.trainable_variables, LinearSchedule(1e-3, 12, 4))
    global_step = tf.Variable(step, dtype=tf.int64)
    return training_state(optimizer.variables, optimizer.m, optimizer.v, num_layers, global_step)


def fill(state, seed):
    """Gives every float a value of its own, subnormal and huge ones among them."""
    rng = np.random.default_rng(seed)
    for name, variable in state.items():
        if name != "global_step":
            variable.assign((rng.normal(size=variable.shape) * 10.0 ** rng.integers(-42, 30, variable.shape)).astype(np.float32))


def values(state):
    return {name: variable.numpy() for name, variable in state.items()}


def assert_same(first, second):
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


@pytest.fixture
def small():
    """A handful of variables, for what does not depend on the model."""
    return {
        "a/kernel": tf.Variable([[1.0, 2.0]]),
        "a/kernel/adam_m": tf.Variable([[3.0, 4.0]]),
        "global_step": tf.Variable(0, dtype=tf.int64),
    }


def save_steps(folder, state, steps, keep=5):
    checkpoints = Checkpoints(str(folder), state, keep)
    for step in steps:
        state["global_step"].assign(step)
        checkpoints.save(step)
    return checkpoints


def test_round_trip_bit_for_bit(tmp_path):
    state = state_of(PretrainingModel(CONFIG))
    fill(state, 1)
    saved = values(state) | {"global_step": 7}
    (checkpoints,) = [save_steps(tmp_path, state, [7])]
    fill(state, 2)
    state["global_step"].assign(0)
    assert checkpoints.restore(str(tmp_path / "model.ckpt-7")) == 7
    assert_same(values(state), saved)
    # another model of the same shape, as a new process has it
    other = state_of(PretrainingModel(CONFIG))
    assert Checkpoints(str(tmp_path), other, 1).restore(latest_checkpoint(str(tmp_path))) == 7
    assert_same(values(other), saved)


def test_the_newest_are_kept(tmp_path, small):
    save_steps(tmp_path, small, [5, 90, 100, 1000], keep=2)
    assert checkpoint_steps(str(tmp_path)) == [100, 1000]
    names = {f"model.ckpt-{step}{ending}" for step in (100, 1000) for ending in (DATA, INDEX)}
    assert set(os.listdir(tmp_path)) == names | {"checkpoint"}
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert list(state.all_model_checkpoint_paths) == [f"{tmp_path}/model.ckpt-{step}" for step in (100, 1000)]
    assert tf.train.latest_checkpoint(str(tmp_path)) == latest_checkpoint(str(tmp_path)) == f"{tmp_path}/model.ckpt-1000"


def test_a_folder_that_is_moved_still_works(tmp_path, small):
    save_steps(tmp_path / "old", small, [3])
    os.rename(tmp_path / "old", tmp_path / "new")
    assert tf.train.latest_checkpoint(str(tmp_path / "new")) == f"{tmp_path}/new/model.ckpt-3"


def test_folders_without_a_checkpoint(tmp_path):
    assert latest_checkpoint(str(tmp_path)) is None
    assert latest_checkpoint(str(tmp_path / "nowhere")) is None
    assert checkpoint_steps(str(tmp_path)) == []


def test_what_a_killed_run_left_is_no_checkpoint_and_goes(tmp_path, small):
    save_steps(tmp_path, small, [1, 2])
    # killed while writing, and between the two renames
    for name in (f"model.ckpt-3.partial-77{DATA}", f"model.ckpt-3.partial-77{INDEX}", f"model.ckpt-4{DATA}"):
        (tmp_path / name).write_bytes(b"half")
    assert latest_checkpoint(str(tmp_path)) == f"{tmp_path}/model.ckpt-2"
    # an index alone, as a copy that broke off leaves it
    (tmp_path / f"model.ckpt-5{INDEX}").write_bytes(b"half")
    assert latest_checkpoint(str(tmp_path)) == f"{tmp_path}/model.ckpt-2"
    # and killed while removing the oldest: the index goes first
    os.remove(tmp_path / f"model.ckpt-1{INDEX}")
    assert checkpoint_steps(str(tmp_path)) == [2]
    (tmp_path / "model.ckpt-notes.partial-1").write_text("mine")
    save_steps(tmp_path, small, [3])
    assert checkpoint_steps(str(tmp_path)) == [2, 3]
    assert not [name for name in os.listdir(tmp_path) if "ckpt-3.partial" in name]
    assert (tmp_path / "model.ckpt-notes.partial-1").exists()


def test_a_step_saved_again_is_never_half_old(tmp_path, small, monkeypatch):
    """Killed between the two renames, the old index must not stand over the new data."""
    save_steps(tmp_path, small, [1, 2])
    rename = tf.io.gfile.rename

    def killed_at_the_index(source, target, overwrite=False):
        if target.endswith(INDEX):
            raise KeyboardInterrupt
        rename(source, target, overwrite)

    monkeypatch.setattr(tf.io.gfile, "rename", killed_at_the_index)
    small["a/kernel"].assign([[7.0, 8.0]])
    with pytest.raises(KeyboardInterrupt):
        save_steps(tmp_path, small, [2])
    assert latest_checkpoint(str(tmp_path)) == f"{tmp_path}/model.ckpt-1"
    assert Checkpoints(str(tmp_path), small, 5).restore(f"{tmp_path}/model.ckpt-1") == 1


def test_a_place_that_cannot_be_written(tmp_path, small):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=rf"{re.escape(str(tmp_path))}/file/under/model\.ckpt-1: cannot be written") as caught:
        save_steps(tmp_path / "file" / "under", small, [1])
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == ["file"]


def cut(content):
    return content[: len(content) // 2]


def change_a_bit(content):
    return content[:5] + bytes([content[5] ^ 1]) + content[6:]


@pytest.mark.parametrize("ending", [DATA, INDEX])
@pytest.mark.parametrize("damage", [cut, change_a_bit])
def test_a_damaged_checkpoint_is_named(tmp_path, small, damage, ending):
    checkpoints = save_steps(tmp_path, small, [1])
    path = tmp_path / f"model.ckpt-1{ending}"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=rf"{re.escape(str(tmp_path))}/model\.ckpt-1: is (damaged|no readable)") as caught:
        checkpoints.restore(f"{tmp_path}/model.ckpt-1")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("path", ["nowhere/model.ckpt-1", "", "."])
def test_no_checkpoint_at_all(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=rf"{re.escape(path)}: is no readable checkpoint; give the prefix") as caught:
        open_checkpoint(path)
    assert "\n" not in str(caught.value)


def test_another_size_is_told_with_both_shapes(tmp_path, small):
    save_steps(tmp_path, small, [1])
    other = small | {"a/kernel": tf.Variable([[1.0, 2.0, 3.0]]), "a/kernel/adam_m": tf.Variable([[9.0, 9.0]])}
    with pytest.raises(InputError, match=r"model\.ckpt-1: a/kernel has shape \[1, 2\], the model's is \[1, 3\]; use the config"):
        Checkpoints(str(tmp_path), other, 1).restore(f"{tmp_path}/model.ckpt-1")
    # nothing is read by halves
    assert other["a/kernel/adam_m"].numpy().tolist() == [[9.0, 9.0]]


def test_a_missing_variable_is_named(tmp_path, small):
    save_steps(tmp_path, small, [1])
    other = small | {"b/kernel": tf.Variable([1.0])}
    with pytest.raises(InputError, match=r"model\.ckpt-1: has no b/kernel, so it is no state of a training.*--init_checkpoint"):
        Checkpoints(str(tmp_path), other, 1).restore(f"{tmp_path}/model.ckpt-1")


def reader_shapes(prefix):
    return tf.compat.v1.train.NewCheckpointReader(str(prefix)).get_variable_to_shape_map()


def test_tf1_readers_see_the_originals_names(tmp_path):
    save_steps(tmp_path, state_of(ClassificationModel(CONFIG, 3)), [2])
    shapes = reader_shapes(tmp_path / "model.ckpt-2")
    assert shapes["bert/encoder/layer_0/attention/self/query/kernel"] == [16, 16]
    assert shapes["output_weights"] == shapes["output_weights/adam_v"] == [3, 16]
    assert shapes["global_step"] == []
    # every variable with its two slots, and the step
    assert len(shapes) == 1 + 3 * len([name for name in shapes if not name.endswith(("adam_m", "adam_v", "global_step"))])


@needs_shared
def test_names_and_shapes_are_those_of_the_originals_checkpoint(tmp_path):
    config = BertConfig.from_json((GOLDEN / "bert_config.json").read_text())
    save_steps(tmp_path, state_of(PretrainingModel(config), config.num_hidden_layers), [12])
    assert reader_shapes(tmp_path / "model.ckpt-12") == reader_shapes(GOLDEN / "model_with_slots.ckpt-12")


@needs_shared
def test_the_originals_checkpoint_is_gone_on_from(tmp_path):
    config = BertConfig.from_json((GOLDEN / "bert_config.json").read_text())
    state = state_of(PretrainingModel(config), config.num_hidden_layers)
    prefix = str(GOLDEN / "model_with_slots.ckpt-12")
    assert Checkpoints(str(tmp_path), state, 1).restore(prefix) == 12
    reader = tf.train.load_checkpoint(prefix)
    assert_same(values(state), {name: reader.get_tensor(name) for name in state})
    assert any(np.abs(variable.numpy()).sum() > 0 for name, variable in state.items() if name.endswith("adam_v"))
