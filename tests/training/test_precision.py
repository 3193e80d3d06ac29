"""The policy of each precision, and the factor on float16 losses."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.data.batches import Batches
from bert_tf.data.record_order import OrderedRecords
from bert_tf.data.schema import CLASSIFICATION
from bert_tf.modeling import losses
from bert_tf.modeling.models import ClassificationModel
from bert_tf.training import precision
from bert_tf.training.optimizer import AdamWeightDecay, LinearSchedule
from bert_tf.training.step import BAD, StepOptions, TrainStep
from tests.training.conftest import AXES, CONFIG


@pytest.mark.parametrize("name, compute", [("float32", "float32"), ("bfloat16", "bfloat16"), ("float16", "float16")])
def test_variables_are_float32_always(name, compute):
    policy = precision.policy(name)
    assert (policy.compute_dtype, policy.variable_dtype) == (compute, "float32")


@pytest.mark.parametrize("has, compute", [(True, "bfloat16"), (False, "float32")])
def test_auto_is_what_the_hardware_has(monkeypatch, has, compute):
    monkeypatch.setattr(precision, "_has_bfloat16", lambda jit_compile: has)
    assert precision.policy("auto").compute_dtype == compute


@pytest.mark.parametrize("flags, compute", [("fpu avx512_bf16 sse", "bfloat16"), ("fpu amx_bf16", "bfloat16"), ("fpu avx512f", "float32")])
def test_what_a_processor_says_of_itself(monkeypatch, tmp_path, flags, compute):
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\nprocessor\t: 1\nflags\t\t: {flags}\n")
    monkeypatch.setattr(precision, "_CPU_INFO", str(tmp_path / "cpuinfo"))
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [])
    assert precision.policy("auto").compute_dtype == compute
    # XLA multiplies no bfloat16 numbers on CPUs
    assert precision.policy("auto", jit_compile=True).compute_dtype == "float32"
    monkeypatch.setattr(precision, "_CPU_INFO", str(tmp_path / "nowhere"))
    assert precision.policy("auto").compute_dtype == "float32"


def test_the_factor_halves_at_an_overflow_and_doubles_after_many_good_steps(monkeypatch):
    monkeypatch.setattr(precision.LossScale, "_PATIENCE", 3)
    scale = precision.LossScale()
    told, found = [], []
    for bad in (0, 0, 0, 1, 0, 1, 0, 0, 0):
        told.append(float(scale.update(tf.constant(float(bad)))))
        found.append(float(scale.scale) / 2.0**15)
    assert found == [1, 1, 2, 1, 1, 0.5, 0.5, 0.5, 1]
    assert not any(told)  # a smaller factor may help: not yet a bad step


def test_at_the_least_factor_an_overflow_is_a_bad_step():
    scale = precision.LossScale()
    scale.scale.assign(1.0)
    assert float(scale.update(tf.constant(1.0))) == 1 and float(scale.scale) == 1


@pytest.mark.parametrize("dtype", ["mixed_float16", "mixed_bfloat16", "float32"])
def test_training_in_every_precision(classification_file, dtype):
    """Ten steps lower the loss, and in float16 a factor that is far too large is found out, not counted as a bad step."""
    keras.utils.set_random_seed(3)
    model = ClassificationModel(CONFIG, 2, dtype=keras.DTypePolicy(dtype))
    optimizer = AdamWeightDecay(model.trainable_variables, LinearSchedule(1e-2, 50, 0))
    loss_scale = precision.LossScale() if dtype == "mixed_float16" else None
    if loss_scale is not None:
        loss_scale.scale.assign(2.0**40)
    step = TrainStep(model, losses.CLASSIFICATION, optimizer, tf.Variable(0, dtype=tf.int64), StepOptions(1), None, loss_scale)
    batches = Batches(OrderedRecords([classification_file]), CLASSIFICATION, AXES, 11)
    iterator = iter(batches.dataset(0, 1).repeat())
    told = []
    for _ in range(50):
        sums = step(iterator, tf.constant(1, tf.int64))
        assert not float(sums[BAD].total)
        told.append(float(sums["loss"].total))
    if loss_scale is not None:
        assert told[0] == 0 and float(loss_scale.scale) < 2.0**40  # skipped, and the factor halved
    seen = [loss for loss in told if loss]
    assert len(seen) > 20 and np.mean(seen[-5:]) < seen[0] - 0.2
