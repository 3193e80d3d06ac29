"""The verdict on two implementations: means, deviations, and the standard error of their difference."""

import math

import pytest

from benchmarks.scores import SIDES, TASKS, compare
from bert_tf.tasks.table import find_task


def runs(*accuracies):
    return [{"accuracy": accuracy, "seconds": 60.0} for accuracy in accuracies]


@pytest.mark.parametrize("ours, verdict", [((0.80, 0.82), "below"), ((0.84, 0.86), "NOT below")])
def test_a_difference_is_told_beside_its_standard_error(ours, verdict):
    lines = compare({"ours": runs(*ours), "theirs": runs(0.78, 0.82)}, ("accuracy",)).splitlines()
    assert lines[0].count("|") == lines[1].count("|") == lines[2].count("|")
    assert lines[3] == "| theirs | 80.00 ± 2.83 | 60 |"
    error = math.sqrt(2 / 2 + 8 / 2)  # sample variances 2 and 8, two runs each
    difference = 100 * (sum(ours) / 2 - 0.80)
    assert lines[4] == f"ours, accuracy: difference of the means {difference:+.2f}, {verdict} twice its standard error {error:.2f}"


def test_one_seed_gives_no_verdict():
    assert len(compare({"ours": runs(0.8), "theirs": runs(0.7)}, ("accuracy",)).splitlines()) == 4


def test_what_the_others_are_compared_with_comes_last():
    assert list(SIDES)[-1] == "transformers"


@pytest.mark.parametrize("task", TASKS)
def test_places_of_columns_are_those_of_the_tasks_file(task):
    told, file = TASKS[task], find_task(task).table.files["train"]
    assert told["has_header"] == file.has_header
    if file.columns:
        assert [file.columns[place] for place in (*told["columns"], told["label"])] == ["sentence", "label"]
    assert set(told["scores"]) == set(find_task(task).metrics)
