"""The notebook's door: import, tokenizer and encoder by path."""

import dataclasses
import json
import shutil
import subprocess
import sys
import tomllib

import keras
import numpy as np
import pytest
import tensorflow as tf

import bert_tf
from bert_tf.errors import InputError
from tests.conftest import ROOT, SHARED, needs_shared
from tests.convert.tiny import BATCH, CONFIG, huggingface_arrays, random_arrays, tf1_arrays, write_safetensors, write_tf1

VOCAB = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nsky\nis\nblue\n##s\n.\n"
TF1_TINY = SHARED / "golden" / "tf1_tiny"


@pytest.fixture
def tf1_folder(tmp_path):
    """A TF1 model's folder: weights, bert_config.json, vocab.txt."""
    folder = tmp_path / "tf1"
    folder.mkdir()
    write_tf1(folder / "bert_model.ckpt", tf1_arrays(random_arrays()))
    (folder / "bert_config.json").write_text(CONFIG.to_json())
    (folder / "vocab.txt").write_text(VOCAB)
    return folder


@pytest.fixture
def huggingface_folder(tmp_path):
    """The same weights as a Hugging Face folder."""
    folder = tmp_path / "hf"
    folder.mkdir()
    write_safetensors(folder, huggingface_arrays(random_arrays()))
    values = dataclasses.asdict(CONFIG) | {"hidden_act": "gelu", "model_type": "bert", "layer_norm_eps": 1e-12}
    (folder / "config.json").write_text(json.dumps(values))
    (folder / "vocab.txt").write_text(VOCAB)
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    return folder


