"""The reader of TF1 checkpoints."""

import numpy as np
import pytest

from bert_tf.convert import tf1
from bert_tf.errors import InputError
from tests.conftest import SHARED, needs_shared
from tests.convert.tiny import random_arrays, tf1_arrays, write_tf1


@pytest.fixture(scope="module")
def arrays():
    return random_arrays()


def test_every_variable_comes_back(tmp_path, arrays):
    source = tf1.read(write_tf1(tmp_path / "bert_model.ckpt", tf1_arrays(arrays)))
    assert source.names.keys() == arrays.keys()
    for path, array in arrays.items():
        assert source.shapes[path] == array.shape
        np.testing.assert_array_equal(source.read(path), array)


def test_names_without_the_prefix(tmp_path, arrays):
    bare = {name.removeprefix("bert/"): array for name, array in tf1_arrays(arrays).items()}
    source = tf1.read(write_tf1(tmp_path / "x", bare))
    assert source.names.keys() == arrays.keys()
    assert source.expected_name("bert/layer_7/attention/query/bias") == "encoder/layer_7/attention/self/query/bias"


def test_training_state_is_quiet_and_foreign_names_are_not(tmp_path, arrays):
    named = tf1_arrays(arrays)
    extra = {f"{name}/{slot}": array for name, array in named.items() for slot in ("adam_m", "adam_v")}
    extra |= {"global_step": np.array(7, np.int64), "my_head/kernel": np.ones(2, np.float32), "lost/adam_m": np.ones(2, np.float32)}
    source = tf1.read(write_tf1(tmp_path / "model.ckpt-7", named | extra))
    assert source.unclaimed == ("lost/adam_m", "my_head/kernel")


def test_two_spellings_of_one_variable(tmp_path):
    prefix = write_tf1(tmp_path / "x", {"bert/pooler/dense/bias": np.ones(2, np.float32), "pooler/dense/bias": np.ones(2, np.float32)})
    with pytest.raises(InputError, match="bert/pooler/dense/bias and pooler/dense/bias are two spellings"):
        tf1.read(prefix)


def test_files_that_are_missing_or_damaged(tmp_path, arrays):
    with pytest.raises(InputError, match=r"nothing\.index does not exist"):
        tf1.read(str(tmp_path / "nothing"))
    prefix = write_tf1(tmp_path / "x", tf1_arrays(arrays))
    data = tmp_path / "x.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:200])
    source = tf1.read(prefix)
    with pytest.raises(InputError, match=r"x: cannot be read as a checkpoint \(.*\); copy its \.index and \.data") as caught:
        for path in source.names:
            source.read(path)
    assert "\n" not in str(caught.value)
    (tmp_path / "x.index").write_bytes(b"not a checkpoint" * 20)
    with pytest.raises(InputError, match="x: cannot be read as a checkpoint"):
        tf1.read(prefix)


@needs_shared
def test_a_real_checkpoint_with_slots():
    source = tf1.read(str(SHARED / "data" / "checkpoints" / "keras_bert_tiny" / "bert_model.ckpt"))
    assert source.unclaimed == ()
    assert len(source.names) == 5 + 2 * 16 + 2 + 7  # embeddings, two layers, pooler, both heads
    assert source.shapes["bert/embeddings/word_embeddings"] == (15, 4)
