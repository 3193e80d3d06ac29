"""A sweep's figures: means and deviations, and the table that tells them."""

import math
import statistics

import pytest

from bert_tf.workflows.sweep_record import Outcome
from bert_tf.workflows.sweep_table import figures_of_settings, markdown


def outcome(number, rate, figure, state="finished", note=""):
    results = {} if figure is None else {"eval_f1": figure, "eval_loss": 0.5, "loss": 0.5, "global_step": 9.0}
    return Outcome(f"{number}_learning_rate-{rate}", {"learning_rate": rate}, 10 + number, state, results, note, 1.0)


OUTCOMES = [
    outcome(1, 5e-5, 0.8),
    outcome(2, 5e-5, 0.9),
    outcome(3, 5e-5, 0.1, "collapsed", "all predicted as '0'"),
    outcome(4, 3e-5, 0.7),
    outcome(5, 3e-5, None, "failed", "killed by SIGKILL"),
    outcome(6, 3e-5, math.nan),
]


def test_means_and_deviations_over_all_runs_that_have_a_figure():
    first, second = figures_of_settings("eval_f1", OUTCOMES)
    assert first == {
        "setting": {"learning_rate": 5e-5}, "runs": 3, "measured": 3, "collapsed": 1, "failed": 0, "mean": pytest.approx(0.6),
        "standard_deviation": pytest.approx(statistics.stdev([0.8, 0.9, 0.1])), "lowest": 0.1, "highest": 0.9,
    }  # fmt: skip
    assert (second["runs"], second["measured"], second["failed"], second["mean"]) == (3, 1, 1, 0.7)
    assert math.isnan(second["standard_deviation"])


def test_the_table_hides_nothing():
    runs = [each._asdict() | {"results": {k: v if math.isfinite(v) else None for k, v in each.results.items()}} for each in OUTCOMES]
    settings = figures_of_settings("eval_f1", OUTCOMES)
    settings[1]["standard_deviation"] = None
    paper = [{"model": "BERT BASE", "measured_on": "dev", "metric": "accuracy", "percent": 86.7, "source": "Table 5"}]
    content = {"task": "mrpc", "script": "run_classifier", "metric": "eval_f1", "runs": runs, "missing": ["7_x"], "settings": settings}
    lines = markdown(content | {"best": "2_learning_rate-5e-05", "paper": paper}).splitlines()
    assert lines[0] == "# mrpc: run_classifier, 6 runs"
    assert lines[2] == "| run | learning_rate | random_seed | eval_f1 | eval_loss | state |"
    assert lines[5] == "| 2 | 5e-05 | 12 | 0.9 | 0.5 | finished, the best |"
    assert lines[6] == "| 3 | 5e-05 | 13 | 0.1 | 0.5 | collapsed: all predicted as '0' |"
    assert lines[8] == "| 5 | 3e-05 | 15 |  |  | failed: killed by SIGKILL |"
    assert lines[9] == "| 6 | 3e-05 | 16 | undefined | 0.5 | finished |"
    assert "1 runs are still to be done." in lines
    assert "| 5e-05 | 3 | 0.6 | 0.4359 | 0.1 | 0.9 | 1 | 0 |" in lines
    assert "| 3e-05 | 3 | 0.7 | undefined | 0.7 | 0.7 | 0 | 1 |" in lines
    assert "Best on dev: eval_f1 0.9 in `2_learning_rate-5e-05`. Its checkpoint is kept." in lines
    assert lines[-1] == "| BERT BASE | dev | accuracy | 86.7 | Table 5 |"
