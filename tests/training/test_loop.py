"""The loop: the same weights however the steps are cut, sums that are exact over uneven batches, and how it stops."""

import dataclasses
import os
import re

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.data.batches import Batches
from bert_tf.data.record_order import OrderedRecords, ShuffledRecords
from bert_tf.data.records import RecordFile, serialize, write_records
from bert_tf.data.schema import CLASSIFICATION, PRETRAINING
from bert_tf.errors import InputError
from bert_tf.modeling import losses
from bert_tf.training import loop
from bert_tf.training.checkpoints import checkpoint_steps, latest_checkpoint
from bert_tf.training.evaluation import Evaluator
from bert_tf.training.step import StepOptions, TrainStep
from tests.training.conftest import AXES, CONFIG, SEQ, Run, classification_features


def assert_same(first, second):
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def assert_differ(first, second):
    assert any(not np.array_equal(first[name], second[name]) for name in first if name != "global_step")


def scalars(folder):
    """Returns {tag: {step: value}} of what TensorBoard reads."""
    found = {}
    for name in os.listdir(folder):
        for record in tf.data.TFRecordDataset(os.path.join(folder, name)).as_numpy_iterator():
            event = tf.compat.v1.Event.FromString(record)
            for value in event.summary.value:
                found.setdefault(value.tag, {})[event.step] = float(tf.make_ndarray(value.tensor))
    return found


def test_the_weights_do_not_depend_on_how_many_steps_a_call_runs(unbroken, pretraining_file, tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "_call_length", lambda seconds_per_step: 1000)  # iterations_per_loop alone decides
    sevens = Run(pretraining_file, tmp_path).train(10, iterations_per_loop=7)
    assert_same(unbroken.values(), sevens.values())
    # the call of seven steps reports the mean of what the seven calls of one step reported
    single, several = scalars(unbroken.folder + "/train"), scalars(tmp_path / "train")
    assert sorted(several["loss"]) == [7, 10] and sorted(single["loss"]) == list(range(1, 11))
    assert several["learning_rate"][7] == single["learning_rate"][7]
    for tag in ("loss", "gradient_norm"):
        np.testing.assert_allclose(several[tag][7], np.mean([single[tag][step] for step in range(1, 8)]), rtol=1e-5)


def test_a_run_that_was_stopped_ends_as_the_unbroken_one(unbroken, pretraining_file, tmp_path):
    Run(pretraining_file, tmp_path).train(3)
    resumed = Run(pretraining_file, tmp_path)
    fresh = resumed.values()
    step = resumed.checkpoints.restore(latest_checkpoint(resumed.folder))
    assert step == 3
    assert_differ(fresh, resumed.values())
    resumed.train(10, first_step=step)
    assert_same(unbroken.values(), resumed.values())
    assert resumed.trainer.step.global_step.numpy() == 10


def test_a_fine_tuning_that_was_stopped_too(classification_file, tmp_path):
    """Its head has a dropout of its own."""
    unbroken = Run(classification_file, tmp_path / "unbroken", kind=CLASSIFICATION).train(6, save_checkpoints_steps=3)
    resumed = Run(classification_file, tmp_path / "broken", kind=CLASSIFICATION)
    assert resumed.checkpoints.restore(os.path.join(unbroken.folder, "model.ckpt-3")) == 3
    resumed.train(6, first_step=3)
    assert_same(unbroken.values(), resumed.values())


