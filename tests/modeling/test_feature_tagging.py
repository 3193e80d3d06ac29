"""Tags from a frozen encoder: which layers are read, how they are mixed, and what logits and gradients do not depend on."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import FEATURE_MIXES, TaggerConfig
from bert_tf.convert.names import tf1_name
from bert_tf.errors import InputError
from bert_tf.modeling.feature_tagging import FeatureTaggingModel
from bert_tf.modeling.losses import tagging_sums, total_loss
from tests.convert.tiny import BATCH, CONFIG

FOUR_LAYERS = dataclasses.replace(CONFIG, num_hidden_layers=4, initializer_range=0.5)
MASK = np.array([[0, 1, 0, 1, 0], [0, 1, 0, 0, 0]], np.int32)
INPUTS = BATCH | {"label_mask": MASK}


def made(mix, labels=3):
    keras.utils.set_random_seed(1)
    return FeatureTaggingModel(TaggerConfig(mix, lstm_size=6), FOUR_LAYERS, labels)


def vectors_of(model):
    """Returns what a run keeps of the tokens: float32[batch, tokens, layers, hidden], of all layers, and where there are tokens."""
    layers = np.stack([np.asarray(layer) for layer in model.encoder(BATCH)["all_layers"]], axis=2)
    tokens = np.zeros((2, 2, *layers.shape[2:]), np.float32)
    tokens[0], tokens[1, 0] = layers[0, [1, 3]], layers[1, 1]
    return tokens, np.array([[1, 1], [1, 0]], np.int32)


@pytest.mark.parametrize("mix", FEATURE_MIXES)
def test_ids_and_what_was_kept_of_them_give_the_same_logits(mix):
    model = made(mix)
    kept, is_token = vectors_of(model)
    assert len(model.layers_read) == {"sum_last_four": 4, "concat_last_four": 4, "sum_all": 4}.get(mix, 1)
    of_tokens = model({"token_vectors": kept[:, :, list(model.layers_read)], "input_mask": is_token})["classifier"].numpy()
    of_places = model(INPUTS)["classifier"].numpy()
    np.testing.assert_allclose(of_places[0, [1, 3]], of_tokens[0], atol=1e-5)
    np.testing.assert_allclose(of_places[1, 1], of_tokens[1, 0], atol=1e-5)
    # each place is told what its token is told
    np.testing.assert_array_equal(of_places[0, 2], of_places[0, 1])
    np.testing.assert_array_equal(of_places[0, 4], of_places[0, 3])


def test_a_sum_with_all_weight_on_one_layer_is_that_layer():
    model, last = made("sum_last_four"), made("second_to_last")
    for ours, other in zip(model.tagger.lstms, last.tagger.lstms):
        ours.set_weights(other.get_weights())
    model.tagger.classifier.set_weights(last.tagger.classifier.get_weights())
    model.tagger.mix.layer_weights.assign([-50.0, -50.0, 50.0, -50.0])
    np.testing.assert_allclose(model(INPUTS)["classifier"], last(INPUTS)["classifier"], atol=1e-6)


def test_a_sum_begins_with_the_mean_and_learns_its_weights():
    model = made("sum_all")
    x = np.random.default_rng(1).normal(0, 1, (2, 3, 4, 8)).astype(np.float32)
    np.testing.assert_allclose(model.tagger.mix(x), x.mean(axis=2), atol=1e-6)
    kept, is_token = vectors_of(model)
    with tf.GradientTape() as tape:
        logit = model({"token_vectors": kept[:, :, 1:], "input_mask": is_token})["classifier"][0, 0, 0]
    gradients = tape.gradient(logit, [model.tagger.mix.layer_weights.value, model.tagger.mix.scale.value])
    assert all(np.abs(gradient).max() > 0 for gradient in gradients)


@pytest.mark.parametrize("of_ids", [True, False])
def test_logits_and_gradients_do_not_depend_on_the_length_of_the_padding(of_ids):
    model = made("concat_last_four")
    kept, is_token = vectors_of(model)
    if of_ids:
        short = INPUTS | {"label_ids": np.array([[0, 2, 0, 1, 0], [0, 1, 0, 0, 0]], np.int32)}
    else:
        short = {"token_vectors": kept[:, :, 1:], "input_mask": is_token, "label_mask": is_token}
        short["label_ids"] = np.array([[2, 1], [1, 0]], np.int32)
    real = np.ones(2, np.int32)

    def run(batch):
        with tf.GradientTape() as tape:
            logits = model(batch)
            loss = total_loss(tagging_sums(logits, batch | {"is_real_example": real}))
        variables = [variable.value for variable in model.trainable_variables]
        return logits["classifier"].numpy()[batch["label_mask"] > 0], tape.gradient(loss, variables)

    logits, gradients = run(short)
    for more in (1, 6):
        longer = {name: np.pad(value, [(0, 0), (0, more)] + [(0, 0)] * (value.ndim - 2)) for name, value in short.items()}
        others, other_gradients = run(longer)
        np.testing.assert_allclose(others, logits, atol=1e-5)
        for variable, gradient, other in zip(model.trainable_variables, gradients, other_gradients, strict=True):
            np.testing.assert_allclose(other, gradient, atol=1e-5, err_msg=variable.path)


def test_the_encoder_is_not_trained():
    model = made("last")
    assert {variable.path.split("/")[0] for variable in model.trainable_variables} == {"tagger"}
    assert {variable.path.split("/")[0] for variable in model.non_trainable_weights} == {"bert"}


def test_every_variable_has_a_name_in_checkpoints():
    names = {mix: [tf1_name(variable.path, 4) for variable in made(mix).weights] for mix in FEATURE_MIXES}
    assert all(len(set(of_mix)) == len(of_mix) for of_mix in names.values())
    assert {name for name in names["sum_all"] if name.startswith("tagger/")} == {
        *("tagger/mix/layer_weights", "tagger/mix/scale", "tagger/classifier/output_weights", "tagger/classifier/output_bias"),
        *(f"tagger/lstm_{n}/{part}" for n in (0, 1) for part in ("kernel", "recurrent_kernel", "bias")),
    }


def test_its_size_is_the_papers():
    model = FeatureTaggingModel(TaggerConfig("concat_last_four"), FOUR_LAYERS, 9)
    first, second = (2 * 4 * 768 * (inputs + 768 + 1) for inputs in (4 * 8, 2 * 768))
    assert sum(variable.value.shape.num_elements() for variable in model.trainable_variables) == first + second + 9 * (2 * 768 + 1)


def test_dropout_follows_from_the_seed():
    model = made("last")
    kept, is_token = vectors_of(model)
    batch = {"token_vectors": kept[:, :, -1:], "input_mask": is_token}
    first, again, other = (model(batch, training=True, seed=tf.constant([1, seed]))["classifier"].numpy() for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3


@pytest.mark.parametrize("mix, least", [("second_to_last", 2), ("sum_last_four", 4), ("concat_last_four", 4)])
def test_a_model_with_too_few_layers_is_refused(mix, least):
    config = dataclasses.replace(CONFIG, num_hidden_layers=least - 1)
    with pytest.raises(InputError, match=f"feature_mix is {mix}, but the model has {least - 1} layers; give another"):
        FeatureTaggingModel(TaggerConfig(mix), config, 3)
