"""Files of raw logits: what comes back, and damaged ones."""

import numpy as np
import pytest

from bert_tf.data import saved_logits
from bert_tf.errors import InputError

ABOUT = saved_logits.About(
    workflow="finetune", config={"task_name": "toy"}, split="dev", made_of={"rows": "ab", "labels": ["é", "b"]}, step=3, all_alike=None
)


def test_what_is_written_comes_back_and_the_same_gives_the_same_bytes(tmp_path):
    logits = np.random.default_rng(1).normal(size=(5, 2)).astype(np.float32)
    paths = [saved_logits.write(str(tmp_path / name), "eval_logits.npz", {"logits": logits}, ABOUT) for name in "ab"]
    arrays, about = saved_logits.read(paths[0])
    assert about == ABOUT and list(arrays) == ["logits"]
    assert arrays["logits"].dtype == np.float32
    np.testing.assert_array_equal(arrays["logits"], logits)
    first, second = ((tmp_path / name / "eval_logits.npz").read_bytes() for name in "ab")
    assert first == second


def test_numpy_reads_them_too(tmp_path):
    path = saved_logits.write(str(tmp_path), "eval_logits.npz", {"logits": np.ones((1, 2), np.float32)}, ABOUT)
    with np.load(path) as arrays:
        assert arrays["logits"].tolist() == [[1, 1]]


@pytest.mark.parametrize("damage", [lambda content: content[:50], lambda content: b"", lambda content: b"text", lambda content: None])
def test_a_file_that_is_damaged_is_told(tmp_path, damage):
    path = tmp_path / "eval_logits.npz"
    saved_logits.write(str(tmp_path), path.name, {"logits": np.ones((1, 2), np.float32)}, ABOUT)
    content = damage(path.read_bytes())
    if content is None:  # somebody else's arrays
        np.savez(path, logits=np.ones(3))
    else:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"eval_logits\.npz: is no file of logits, or damaged; evaluate or predict again$"):
        saved_logits.read(str(path))


def test_the_names_in_a_folder(tmp_path):
    for name in ("eval_logits.npz", "eval_logits_mismatched.npz", "predict_logits.npz", "logits.npz", "eval_logits.txt", "predictions.tsv"):
        (tmp_path / name).write_text("")
    assert saved_logits.names_in(str(tmp_path)) == ["eval_logits.npz", "eval_logits_mismatched.npz", "predict_logits.npz"]
    assert saved_logits.names_in(str(tmp_path / "nowhere")) == []
