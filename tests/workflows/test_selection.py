"""Evaluations during training: the best checkpoint is kept and used, and none of it changes the training."""

import json
import shutil

import pytest

from bert_tf.errors import InputError
from bert_tf.training.checkpoints import checkpoint_steps
from bert_tf.workflows import finetune, pretrain
from tests.workflows.conftest import assert_equal_weights, finetune_config, pretrain_config


@pytest.fixture(scope="module")
def selected(data_dir, pretrained, tmp_path_factory):
    """A run of 16 steps, evaluated every five, at so high a rate that the last step is hardly the best."""
    config = finetune_config(
        *(data_dir, tmp_path_factory.mktemp("selected")),
        init_checkpoint=str(pretrained), learning_rate=3e-2, deterministic=True, do_eval=True, eval_steps=5, keep_checkpoint_max=1,
    )  # fmt: skip
    return config, finetune.run(config)


def evaluations(config):
    with open(f"{config.output_dir}/evaluations.json") as file:
        return json.load(file)


def test_the_best_is_kept_and_used(selected, data_dir):
    config, results = selected
    told = evaluations(config)
    assert [each["step"] for each in told["evaluations"]] == [5, 10, 15, 16]
    assert told["metric"] == "eval_accuracy"
    best = max(told["evaluations"], key=lambda each: (each["eval_accuracy"], -each["step"]))
    assert told["best_step"] == best["step"] == results["global_step"] != 16, "the last one would need no restoring"
    assert checkpoint_steps(config.output_dir) == sorted({best["step"], 16})
    assert results["eval_accuracy"] == best["eval_accuracy"] and results["eval_loss"] == pytest.approx(best["eval_loss"], abs=1e-6)
    later = finetune.run(finetune_config(data_dir, config.output_dir, do_train=False, do_eval=True))
    assert later == {name: pytest.approx(value, abs=1e-6) for name, value in results.items()}


def test_it_changes_nothing_in_the_training(selected, data_dir, pretrained, tmp_path):
    config, _ = selected
    plain = finetune_config(data_dir, tmp_path, init_checkpoint=str(pretrained), learning_rate=3e-2, deterministic=True)
    finetune.run(plain)
    assert_equal_weights(f"{config.output_dir}/model.ckpt-16", f"{tmp_path}/model.ckpt-16")


def test_a_run_killed_before_an_evaluation_makes_up_for_it(selected, data_dir, tmp_path):
    config, results = selected
    folder = tmp_path / "copy"
    shutil.copytree(config.output_dir, folder)
    told = evaluations(config)
    cut = told | {"evaluations": [each for each in told["evaluations"] if each["step"] < 16]}
    (folder / "evaluations.json").write_text(json.dumps(cut))
    again = finetune_config(
        *(data_dir, folder),
        init_checkpoint=config.init_checkpoint, learning_rate=3e-2, deterministic=True, do_eval=True, eval_steps=5, keep_checkpoint_max=1,
    )  # fmt: skip
    assert finetune.run(again) == {name: pytest.approx(value, abs=1e-6) for name, value in results.items()}
    assert [each["step"] for each in evaluations(again)["evaluations"]] == [5, 10, 15, 16]


def test_early_stopping(data_dir, pretrained, tmp_path, caplog):
    caplog.set_level("INFO", logger="absl")
    config = finetune_config(
        data_dir, tmp_path, init_checkpoint=str(pretrained), learning_rate=1e-30, eval_steps=2, early_stopping_patience=2, do_eval=True
    )
    results = finetune.run(config)
    assert [each["step"] for each in evaluations(config)["evaluations"]] == [2, 4, 6]
    assert results["global_step"] == 2, "the earliest of equals"
    assert "stopping early: no better eval_accuracy in 2 evaluations" in caplog.text
    finetune.run(config)
    assert "training is finished (step 6 of 16)" in caplog.text


def test_a_damaged_best_checkpoint_is_told_and_the_newest_taken(selected, data_dir, tmp_path, caplog):
    config, results = selected
    folder = tmp_path / "copy"
    shutil.copytree(config.output_dir, folder)
    data = folder / f"model.ckpt-{results['global_step']}.data-00000-of-00001"
    data.write_bytes(bytes(byte ^ 1 for byte in data.read_bytes()))
    assert finetune.run(finetune_config(data_dir, folder, do_train=False, do_eval=True))["global_step"] == 16
    assert f"model.ckpt-{results['global_step']}: is damaged" in caplog.text and "taking the newest" in caplog.text


def test_going_on_without_evaluations_the_last_checkpoint_counts(data_dir, pretrained, tmp_path, caplog):
    config = finetune_config(data_dir, tmp_path, init_checkpoint=str(pretrained), eval_steps=4, save_checkpoints_steps=4)
    finetune.run(config)
    for name in (tmp_path / "model.ckpt-16.index", tmp_path / "checkpoint"):
        name.unlink()
    plain = finetune_config(data_dir, tmp_path, init_checkpoint=str(pretrained), do_eval=True)
    assert finetune.run(plain)["global_step"] == 16
    assert "removed, as the training goes on without --eval_steps" in caplog.text
    assert finetune.run(finetune_config(data_dir, tmp_path, do_train=False, do_eval=True))["global_step"] == 16


@pytest.mark.parametrize(
    "content",
    [
        "{",
        '{"metric": "eval_accuracy", "best_step": "a", "evaluated_on": "", "evaluations": []}',
        '{"metric": "eval_accuracy", "best_step": 5, "evaluated_on": "", "evaluations": [{"step": 5, "eval_accuracy": "high"}]}',
        "[]",
    ],
)
def test_a_damaged_file_is_named(selected, data_dir, tmp_path, content):
    config, _ = selected
    folder = tmp_path / "copy"
    shutil.copytree(config.output_dir, folder)
    (folder / "evaluations.json").write_text(content)
    with pytest.raises(InputError, match=r"evaluations.json: is damaged; remove it"):
        finetune.run(finetune_config(data_dir, folder, do_train=False, do_eval=True))


def test_a_pre_training_is_judged_by_its_loss(made, tmp_path, caplog):
    config = pretrain_config(made, tmp_path, eval_steps=2, do_eval=True)
    results = pretrain.run(config)
    told = evaluations(config)
    assert told["metric"] == "loss"
    assert told["best_step"] == min(told["evaluations"], key=lambda each: each["loss"])["step"] == results["global_step"]
    assert results["loss"] == pytest.approx(min(each["loss"] for each in told["evaluations"]), abs=1e-6)


def test_patience_without_evaluations_is_refused(data_dir, tmp_path):
    with pytest.raises(InputError, match="early_stopping_patience is 2, but there are no evaluations; give --eval_steps"):
        finetune_config(data_dir, tmp_path, early_stopping_patience=2)