def test_a_notebook(tf1_folder):
    code = f"""
import importlib
import sys

sys.argv = ["ipykernel_launcher", "-f", "/x/kernel.json"]
import bert_tf

heavy = {{"tensorflow", "keras", "numpy", "absl"}} & set(sys.modules)
assert not heavy, heavy
assert "load_encoder" in dir(bert_tf)
importlib.reload(bert_tf)

import numpy as np
from absl import flags

tokenizer = bert_tf.load_tokenizer({str(tf1_folder)!r})
encoder = bert_tf.load_encoder({str(tf1_folder)!r})
ids = np.array([[2, *tokenizer.encode("The sky is blue."), 3]])
outputs = encoder({{"input_ids": ids, "input_mask": np.ones_like(ids), "segment_ids": np.zeros_like(ids)}})
assert outputs["sequence_output"].shape == (1, 7, 8)
ours = [module for module in flags.FLAGS.flags_by_module_dict() if "bert_tf" in module]
assert not ours, ours
assert sys.argv == ["ipykernel_launcher", "-f", "/x/kernel.json"]
print(ids.tolist())
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[[2, 5, 6, 7, 8, 10, 3]]"


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'load_model_zoo'"):
        _ = bert_tf.load_model_zoo


def test_version_is_the_packages():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project.get("version", bert_tf.__version__) == bert_tf.__version__


def test_encoder_is_a_keras_model(tf1_folder, tmp_path, capsys):
    encoder = bert_tf.load_encoder(tf1_folder)
    assert "bert_model.ckpt: read 39 variables (39 of the encoder)" in capsys.readouterr().out
    outputs = encoder(BATCH)
    assert set(outputs) == {"sequence_output", "pooled_output"}
    assert outputs["sequence_output"].shape == (2, 5, 8) and outputs["pooled_output"].shape == (2, 8)
    shorter = encoder({name: values[:1, :3] for name, values in BATCH.items()})
    assert shorter["sequence_output"].shape == (1, 3, 8)
    predicted = encoder.predict(BATCH, verbose=0)
    np.testing.assert_allclose(predicted["pooled_output"], outputs["pooled_output"], atol=1e-6)
    layers = encoder.get_layer("bert")(BATCH)["all_layers"]
    np.testing.assert_array_equal(layers[-1], outputs["sequence_output"])
    encoder.save(tmp_path / "encoder.keras")
    again = keras.saving.load_model(tmp_path / "encoder.keras")
    np.testing.assert_array_equal(again(BATCH)["sequence_output"], outputs["sequence_output"])


def test_every_kind_of_path_gives_the_same_weights(tf1_folder, huggingface_folder, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    for name in ("bert_config.json", "vocab.txt"):
        shutil.copy(tf1_folder / name, run)
    named = tf1_arrays(random_arrays())
    write_tf1(run / "model.ckpt-10", {name: array + 1 for name, array in named.items()})
    write_tf1(run / "model.ckpt-20", named | {"global_step": np.array(20, np.int64), "output_bias/adam_m": np.ones(2, np.float32)})
    expected = random_arrays()
    for path in (tf1_folder, str(tf1_folder / "bert_model.ckpt"), run, f"{run}/", run / "model.ckpt-20", huggingface_folder):
        encoder = bert_tf.load_encoder(path)
        for variable in encoder.weights:
            np.testing.assert_array_equal(variable.numpy(), expected[variable.path], err_msg=f"{path} {variable.path}")
        assert bert_tf.load_tokenizer(path).encode("The skys") == [5, 6, 9]


def test_gelu_is_the_origins_own(tf1_folder, huggingface_folder):
    tanh = bert_tf.load_encoder(tf1_folder)
    exact = bert_tf.load_encoder(huggingface_folder)
    assert tanh.get_layer("bert").config.hidden_act == "gelu"
    assert exact.get_layer("bert").config.hidden_act == "gelu_exact"
    assert np.abs(tanh(BATCH)["sequence_output"] - exact(BATCH)["sequence_output"]).max() > 1e-5


def test_casing_by_folder_by_vocabulary_and_in_conflict(tf1_folder, huggingface_folder, tmp_path):
    assert bert_tf.load_tokenizer(huggingface_folder).do_lower_case is True
    with pytest.raises(InputError, match=r"tokenizer_config\.json records true"):
        bert_tf.load_tokenizer(huggingface_folder, do_lower_case=False)
    (tf1_folder / "bert_config.json").write_text(dataclasses.replace(CONFIG, do_lower_case=True).to_json())
    with pytest.raises(InputError, match=r"bert_config\.json records true"):
        bert_tf.load_tokenizer(tf1_folder, do_lower_case=False)
    cased = tmp_path / "cased.txt"
    cased.write_text(VOCAB.replace("the", "The"))
    assert bert_tf.load_tokenizer(cased).do_lower_case is False
    with pytest.raises(InputError, match="cased vocabulary"):
        bert_tf.load_tokenizer(cased, do_lower_case=True)


def test_what_cannot_be_loaded_says_so_in_one_line(tf1_folder, tmp_path):
    def message(function, path, **options):
        with pytest.raises(InputError) as caught:
            function(path, **options)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    nowhere = tmp_path / "nowhere"
    for function in (bert_tf.load_encoder, bert_tf.load_tokenizer):
        assert message(function, nowhere).startswith(f"{nowhere}: no such directory or checkpoint")
    (tf1_folder / "vocab.txt").write_text(VOCAB + "one\ntwo\n")
    assert "vocab.txt has 13 entries, the model's config says vocab_size 11" in message(bert_tf.load_encoder, tf1_folder)
    (tf1_folder / "vocab.txt").unlink()
    assert "no vocab.txt" in message(bert_tf.load_tokenizer, tf1_folder)
    assert bert_tf.load_encoder(tf1_folder).count_params() > 0
    (tf1_folder / "bert_config.json").unlink()
    assert "no bert_config.json beside it" in message(bert_tf.load_encoder, tf1_folder)


def test_a_checkpoint_without_a_pooler(tf1_folder):
    named = {name: array for name, array in tf1_arrays(random_arrays()).items() if "pooler" not in name}
    prefix = write_tf1(tf1_folder / "bert_model.ckpt", named)
    with pytest.raises(InputError, match=r"bert/pooler/dense/kernel, bert/pooler/dense/bias; .*allow_partial"):
        bert_tf.load_encoder(prefix)
    encoder = bert_tf.load_encoder(prefix, allow_partial=True)
    np.testing.assert_array_equal(encoder.get_layer("bert").embeddings.word_embeddings.numpy(), named["bert/embeddings/word_embeddings"])


@needs_shared
def test_the_originals_checkpoint():
    golden = np.load(TF1_TINY / "forward_golden.npz")
    encoder = bert_tf.load_encoder(TF1_TINY / "bert_model.ckpt")
    outputs = encoder({name: golden[f"in/{name}"] for name in BATCH})
    for name in ("sequence_output", "pooled_output"):
        np.testing.assert_allclose(outputs[name], golden[f"out/{name}"], atol=1e-5, rtol=0)


@needs_shared
def test_the_originals_training_checkpoint():
    expected = np.load(TF1_TINY / "training_golden.npz")
    encoder = bert_tf.load_encoder(TF1_TINY)  # the folder's `checkpoint` file names the one with Adam slots
    kernel = encoder.get_layer("bert").pooler.kernel.numpy()
    np.testing.assert_allclose(kernel, expected["after_step_12/bert/pooler/dense/kernel"], atol=1e-6, rtol=0)


@needs_shared
def test_a_checkpoint_of_another_implementation():
    folder = SHARED / "data" / "checkpoints" / "keras_bert_tiny"
    encoder = bert_tf.load_encoder(folder)
    reader = tf.train.load_checkpoint(str(folder / "bert_model.ckpt"))
    kernel = encoder.get_layer("bert").transformer[1].attention.query.kernel
    np.testing.assert_array_equal(kernel.numpy(), reader.get_tensor("bert/encoder/layer_1/attention/self/query/kernel"))
    assert len(bert_tf.load_tokenizer(folder).vocab) == 15
