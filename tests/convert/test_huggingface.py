"""The reader of Hugging Face's files (user problem H36 among others), and what its config.json means."""

import json

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.convert import huggingface
from bert_tf.convert.load import load_weights
from bert_tf.errors import InputError
from bert_tf.modeling.models import PretrainingModel
from tests.convert.tiny import BATCH, CONFIG, huggingface_arrays, random_arrays, write_safetensors

SPELLINGS = [(prefix, names) for prefix in ("bert.", "") for names in (("weight", "bias"), ("gamma", "beta"))]


@pytest.fixture(scope="module")
def arrays():
    return random_arrays()


@pytest.mark.parametrize("prefix, layer_norm", SPELLINGS)
def test_four_spellings_and_a_name_that_only_looks_like_one(tmp_path, arrays, prefix, layer_norm):
    named = huggingface_arrays(arrays, prefix, layer_norm)
    file = write_safetensors(tmp_path, named | {"alphabeta.weight": np.ones(3, np.float32), "beta_head.bias": np.ones(3, np.float32)})
    model = PretrainingModel(CONFIG)
    report = load_weights(model, file)
    for variable in model.weights:
        np.testing.assert_array_equal(variable.numpy(), arrays[variable.path], err_msg=variable.path)
    of_other_heads = {f"{head}.{leaf}" for head in ("classifier", "qa_outputs") for leaf in ("weight", "bias")}
    assert set(report.unused) == {"alphabeta.weight", "beta_head.bias"} | of_other_heads
    assert report.missing == () and not report.fresh_heads


def test_outputs_of_the_four_spellings_are_bit_equal(tmp_path, arrays):
    outputs = []
    for number, (prefix, layer_norm) in enumerate(SPELLINGS):
        folder = tmp_path / str(number)
        folder.mkdir()
        model = PretrainingModel(CONFIG)
        load_weights(model, write_safetensors(folder, huggingface_arrays(arrays, prefix, layer_norm)))
        outputs.append(model.encoder(BATCH)["sequence_output"].numpy())
    for output in outputs[1:]:
        np.testing.assert_array_equal(output, outputs[0])


def test_a_leaf_other_than_layer_norm_has_one_spelling(tmp_path):
    file = write_safetensors(
        tmp_path, {"bert.pooler.dense.gamma": np.ones((2, 2), np.float32), "bert.pooler.dense.bias": np.ones(2, np.float32)}
    )
    source = huggingface.read(file)
    assert list(source.names) == ["bert/pooler/bias"]
    assert source.unclaimed == ("bert.pooler.dense.gamma",)


def test_second_copies_are_quiet_unless_they_differ(tmp_path, arrays):
    named = huggingface_arrays(arrays)
    table, bias = named["bert.embeddings.word_embeddings.weight"], named["cls.predictions.bias"]
    copies = {"cls.predictions.decoder.weight": table, "cls.predictions.decoder.bias": bias}
    positions = {"bert.embeddings.position_ids": np.arange(16)[None]}
    assert huggingface.read(write_safetensors(tmp_path, named | copies | positions)).unclaimed == ()
    untied = {"cls.predictions.decoder.weight": table + 1}
    assert huggingface.read(write_safetensors(tmp_path, named | untied)).unclaimed == ("cls.predictions.decoder.weight",)
    del named["cls.predictions.bias"]
    source = huggingface.read(write_safetensors(tmp_path, named | copies))
    np.testing.assert_array_equal(source.read("masked_lm/output_bias"), bias)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_files(tmp_path, arrays, dtype):
    halves = {name: array.astype(dtype) for name, array in huggingface_arrays(arrays).items()}
    model = PretrainingModel(CONFIG)
    load_weights(model, write_safetensors(tmp_path, halves))
    expected = arrays["bert/layer_1/output/kernel"].astype(dtype).astype(np.float32)
    np.testing.assert_array_equal(model.encoder.transformer[1].output_dense.kernel.numpy(), expected)


def test_quantized_and_damaged_files(tmp_path, arrays):
    named = huggingface_arrays(arrays)
    named["bert.pooler.dense.weight"] = named["bert.pooler.dense.weight"].astype(np.int8)
    with pytest.raises(InputError, match=r"bert\.pooler\.dense\.weight holds int8 numbers"):
        load_weights(PretrainingModel(CONFIG), write_safetensors(tmp_path, named))
    file = tmp_path / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(InputError, match="cannot be read as a safetensors file"):
        huggingface.read(str(file))
    with pytest.raises(InputError, match="cannot be read as a safetensors file"):
        huggingface.read(str(tmp_path / "missing.safetensors"))


def test_a_file_in_remote_storage(tmp_path, arrays):
    file = write_safetensors(tmp_path, huggingface_arrays(arrays))
    tf.io.gfile.copy(file, "ram://remote/model.safetensors", overwrite=True)
    source = huggingface.read("ram://remote/model.safetensors")
    np.testing.assert_array_equal(source.read("bert/pooler/kernel"), arrays["bert/pooler/kernel"])


def config_json(**changes):
    return json.dumps({"model_type": "bert", "vocab_size": 30522, "hidden_act": "gelu", "layer_norm_eps": 1e-12} | changes)


@pytest.mark.parametrize(
    "theirs, ours",
    [("gelu", "gelu_exact"), ("gelu_new", "gelu"), ("gelu_pytorch_tanh", "gelu"), ("relu", "relu"), ("gelu_python", "gelu_exact")],
)
def test_activation_by_origin(theirs, ours):
    assert huggingface.config_from_json(config_json(hidden_act=theirs)).hidden_act == ours


def test_defaults_are_hugging_faces():
    config = huggingface.config_from_json('{"vocab_size": 100}')
    assert (config.hidden_act, config.type_vocab_size, config.hidden_size) == ("gelu_exact", 2, 768)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"model_type": "roberta"}, "model_type is 'roberta'; only 'bert' can be read"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type is 'relative_key'"),
        ({"is_decoder": True}, "is_decoder is true"),
        ({"layer_norm_eps": 1e-5}, "layer_norm_eps is 1e-05, this encoder computes with 1e-12"),
        ({"layer_norm_eps": None}, "layer_norm_eps is None"),
        ({"hidden_act": "silu"}, "hidden_act is 'silu'"),
        ({"hidden_act": ["gelu"]}, "hidden_act is"),
        ({"hidden_size": 10, "num_attention_heads": 3}, "hidden_size 10 is not a multiple of num_attention_heads 3"),
    ],
)
def test_configs_of_other_models(changes, message):
    with pytest.raises(InputError) as caught:
        huggingface.config_from_json(config_json(**changes), "folder/config.json")
    assert str(caught.value).startswith("folder/config.json: ") and message in str(caught.value)


@pytest.mark.parametrize("text", ["{", "[1]", "{}"])
def test_a_broken_config(text):
    with pytest.raises(InputError, match=r"^config\.json: "):
        huggingface.config_from_json(text)
