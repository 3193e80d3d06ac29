"""The optimizer against its formula in float64, against Keras' AdamW, and the rate at every step."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.convert.names import tf1_name
from bert_tf.modeling.models import ClassificationModel, PretrainingModel
from bert_tf.training.optimizer import AdamWeightDecay, CosineSchedule, Lamb, LinearSchedule, RateScales, decays
from tests.training.conftest import CONFIG

# optimization.py of google-research/bert, exclude_from_weight_decay
ORIGINAL_EXCLUDES = ("LayerNorm", "layer_norm", "bias")


class Constant:
    """A schedule that does not change."""

    def __init__(self, rate):
        self.rate = rate

    def __call__(self, step):
        return tf.constant(self.rate, tf.float32)


def make_variables(seed=0):
    rng = np.random.default_rng(seed)
    shapes = {"kernel": (4, 3), "bias": (3,), "gamma": (3,), "word_embeddings": (6, 2)}
    variables = [keras.Variable(rng.normal(size=shape), dtype="float32", name=name) for name, shape in shapes.items()]
    assert [variable.path for variable in variables] == list(shapes)
    return variables


def make_gradients(variables, steps, scale, seed=1):
    rng = np.random.default_rng(seed)
    return [[rng.normal(0, scale, variable.shape).astype(np.float32) for variable in variables] for _ in range(steps)]


def named(variables, gradients):
    return {variable.path: tf.convert_to_tensor(gradient) for variable, gradient in zip(variables, gradients)}


def in_float64(variables, gradients, rate, bias_correction, lamb=False):
    """Returns the variables after all steps, by Kingma and Ba's algorithm 1, Loshchilov and Hutter's decay, and the clipping.

    With `lamb`, what decays moves by You et al.'s algorithm 2: its update as long as the rate times its own norm.
    """
    weights = [variable.numpy().astype(np.float64) for variable in variables]
    m, v = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights]
    for t, step in enumerate(gradients, 1):
        norm = np.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in step))
        for i, gradient in enumerate(step):
            g = gradient.astype(np.float64) / max(norm, 1.0)
            m[i] = 0.9 * m[i] + 0.1 * g
            v[i] = 0.999 * v[i] + 0.001 * g**2
            m_hat, v_hat = (m[i] / (1 - 0.9**t), v[i] / (1 - 0.999**t)) if bias_correction else (m[i], v[i])
            update, trust = m_hat / (np.sqrt(v_hat) + 1e-6), 1.0
            if variables[i].path in ("kernel", "word_embeddings"):
                update = update + 0.01 * weights[i]
                trust = np.linalg.norm(weights[i]) / np.linalg.norm(update) if lamb else 1.0
            weights[i] = weights[i] - rate * trust * update
    return weights


@pytest.mark.parametrize("compile_from", [None, 4], ids=["by TensorFlow", "all but the smallest by XLA"])
@pytest.mark.parametrize("bias_correction", [False, True])
@pytest.mark.parametrize("scale", [0.01, 3.0], ids=["below the clip norm", "above it"])
def test_twenty_steps_in_float64(bias_correction, scale, compile_from):
    variables = make_variables()
    gradients = make_gradients(variables, 20, scale)
    expected = in_float64(variables, gradients, 0.01, bias_correction)
    optimizer = AdamWeightDecay(variables, Constant(0.01), bias_correction, compile_from=compile_from)

    @tf.function
    def apply(step_gradients, step):
        return optimizer.apply(named(variables, step_gradients), step)

    for step, step_gradients in enumerate(gradients):
        norm, rate = apply([tf.constant(g) for g in step_gradients], tf.constant(step, tf.int64))
        np.testing.assert_allclose(norm, np.sqrt(sum((g**2).sum() for g in step_gradients)), rtol=1e-5)
        np.testing.assert_allclose(rate, 0.01)
    for variable, weight in zip(variables, expected):
        np.testing.assert_allclose(variable.numpy(), weight, atol=2e-6, rtol=0, err_msg=variable.path)


def test_with_bias_correction_it_is_adamw():
    ours, theirs = make_variables(), make_variables()
    optimizer = AdamWeightDecay(ours, Constant(0.01), bias_correction=True)
    oracle = keras.optimizers.AdamW(0.01, weight_decay=0.01, beta_1=0.9, beta_2=0.999, epsilon=1e-6, global_clipnorm=1.0)
    oracle.exclude_from_weight_decay(var_names=["bias", "gamma"])
    for step, gradients in enumerate(make_gradients(ours, 10, 3.0)):
        optimizer.apply(named(ours, gradients), tf.constant(step, tf.int64))
        oracle.apply([tf.constant(g) for g in gradients], theirs)
    for variable, other in zip(ours, theirs):
        # Keras adds epsilon before the correction, which matters where a gradient is small; the weights have moved by some 0.1
        np.testing.assert_allclose(variable.numpy(), other.numpy(), atol=2e-4, rtol=0)


def test_without_bias_correction_the_first_step_is_the_originals():
    """With m = 0.1 g and v = 0.001 g^2 every weight moves by rate x 0.1 / sqrt(0.001), about 3.16 rates."""
    variables = make_variables()
    before = variables[1].numpy()
    optimizer = AdamWeightDecay(variables, Constant(0.01))
    optimizer.apply(named(variables, [tf.fill(variable.shape, -0.01) for variable in variables]), tf.constant(0, tf.int64))
    np.testing.assert_allclose(variables[1].numpy() - before, 0.01 * 0.1 / np.sqrt(0.001), rtol=1e-2)


def test_sparse_gradients_are_added_up_before_they_are_clipped():
    dense, sparse = (make_variables()[3:] for _ in range(2))
    values = np.full((3, 2), 2.0, np.float32)
    slices = tf.IndexedSlices(tf.constant(values), tf.constant([4, 1, 4]), tf.constant([6, 2]))
    full = np.zeros((6, 2), np.float32)
    np.add.at(full, [4, 1, 4], values)
    norms = [
        AdamWeightDecay(variables, Constant(0.1)).apply({variables[0].path: gradient}, tf.constant(0, tf.int64))[0]
        for variables, gradient in ((dense, tf.constant(full)), (sparse, slices))
    ]
    np.testing.assert_allclose(norms, np.sqrt(2 * 16 + 2 * 4), rtol=1e-6)
    np.testing.assert_array_equal(dense[0].numpy(), sparse[0].numpy())


def test_a_variable_without_a_gradient_stays_as_it_is():
    variables = make_variables()
    before = [variable.numpy() for variable in variables]
    optimizer = AdamWeightDecay(variables, Constant(0.1))
    gradients = {variable.path: tf.ones(variable.shape) for variable in variables[1:]}
    norm, _ = optimizer.apply(gradients, tf.constant(0, tf.int64))
    np.testing.assert_allclose(norm, np.sqrt(3 + 3 + 12), rtol=1e-6)
    np.testing.assert_array_equal(variables[0].numpy(), before[0])
    for number in (1, 2, 3):
        assert np.all(variables[number].numpy() < before[number]) and np.all(optimizer.m[number].numpy() > 0), variables[number].path
    assert not optimizer.m[0].numpy().any() and not optimizer.v[0].numpy().any()


@pytest.mark.parametrize("make", [PretrainingModel, lambda config: ClassificationModel(config, 3)], ids=["pretraining", "classification"])
def test_decay_spares_what_the_original_spares(make):
    variables = make(CONFIG).trainable_variables
    spared = {variable.path for variable in variables if not decays(variable.path)}
    original = {variable.path for variable in variables if any(re.search(part, tf1_name(variable.path, 1)) for part in ORIGINAL_EXCLUDES)}
    assert spared == original
    assert 0 < len(spared) < len(variables)


def original_rate(step, init, steps, warmup):
    """learning rate of optimization.py: polynomial_decay with power 1 to 0, replaced below warmup."""
    return init * step / warmup if step < warmup else init * (1 - min(step, steps) / steps)


@pytest.mark.parametrize("steps, warmup", [(100, 10), (100, 0), (7, 6), (1, 0), (1_000_000, 10_000)])
def test_the_rate_at_every_step(steps, warmup):
    schedule = LinearSchedule(5e-5, steps, warmup)
    tried = range(steps + 3) if steps <= 100 else [0, 1, 9_999, 10_000, 10_001, 500_000, 999_999, 1_000_000, 2_000_000]
    for step in tried:
        expected = original_rate(step, 5e-5, steps, warmup)
        np.testing.assert_allclose(schedule(tf.constant(step, tf.int64)), expected, rtol=1e-5, atol=1e-12, err_msg=str(step))


def test_the_step_down_after_the_warmup_is_the_originals():
    schedule = LinearSchedule(1.0, 100, 10)
    rates = [float(schedule(tf.constant(step, tf.int64))) for step in (9, 10, 11, 99, 100)]
    np.testing.assert_allclose(rates, [0.9, 0.9, 0.89, 0.01, 0], atol=1e-6)


def test_the_continuous_schedule_falls_from_the_peak():
    schedule = LinearSchedule(1.0, 100, 10, continuous=True)
    rates = [float(schedule(tf.constant(step, tf.int64))) for step in (5, 9, 10, 55, 99, 100)]
    np.testing.assert_allclose(rates, [0.5, 0.9, 1.0, 0.5, 1 / 90, 0], atol=1e-6)
    without = LinearSchedule(1.0, 100, 0, continuous=True)
    assert [float(without(tf.constant(step, tf.int64))) for step in (0, 50)] == [1.0, 0.5]


def test_the_cosine_schedule():
    schedule = CosineSchedule(1.0, 100, 10)
    rates = [float(schedule(tf.constant(step, tf.int64))) for step in (5, 10, 55, 100, 120)]
    np.testing.assert_allclose(rates, [0.5, 1.0, 0.5, 0.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("compile_from", [None, 0])
@pytest.mark.parametrize("bias_correction", [False, True])
def test_lamb_in_float64(bias_correction, compile_from):
    variables = make_variables()
    gradients = make_gradients(variables, 20, 3.0)
    expected = in_float64(variables, gradients, 0.01, bias_correction, lamb=True)
    optimizer = Lamb(variables, Constant(0.01), bias_correction, compile_from=compile_from)
    for step, step_gradients in enumerate(gradients):
        optimizer.apply(named(variables, step_gradients), tf.constant(step, tf.int64))
    for variable, weight in zip(variables, expected):
        np.testing.assert_allclose(variable.numpy(), weight, atol=5e-6, rtol=0, err_msg=variable.path)


@pytest.mark.parametrize("compile_from", [None, 0])
@pytest.mark.parametrize("kind", [AdamWeightDecay, Lamb])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_step_that_is_not_finite_leaves_everything_as_it_was(kind, bad, compile_from):
    variables = make_variables()
    optimizer = kind(variables, Constant(0.1), compile_from=compile_from)
    good, broken = make_gradients(variables, 2, 1.0)
    optimizer.apply(named(variables, good), tf.constant(0, tf.int64))
    state = [value.numpy() for value in (*variables, *optimizer.m, *optimizer.v)]
    broken[2][1] = bad
    optimizer.apply(named(variables, broken), tf.constant(1, tf.int64))
    optimizer.apply(named(variables, good), tf.constant(1, tf.int64), sound=tf.constant(False))
    for before, value in zip(state, (*variables, *optimizer.m, *optimizer.v)):
        np.testing.assert_array_equal(value.numpy(), before)


def test_rates_by_layer():
    scales = RateScales(2, layer_decay=0.5)
    paths = [
        "a/bert/embeddings/position_embeddings",
        "a/bert/layer_0/output/bias",
        "a/bert/layer_1/output/bias",
        "a/bert/pooler/kernel",
        "a/classifier/kernel",
    ]
    assert [scales(path) for path in paths] == [0.125, 0.25, 0.5, 1, 1]
    assert [RateScales(2, freeze_embeddings=True)(path) for path in paths] == [0, 1, 1, 1, 1]
    assert [RateScales(2, num_frozen_layers=1)(path) for path in paths] == [0, 0, 1, 1, 1]


@pytest.mark.parametrize("kind", [AdamWeightDecay, Lamb])
def test_frozen_variables_stay_and_the_others_move_by_their_rate(kind):
    before = [variable.numpy() for variable in make_variables()]
    moved = {}
    for name, scale in (("all", 1.0), ("half", 0.5)):
        variables = make_variables()
        optimizer = kind(variables, Constant(0.1), rate_scale=lambda path, scale=scale: 0.0 if path == "bias" else scale)
        with tf.GradientTape() as tape:
            loss = tf.add_n([tf.reduce_sum(tf.square(variable.value)) for variable in variables])
        gradients = optimizer.gradients(tape, loss)
        assert gradients.keys() == {"kernel", "gamma", "word_embeddings"}
        optimizer.apply(gradients, tf.constant(0, tf.int64))
        moved[name] = [variable.numpy() - start for variable, start in zip(variables, before)]
    assert not moved["all"][1].any()
    for whole, half in zip(moved["all"], moved["half"]):
        np.testing.assert_allclose(half, whole / 2, atol=1e-6)
