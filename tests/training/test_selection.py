"""Which checkpoint is best and stays, by scripted scores."""

import json
import math

import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.training.checkpoints import GLOBAL_STEP, Checkpoints, checkpoint_steps
from bert_tf.training.selection import Scoring, Selection, best_checkpoint

LOSSES = [0.9, 0.4, 0.7, 0.8]
F1 = [0.2, 0.9, 0.3, 0.3]


class Run:
    """A run whose evaluation at step n gives the n-th of the scripted scores; of its checkpoints the newest is kept."""

    def __init__(self, folder, script, lower_is_better=False, patience=0, first_step=0, data="dev"):
        self.step = tf.Variable(first_step, dtype=tf.int64)
        self.checkpoints = Checkpoints(str(folder), {GLOBAL_STEP: self.step}, keep=1)
        scoring = Scoring(lambda: {"score": script[int(self.step) - 1]}, "score", data, lower_is_better)
        self.selection = Selection(self.checkpoints, scoring, every=1, patience=patience, first_step=first_step, writes=True)

    def go(self, last_step):
        """Saves and evaluates up to a step, or where it is over, and returns the steps whose checkpoints are left."""
        while int(self.step) < last_step and not self.selection.is_over:
            self.step.assign_add(1)
            self.checkpoints.save(int(self.step))
            self.selection.assess(int(self.step))
        return checkpoint_steps(self.checkpoints.folder)


@pytest.mark.parametrize("script, lower_is_better, word", [(LOSSES, True, "lower"), (F1, False, "higher")], ids=["loss", "f1"])
def test_the_best_and_the_newest_stay(tmp_path, caplog, script, lower_is_better, word):
    caplog.set_level("INFO", logger="absl")
    assert Run(tmp_path, script, lower_is_better).go(4) == [2, 4]
    assert best_checkpoint(str(tmp_path)) == f"{tmp_path}/model.ckpt-2"
    assert f"step 2: score {script[1]} ({word} is better), the best so far" in caplog.text
    assert f"step 4: score {script[3]} ({word} is better), best at step 2" in caplog.text


def test_a_continued_run_remembers(tmp_path):
    Run(tmp_path, F1).go(3)
    again = Run(tmp_path, F1, first_step=3)
    assert again.selection.best_step == 2
    assert again.go(4) == [2, 4]
    assert [each["step"] for each in json.loads((tmp_path / "evaluations.json").read_text())["evaluations"]] == [1, 2, 3, 4]


def test_a_run_set_back_forgets_what_came_after(tmp_path):
    Run(tmp_path, F1).go(2)
    again = Run(tmp_path, [0.2, 0.1, 0.3, 0.25], first_step=1)
    assert again.selection.best_step == 1 == json.loads((tmp_path / "evaluations.json").read_text())["best_step"]
    again.go(4)
    assert again.selection.best_step == 3


@pytest.mark.parametrize("script, best", [([0.5, 0.5, 0.5], 1), ([math.nan, 0.1, math.nan], 2), ([math.nan, math.nan], None)])
def test_ties_and_what_is_undefined(tmp_path, script, best):
    run = Run(tmp_path, script)
    run.go(len(script))
    assert run.selection.best_step == best
    assert json.loads((tmp_path / "evaluations.json").read_text())["best_step"] == best
    assert best_checkpoint(str(tmp_path)) == (None if best is None else f"{tmp_path}/model.ckpt-{best}")


def test_patience(tmp_path):
    run = Run(tmp_path, F1, patience=2)
    assert run.go(4) == [2, 4] and run.selection.is_over
    longer = Run(tmp_path / "b", F1, patience=3)
    assert longer.go(4) == [2, 4] and not longer.selection.is_over


def test_when_it_is_due(tmp_path):
    run = Run(tmp_path, F1)
    selection = Selection(run.checkpoints, Scoring(lambda: {"score": 1.0}, "score", "dev"), every=5, patience=0, first_step=0, writes=False)
    assert [step for step in range(13) if selection.is_due(step, 12)] == [5, 10, 12]
    selection.assess(5)
    assert not selection.is_due(5, 12)
    assert not (tmp_path / "evaluations.json").exists(), "another worker writes it"


def test_another_metric_is_refused(tmp_path):
    run = Run(tmp_path, F1)
    run.go(1)
    with pytest.raises(InputError, match=r"evaluations.json: its best step was chosen by score, not other; give another --output_dir"):
        Selection(run.checkpoints, Scoring(lambda: {"other": 1.0}, "other", "dev"), every=1, patience=0, first_step=1, writes=True)


def test_a_best_checkpoint_that_is_gone(tmp_path, caplog):
    Run(tmp_path, F1).go(4)
    (tmp_path / "model.ckpt-2.index").unlink()
    assert best_checkpoint(str(tmp_path)) is None
    assert "the best checkpoint, model.ckpt-2, is gone; taking the newest" in caplog.text


def test_evaluations_of_other_data_count_no_more(tmp_path, caplog):
    Run(tmp_path, F1).go(3)
    again = Run(tmp_path, F1, first_step=3, data="other")
    assert again.selection.best_step is None
    assert "its evaluations were on other data" in caplog.text
    again.go(4)
    assert again.selection.best_step == 4


def test_another_runs_file_is_not_read(tmp_path):
    (tmp_path / "evaluations.json").write_text("{")
    run = Run(tmp_path / "a", F1)
    run.checkpoints.folder = str(tmp_path)
    scoring = Scoring(lambda: {"score": 1.0}, "score", "dev")
    selection = Selection(run.checkpoints, scoring, every=1, patience=0, first_step=0, writes=True, is_new=True)
    assert selection.standing == (0, 0)
