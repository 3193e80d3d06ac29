"""The model and the optimizer against the original's own outputs (3 layers, hidden 64, dropout 0)."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.convert.names import tf1_name
from bert_tf.modeling.losses import pretraining_sums
from bert_tf.modeling.models import PretrainingModel
from bert_tf.training.optimizer import AdamWeightDecay, LinearSchedule
from tests.conftest import SHARED, needs_shared

pytestmark = needs_shared
FOLDER = SHARED / "golden" / "tf1_tiny"
TOLERANCE = 1e-5
BATCH_NAMES = (
    "input_ids",
    "input_mask",
    "segment_ids",
    "masked_lm_positions",
    "masked_lm_ids",
    "masked_lm_weights",
    "next_sentence_labels",
)


def load_model():
    model = PretrainingModel(BertConfig.from_json((FOLDER / "bert_config.json").read_text()))
    reader = tf.train.load_checkpoint(str(FOLDER / "bert_model.ckpt"))
    for variable in model.trainable_variables:
        variable.assign(reader.get_tensor(tf1_name(variable.path, 3)))
    return model


def batch_of(arrays, prefix):
    batch = {name: tf.constant(arrays[f"{prefix}/{name}"]) for name in BATCH_NAMES}
    return batch | {"is_real_example": tf.ones(batch["input_ids"].shape[0], tf.int32)}


def losses_of(model, batch, training=False):
    sums = pretraining_sums(model(batch, training=training), batch)
    return sums["masked_lm_loss"].mean(), sums["next_sentence_loss"].mean()


@pytest.fixture(scope="module")
def golden():
    return np.load(FOLDER / "forward_golden.npz")


def test_every_output_and_layer(golden):
    model, batch = load_model(), batch_of(golden, "in")
    encoded = model.encoder({name: batch[name] for name in BATCH_NAMES[:3]})
    for name in ("sequence_output", "pooled_output"):
        np.testing.assert_allclose(encoded[name], golden[f"out/{name}"], atol=TOLERANCE, rtol=0)
    names = ["embedding_output", "encoder_layer_0", "encoder_layer_1", "encoder_layer_2"]
    for name, output in zip(names, encoded["all_layers"], strict=True):
        np.testing.assert_allclose(output, golden[f"out/{name}"], atol=TOLERANCE, rtol=0)
    logits = model(batch)
    np.testing.assert_allclose(
        tf.reshape(tf.nn.log_softmax(logits["masked_lm"]), [48, 1000]), golden["out/masked_lm_log_probs"], atol=TOLERANCE, rtol=0
    )
    np.testing.assert_allclose(tf.nn.log_softmax(logits["next_sentence"]), golden["out/next_sentence_log_probs"], atol=TOLERANCE, rtol=0)
    masked, next_sentence = losses_of(model, batch)
    np.testing.assert_allclose(masked, golden["out/masked_lm_loss"], atol=TOLERANCE, rtol=0)
    np.testing.assert_allclose(next_sentence, golden["out/next_sentence_loss"], atol=TOLERANCE, rtol=0)


def test_every_gradient(golden):
    model, batch = load_model(), batch_of(golden, "in")
    with tf.GradientTape() as tape:
        loss = sum(losses_of(model, batch, training=True))
    variables = model.trainable_variables
    assert len(variables) == len([name for name in golden if name.startswith("grad/")])
    for variable, gradient in zip(variables, tape.gradient(loss, [v.value for v in variables])):
        expected = golden[f"grad/{tf1_name(variable.path, 3)}"]
        np.testing.assert_allclose(tf.convert_to_tensor(gradient), expected, atol=TOLERANCE, rtol=0, err_msg=variable.path)


def test_twelve_steps_of_the_original_optimizer():
    arrays = np.load(FOLDER / "training_golden.npz")
    model = load_model()
    optimizer = AdamWeightDecay(model.trainable_variables, LinearSchedule(1e-3, num_train_steps=12, num_warmup_steps=4))

    @tf.function
    def step_function(batch, step):
        with tf.GradientTape() as tape:
            loss = sum(losses_of(model, batch, training=True))
        norm, rate = optimizer.apply(optimizer.gradients(tape, loss), step)
        return loss, norm, rate

    for step in range(12):
        loss, norm, rate = step_function(batch_of(arrays, f"batch_{step}"), tf.constant(step, tf.int64))
        np.testing.assert_allclose(loss, arrays["losses"][step], atol=TOLERANCE, rtol=0)
        np.testing.assert_allclose(norm, arrays["grad_norms"][step], atol=TOLERANCE, rtol=TOLERANCE)
        np.testing.assert_allclose(rate, arrays["learning_rates"][step], atol=1e-9, rtol=0)
        for variable in model.trainable_variables if step + 1 in (1, 5, 12) else ():
            expected = arrays[f"after_step_{step + 1}/{tf1_name(variable.path, 3)}"]
            np.testing.assert_allclose(variable.numpy(), expected, atol=TOLERANCE, rtol=0, err_msg=variable.path)
    reader = tf.train.load_checkpoint(str(FOLDER / "model_with_slots.ckpt-12"))
    for variable, m, v in zip(model.trainable_variables, optimizer.m, optimizer.v):
        name = tf1_name(variable.path, 3)
        np.testing.assert_allclose(m, reader.get_tensor(f"{name}/adam_m"), atol=TOLERANCE, rtol=0)
        np.testing.assert_allclose(v, reader.get_tensor(f"{name}/adam_v"), atol=TOLERANCE, rtol=0)
