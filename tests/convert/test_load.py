"""What goes into a model, what is reported and what is refused (user problem 2)."""

import dataclasses

import numpy as np
import pytest

from bert_tf.config import BertConfig
from bert_tf.convert.load import load_weights
from bert_tf.errors import InputError
from bert_tf.modeling.encoder import BertEncoder
from bert_tf.modeling.models import ClassificationModel, PretrainingModel, QuestionAnsweringModel
from tests.conftest import SHARED, needs_shared
from tests.convert.tiny import CONFIG, huggingface_arrays, random_arrays, tf1_arrays, write_safetensors, write_tf1


@pytest.fixture(scope="module")
def arrays():
    return random_arrays()


@pytest.fixture
def checkpoint(tmp_path, arrays):
    """Returns a function that writes the checkpoint after a change and returns its prefix."""

    def write(drop=(), **extra):
        kept = {path: array for path, array in arrays.items() if not path.startswith(tuple(drop) or "-")}
        return write_tf1(tmp_path / "bert_model.ckpt", tf1_arrays(kept) | extra)

    return write


def values(model):
    return {variable.path: variable.numpy().copy() for variable in model.weights}


def test_whole_model_and_report(checkpoint, arrays):
    model = PretrainingModel(CONFIG)
    report = load_weights(model, checkpoint(my_head=np.ones(1, np.float32)))
    for path, value in values(model).items():
        np.testing.assert_array_equal(value, arrays[path], err_msg=path)
    assert set(report.read) == set(values(model)) and report.missing == ()
    assert report.unused == ("cls/squad/output_bias", "cls/squad/output_weights", "my_head", "output_bias", "output_weights")
    first, *rest = str(report).splitlines()
    assert first.endswith("bert_model.ckpt: read 46 variables (39 of the encoder, 5 of the head masked_lm, 2 of the head next_sentence)")
    assert rest == ["  in the file too, for other tasks: 4 variables", "  in the file but not used (1): my_head"]
    assert report.other_heads == ("cls/squad/output_bias", "cls/squad/output_weights", "output_bias", "output_weights")
    assert report.step == 0


def test_the_step_that_the_file_tells(checkpoint):
    assert load_weights(BertEncoder(CONFIG), checkpoint(global_step=np.int64(36))).step == 36
    assert load_weights(BertEncoder(CONFIG), checkpoint(global_step=np.ones(3, np.int64))).step == 0  # something else of that name


def test_an_encoder_alone(checkpoint, arrays):
    encoder = BertEncoder(CONFIG)
    report = load_weights(encoder, checkpoint())
    assert len(report.read) == len(encoder.weights) == 39
    np.testing.assert_array_equal(encoder.pooler.kernel.numpy(), arrays["bert/pooler/kernel"])


def test_a_renamed_variable_is_refused(tmp_path, arrays):
    named = tf1_arrays(arrays)
    named["bert/encoder/layer_1/attention/self/Query/kernel"] = named.pop("bert/encoder/layer_1/attention/self/query/kernel")
    prefix = write_tf1(tmp_path / "x", named)
    model = PretrainingModel(CONFIG)
    before = values(model)
    with pytest.raises(InputError) as caught:
        load_weights(model, prefix)
    message = str(caught.value)
    assert "lacks 1 of the encoder's 39 variables: bert/encoder/layer_1/attention/self/query/kernel;" in message
    assert "--allow_partial" in message and "\n" not in message
    for path, value in values(model).items():
        np.testing.assert_array_equal(value, before[path], err_msg="a refused checkpoint must change nothing")

    report = load_weights(model, prefix, allow_partial=True)
    assert report.missing == ("bert/layer_1/attention/query/kernel",)
    assert "bert/encoder/layer_1/attention/self/Query/kernel" in report.unused
    assert "missing, so left at initial weights (1): bert/layer_1/attention/query/kernel" in str(report)
    after = values(model)
    np.testing.assert_array_equal(after["bert/layer_1/attention/query/kernel"], before["bert/layer_1/attention/query/kernel"])
    np.testing.assert_array_equal(after["bert/layer_1/attention/key/kernel"], arrays["bert/layer_1/attention/key/kernel"])


def test_missing_names_are_in_the_files_own_spelling(tmp_path, arrays):
    named = huggingface_arrays(arrays, prefix="")
    del named["pooler.dense.weight"]
    with pytest.raises(InputError, match=r"variables: pooler\.dense\.weight;"):
        load_weights(BertEncoder(CONFIG), write_safetensors(tmp_path, named))


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"vocab_size": 12}, "holds a vocabulary of 11 pieces, the config says vocab_size 12"),
        ({"max_position_embeddings": 8}, "holds a table of 16 positions, the config says max_position_embeddings 8"),
        ({"type_vocab_size": 16}, "holds a table of 2 segments, the config says type_vocab_size 16"),
        ({"intermediate_size": 20}, "bert/encoder/layer_0/intermediate/dense/kernel has shape 8x12, the config makes it 8x20"),
        ({"hidden_size": 16}, "bert/embeddings/word_embeddings has shape 11x8, the config makes it 11x16"),
        ({"num_hidden_layers": 3}, "has 2 layers, the config says num_hidden_layers 3"),
        ({"num_hidden_layers": 1}, "has 2 layers, the config says num_hidden_layers 1"),
    ],
)
def test_a_checkpoint_of_another_size(checkpoint, changes, message):
    with pytest.raises(InputError) as caught:
        load_weights(BertEncoder(dataclasses.replace(CONFIG, **changes)), checkpoint())
    assert message in str(caught.value) and "bert_config.json" in str(caught.value)


