"""A model that reads from left to right: what is to the right changes nothing, in every form that the encoder computes in."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.data.next_token import next_token_targets
from bert_tf.data.packing import pack
from bert_tf.modeling.encoder import BertEncoder
from bert_tf.modeling.losses import next_token_sums, next_token_weights, total_loss
from bert_tf.modeling.models import ClassificationModel, PretrainingModel, QuestionAnsweringModel
from tests.modeling.test_packed_rows import CONFIG, SEQ, SIZE, VOCAB, features

LEFT_TO_RIGHT = dataclasses.replace(CONFIG, left_to_right=True)


def inputs_of(batch):
    return {name: tf.constant(batch[name]) for name in ("input_ids", "input_mask", "segment_ids")}


def targets(batch):
    found = next_token_targets(
        {name: tf.constant(batch[name]) for name in ("input_ids", "input_mask", "segment_ids", "is_real_example")}, tf.zeros([SIZE, 2])
    )
    return {name: value.numpy() for name, value in found.items()}


@pytest.mark.parametrize("place", [0, 1, 5, 12, SEQ - 1])
def test_what_is_to_the_right_changes_nothing_at_the_left(place):
    encoder, batch = BertEncoder(LEFT_TO_RIGHT), features()
    batch["input_mask"][:] = 1
    changed = dict(batch, input_ids=batch["input_ids"].copy(), segment_ids=batch["segment_ids"].copy())
    changed["input_ids"][:, place:] = (changed["input_ids"][:, place:] + 7) % VOCAB
    changed["segment_ids"][:, place:] = 1 - changed["segment_ids"][:, place:]
    first, second = (encoder(inputs_of(each)) for each in (batch, changed))
    for one, other in zip((*first["all_layers"], first["sequence_output"]), (*second["all_layers"], second["sequence_output"])):
        np.testing.assert_array_equal(one[:, :place], other[:, :place])
        assert (np.abs(one[:, place:] - other[:, place:]).max(axis=(1, 2)) > 1e-3).all()
    shorter = encoder({name: value[:, : place + 1] for name, value in inputs_of(batch).items()})
    np.testing.assert_allclose(shorter["sequence_output"], first["sequence_output"][:, : place + 1], atol=1e-5)


def test_both_sides_are_seen_without_it():
    encoder, batch = BertEncoder(CONFIG), features()
    changed = dict(batch, input_ids=batch["input_ids"].copy())
    changed["input_ids"][:, 2] = 1
    first, second = (encoder(inputs_of(each))["sequence_output"] for each in (batch, changed))
    assert (np.abs(first[:, 0] - second[:, 0]).max(axis=1) > 1e-4).all()


@pytest.mark.parametrize("how", [{}, {"recompute": True}, {"fuse": True}], ids=str)
def test_the_last_layer_at_wanted_places(how):
    encoder, batch, seed = BertEncoder(LEFT_TO_RIGHT, **how), features(), tf.constant([1, 2])
    inputs, places = inputs_of(batch), tf.constant(batch["masked_lm_positions"])
    whole = encoder(inputs, training=True, seed=seed)
    found = encoder(inputs | {"wanted_positions": places}, training=True, seed=seed)
    np.testing.assert_allclose(found["sequence_output"], tf.gather(whole["sequence_output"], places, batch_dims=1), atol=1e-5)
    np.testing.assert_allclose(found["pooled_output"], whole["pooled_output"], atol=1e-5)


def test_the_pooler_reads_the_last_piece_which_sees_the_whole_text():
    encoder, batch = BertEncoder(LEFT_TO_RIGHT), features()
    found, lengths = encoder(inputs_of(batch)), batch["input_mask"].sum(axis=1)
    last = found["sequence_output"].numpy()[np.arange(SIZE), lengths - 1]
    np.testing.assert_allclose(found["pooled_output"], encoder.pooler(last), atol=1e-6)
    model = ClassificationModel(LEFT_TO_RIGHT, 3)
    changed = dict(batch, input_ids=batch["input_ids"].copy())
    changed["input_ids"][np.arange(SIZE), lengths - 2] = 1 + changed["input_ids"][np.arange(SIZE), lengths - 2] % (VOCAB - 2)
    first, second = (model(inputs_of(each))["classifier"] for each in (batch, changed))
    assert (np.abs(first - second).max(axis=1) > 1e-5).all()
    nothing = {name: tf.zeros([1, 4], tf.int32) for name in inputs_of(batch)}
    assert np.isfinite(encoder(nothing)["pooled_output"]).all()


def test_an_answers_logits_depend_on_what_is_before():
    model, batch = QuestionAnsweringModel(LEFT_TO_RIGHT), features()
    changed = dict(batch, input_ids=batch["input_ids"].copy())
    changed["input_ids"][:, 9:] = 1
    first, second = (model(inputs_of(each))["start"] for each in (batch, changed))
    np.testing.assert_array_equal(first[:, :9], second[:, :9])


def test_the_loss_is_the_one_computed_by_hand():
    model, batch = PretrainingModel(LEFT_TO_RIGHT, use_nsp=False), targets(features())
    given = {name: tf.constant(value) for name, value in batch.items()}
    sums = next_token_sums(model(given), given)
    encoded = model.encoder(inputs_of(batch))["sequence_output"]
    logits = model.masked_lm(encoded, model.encoder.embeddings.word_embeddings).numpy().astype(np.float64)
    lost, hits = [], []
    for row in range(SIZE - 1):  # the last example only fills up
        for place in range(batch["input_mask"][row].sum() - 1):
            scores, label = logits[row, place], batch["input_ids"][row, place + 1]
            lost.append(np.log(np.exp(scores).sum()) - scores[label])
            hits.append(scores.argmax() == label)
    assert sums["next_token_loss"].weight == len(lost) == tf.reduce_sum(next_token_weights(given)["next_token"])
    assert float(sums["next_token_loss"].mean()) == pytest.approx(np.mean(lost), abs=1e-5)
    assert float(sums["next_token_accuracy"].mean()) == pytest.approx(np.mean(hits), abs=1e-6)
    assert set(sums) == {"next_token_loss", "next_token_accuracy"}


def test_packed_rows_give_the_same_loss_and_gradients():
    model, batch = PretrainingModel(LEFT_TO_RIGHT, use_nsp=False), targets(features())
    packed = pack(batch)
    assert len(packed["input_ids"]) < SIZE
    variables = [variable.value for variable in model.trainable_variables]
    found = []
    for each in (batch, packed):
        given = {name: tf.constant(value) for name, value in each.items()}
        with tf.GradientTape() as tape:
            loss = total_loss(next_token_sums(model(given, training=True), given))
        gradients = tape.gradient(loss, variables, unconnected_gradients="zero")
        found.append((float(loss), [tf.convert_to_tensor(gradient).numpy() for gradient in gradients]))
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-5)
    for variable, one, other in zip(model.trainable_variables, found[0][1], found[1][1]):
        np.testing.assert_allclose(one, other, atol=1e-5, err_msg=variable.path)