def test_dropout_is_on_and_follows_the_seed(unbroken, pretraining_file, tmp_path):
    without = dataclasses.replace(CONFIG, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    assert_differ(unbroken.values(), Run(pretraining_file, tmp_path / "a", config=without).train(10).values())
    other = Run(pretraining_file, tmp_path / "b", seed=6)
    other.batches = Batches(ShuffledRecords([pretraining_file], 5), PRETRAINING, AXES, 4)  # the same data, other masks
    assert_differ(unbroken.values(), other.train(10).values())


def test_every_step_draws_masks_of_its_own(tmp_path):
    """One example over and over, at a rate that moves nothing: the loss changes by dropout alone."""
    path = str(tmp_path / "a.tfrecord")
    write_records([path], [serialize(classification_features(np.random.default_rng(1)), CLASSIFICATION)])
    run = Run(RecordFile(path), tmp_path / "run", learning_rate=1e-30, batch_size=1, kind=CLASSIFICATION)
    told = scalars(run.train(6, iterations_per_loop=1).folder + "/train")["loss"]
    assert len(set(told.values())) == 6


def test_checkpoints_stand_at_the_steps_asked_for_and_at_the_end(pretraining_file, tmp_path):
    Run(pretraining_file, tmp_path).train(8, save_checkpoints_steps=3)
    assert checkpoint_steps(str(tmp_path)) == [3, 6, 8]
    resumed = Run(pretraining_file, tmp_path)
    resumed.checkpoints.restore(latest_checkpoint(str(tmp_path)))
    resumed.train(10, first_step=8, save_checkpoints_steps=3)
    assert checkpoint_steps(str(tmp_path)) == [8, 9, 10]


def test_nothing_left_to_train_changes_nothing(pretraining_file, tmp_path):
    run = Run(pretraining_file, tmp_path)
    before = run.values()
    assert_same(run.train(4, first_step=4).values(), before)
    assert checkpoint_steps(str(tmp_path)) == []


def test_training_lowers_the_loss(classification_file, tmp_path):
    run = Run(classification_file, tmp_path, config=CONFIG, kind=CLASSIFICATION, batch_size=8)
    batches, evaluator = (
        Batches(OrderedRecords([classification_file]), CLASSIFICATION, AXES, 4),
        Evaluator(run.model, losses.CLASSIFICATION),
    )
    before = evaluator.evaluate(batches)
    run.train(20)
    after = evaluator.evaluate(batches)
    assert after["loss"] < before["loss"] - 0.2


def test_what_tensorboard_is_told(unbroken):
    told = scalars(unbroken.folder + "/train")
    metrics = {"masked_lm_loss", "masked_lm_accuracy", "next_sentence_loss", "next_sentence_accuracy"}
    assert set(told) == metrics | {"loss", "gradient_norm", "learning_rate", "examples_per_second", "useful_tokens"}
    # rate 0 at the first of two warm-up steps, half at the second
    np.testing.assert_allclose([told["learning_rate"][step] for step in (1, 2, 3)], [0, 5e-3, 1e-2 * (1 - 2 / 20)], rtol=1e-6)
    for step, loss in told["loss"].items():
        assert 0 < loss < 2 * (np.log(20) + np.log(2)), step


def with_a_bad_gradient(logits, batch):
    """The loss stays finite where its gradient does not: the slope of a square root at 0."""
    parts = losses.pretraining_sums(logits, batch)
    part = parts["masked_lm_loss"]
    return parts | {"masked_lm_loss": part._replace(total=part.total + tf.sqrt(tf.reduce_sum(0.0 * logits["masked_lm"])))}


def bad_run(pretraining_file, tmp_path, name):
    """A run at step 2, saved, whose loss or gradient is not finite at every step from here on."""
    run = Run(pretraining_file, tmp_path)
    run.state["global_step"].assign(2)
    run.checkpoints.save(2)
    if name == "loss":
        bias = run.model.masked_lm.output_bias
        bias.assign(np.full(bias.shape, np.nan))
    else:
        run.trainer.step.objective = losses.PRETRAINING._replace(sums=with_a_bad_gradient)
    return run


@pytest.mark.parametrize("name", ["loss", "gradient"])
def test_a_training_that_breaks_down_stops_and_keeps_the_last_checkpoint(pretraining_file, tmp_path, name):
    run = bad_run(pretraining_file, tmp_path, name)
    records = ", ".join(map(str, sorted(run.batches.numbers(2))))
    with pytest.raises(InputError, match=r"1 of the steps 3 to 3 .* not finite.*checkpoint is kept.*--learning_rate") as caught:
        run.train(3, first_step=2, save_checkpoints_steps=1)
    assert f"on {pretraining_file.path} records {records};" in str(caught.value) and "\n" not in str(caught.value)
    assert checkpoint_steps(str(tmp_path)) == [2]


def test_bad_steps_are_skipped_and_counted(pretraining_file, tmp_path, caplog):
    """Weights and moments stay, the step goes on, and the scalars are finite."""
    run = bad_run(pretraining_file, tmp_path, "gradient")
    before = run.values()
    with caplog.at_level("WARNING", logger="absl"):
        run.train(5, first_step=2, iterations_per_loop=1, max_bad_steps=3)
    assert "1 of the steps 5 to 5 had a loss or gradient that is not finite: skipped (3 so far, --max_bad_steps=3)" in caplog.text
    after = run.values()
    assert after.pop("global_step") == 5 and before.pop("global_step") == 2
    assert_same(before, after)
    assert all(np.isfinite(list(values.values())).all() for values in scalars(tmp_path / "train").values())
    with pytest.raises(InputError, match=r"they make 1 with --max_bad_steps=0"):
        run.train(6, first_step=5)


def test_a_learning_rate_far_too_high(pretraining_file, tmp_path):
    with pytest.raises(InputError, match=r"\d+ of the steps \d+ to \d+ had a loss or gradient that is not finite"):
        Run(pretraining_file, tmp_path, learning_rate=1e30).train(20)
    assert checkpoint_steps(str(tmp_path)) == []


# Batches by length


def bucketed_run(by_length, folder, **changes):
    file = by_length((SEQ,)).files[0]
    run = Run(file, folder, kind=CLASSIFICATION, **changes)
    run.batches = by_length((3, 5, SEQ), 4, 12)
    return run


def test_padding_changes_no_loss_and_no_gradient(by_length, tmp_path):
    """Twelve steps on batches cut to their lengths, and on the same records at full length: only rounding differs."""
    results = []
    without_dropout = dataclasses.replace(CONFIG, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    for cut in (True, False):
        run = Run(by_length((SEQ,)).files[0], tmp_path / str(cut), kind=CLASSIFICATION, config=without_dropout)
        batches = by_length((3, 5, SEQ), 4, 12)
        if not cut:
            batches._cut = lambda batch, length: batch
        lengths = [batches._plan.batch(step)[1] for step in range(12)]
        assert len(set(lengths)) == 3
        run.batches = batches
        results.append(run.train(12).values())
    for name in results[0]:
        np.testing.assert_allclose(results[0][name], results[1][name], atol=2e-5, err_msg=name)


# XLA compiles for each length and each dropout: a minute
@pytest.mark.parametrize("jit_compile", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_bucketed_run_that_was_stopped_ends_as_the_unbroken_one(by_length, tmp_path, jit_compile):
    unbroken = bucketed_run(by_length, tmp_path / "unbroken", jit_compile=jit_compile).train(12)
    bucketed_run(by_length, tmp_path / "broken", jit_compile=jit_compile).train(5)
    resumed = bucketed_run(by_length, tmp_path / "broken", jit_compile=jit_compile)
    resumed.train(12, first_step=resumed.checkpoints.restore(latest_checkpoint(resumed.folder)))
    assert_same(unbroken.values(), resumed.values())


# Data that goes wrong


@pytest.mark.parametrize("job", ["train", "evaluate", "predict"])
def test_a_file_that_vanishes_is_named(tmp_path, job):
    rng = np.random.default_rng(1)
    path = str(tmp_path / "a.tfrecord")
    write_records([path], [serialize(classification_features(rng), CLASSIFICATION) for _ in range(9)])
    run = Run(RecordFile(path), tmp_path / "run", kind=CLASSIFICATION)
    batches = Batches(OrderedRecords([RecordFile(path)]), CLASSIFICATION, AXES, 4)
    os.remove(path)
    with pytest.raises(InputError, match=rf"^{re.escape(path)}: cannot be read .* check the path") as caught:
        if job == "train":
            run.train(3)
        elif job == "evaluate":
            Evaluator(run.model, losses.CLASSIFICATION).evaluate(batches)
        else:
            Evaluator(run.model, losses.CLASSIFICATION).predict(batches)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("bad", ["length", "bytes"])
def test_a_record_that_does_not_fit_further_down(tmp_path, bad):
    """Files are checked by their first record; one further down that does not fit is told in a line as well."""
    rng = np.random.default_rng(1)
    good = [classification_features(rng) for _ in range(5)]
    odd = serialize(good[0] | {"input_ids": [1, 2]}, CLASSIFICATION) if bad == "length" else b"It is a text."
    path = str(tmp_path / "a.tfrecord")
    write_records([path], [*(serialize(features, CLASSIFICATION) for features in good), odd])
    run = Run(RecordFile(path), tmp_path / "run", kind=CLASSIFICATION)
    batches = Batches(OrderedRecords([RecordFile(path)]), CLASSIFICATION, AXES, 3)
    with pytest.raises(InputError, match=r"a\.tfrecord: record 5 does not fit the others .*; make the file again") as caught:
        Evaluator(run.model, losses.CLASSIFICATION).predict(batches)
    assert "\n" not in str(caught.value)


def test_a_step_compiled_by_xla_equals_the_plain_one(pretraining_file, tmp_path):
    # XLA draws dropout masks from another generator
    config = dataclasses.replace(CONFIG, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    plain, compiled = (
        Run(pretraining_file, tmp_path / name, learning_rate=1e-3, config=config, jit_compile=compile).train(5).values()
        for name, compile in (("plain", False), ("compiled", True))
    )
    for name, value in plain.items():
        np.testing.assert_allclose(compiled[name], value, atol=1e-5, rtol=0, err_msg=name)


# What a TPU cannot run: Python, strings, files, and shapes that depend on values. EnsureShape it can, but XLA takes the shape for such
# a one, and the step becomes six times slower.
NOT_ON_TPU = re.compile(
    r".*PyFunc.*|EnsureShape|String.*|.*Example.*|Where|Unique.*|.*File.*|Print.*|Assert|NonMaxSuppression.*|.*Ragged.*|.*Sparse(?!Softmax).*"
)


@pytest.mark.parametrize("kind", [PRETRAINING, CLASSIFICATION], ids=["pretraining", "classification"])
@pytest.mark.parametrize("micro_batches", [1, 2])
def test_the_steps_graph_holds_nothing_that_a_tpu_cannot_run(pretraining_file, classification_file, tmp_path, kind, micro_batches):
    file = pretraining_file if kind is PRETRAINING else classification_file
    run = Run(file, tmp_path, kind=kind)
    old = run.trainer.step
    step = TrainStep(run.model, old.objective, old.optimizer, old.global_step, StepOptions(1, num_micro_batches=micro_batches))
    spec = {name: tf.TensorSpec(value.shape, value.dtype) for name, value in run.batches.dataset(0, 1).element_spec.items()}
    assert all(each.shape.is_fully_defined() for each in spec.values())
    graph = step._one.get_concrete_function(spec).graph.as_graph_def()
    operations = {node.op for node in graph.node} | {node.op for function in graph.library.function for node in function.node_def}
    assert "MatMul" in operations or "BatchMatMulV2" in operations
    assert not [name for name in operations if NOT_ON_TPU.fullmatch(name)]