def test_shapes_must_agree_even_when_partial(checkpoint):
    with pytest.raises(InputError, match="vocabulary of 11 pieces"):
        load_weights(BertEncoder(dataclasses.replace(CONFIG, vocab_size=12)), checkpoint(), allow_partial=True)


def test_fewer_layers_on_request(checkpoint, arrays):
    encoder = BertEncoder(dataclasses.replace(CONFIG, num_hidden_layers=1))
    report = load_weights(encoder, checkpoint(), allow_partial=True)
    assert report.missing == () and sum("layer_1" in name for name in report.unused) == 16
    np.testing.assert_array_equal(encoder.transformer[0].output_dense.kernel.numpy(), arrays["bert/layer_0/output/kernel"])


def test_a_checkpoint_of_something_else(tmp_path):
    prefix = write_tf1(tmp_path / "x", {"resnet/conv1/kernel": np.ones(3, np.float32)})
    for allow_partial in (False, True):
        with pytest.raises(InputError, match=r"no variable of a BERT encoder \(it has resnet/conv1/kernel\); give a BERT checkpoint"):
            load_weights(BertEncoder(CONFIG), prefix, allow_partial=allow_partial)


def test_missing_heads_start_fresh_and_are_named(checkpoint):
    model = PretrainingModel(CONFIG)
    before = values(model)
    report = load_weights(model, checkpoint(drop=["masked_lm/output_bias", "next_sentence"]))
    reasons = {"masked_lm": "the file lacks cls/predictions/output_bias", "next_sentence": "not in the file"}
    assert report.fresh_heads == reasons
    assert "head next_sentence starts from initial weights: not in the file" in str(report)
    for path, value in values(model).items():
        if not path.startswith("bert/"):
            np.testing.assert_array_equal(value, before[path], err_msg="a head comes whole or not at all")
    assert "cls/predictions/transform/dense/kernel" in report.unused


def test_a_fine_tuned_classifier(checkpoint, arrays):
    model = ClassificationModel(CONFIG, num_labels=2)
    report = load_weights(model, checkpoint(), need_heads=True)
    np.testing.assert_array_equal(model.output_layer.output_weights.numpy(), arrays["classifier/output_weights"])
    np.testing.assert_array_equal(model.output_layer.output_bias.numpy(), arrays["classifier/output_bias"])
    assert all(name.startswith("cls/") for name in report.unused)


def test_a_fine_tuned_squad_model(checkpoint, arrays):
    model = QuestionAnsweringModel(CONFIG)
    report = load_weights(model, checkpoint(), need_heads=True)
    assert not report.missing
    np.testing.assert_array_equal(model.output_layer.output_weights.numpy(), arrays["squad/output_weights"])
    np.testing.assert_array_equal(model.output_layer.output_bias.numpy(), arrays["squad/output_bias"])
    with pytest.raises(InputError, match=r"the head squad cannot be read: the file lacks cls/squad/output_bias"):
        load_weights(model, checkpoint(drop=["squad/output_bias"]), need_heads=True)


def test_a_classifier_of_another_task(checkpoint):
    prefix = checkpoint()
    model = ClassificationModel(CONFIG, num_labels=3)
    report = load_weights(model, prefix)
    assert report.fresh_heads == {"classifier": "output_weights has shape 2x8 in the file, 3x8 in the model"}
    assert report.missing == ("classifier/output_weights", "classifier/output_bias")
    with pytest.raises(InputError, match="the head classifier cannot be read: output_weights has shape 2x8 in the file, 3x8 in the model"):
        load_weights(model, prefix, need_heads=True)
    with pytest.raises(InputError, match="the head classifier cannot be read: not in the file"):
        load_weights(model, checkpoint(drop=["classifier"]), need_heads=True)


@needs_shared
def test_a_real_checkpoint_with_both_heads():
    folder = SHARED / "data" / "checkpoints" / "keras_bert_tiny"
    model = PretrainingModel(BertConfig.from_json((folder / "bert_config.json").read_text()))
    report = load_weights(model, folder, need_heads=True)
    assert (report.missing, report.unused, report.fresh_heads) == ((), (), {})
    assert len(report.read) == len(model.weights) == 46
