"""The protocol of the results table: its rows are command lines that the scripts take, and its table tells what the sweeps did."""

import pytest

from benchmarks.tasks import data, table
from benchmarks.tasks.protocol import DEMANDS, FROM_CHECKPOINT, ROWS, SQUAD, Row, TasksConfig, sweep_flags
from bert_tf.cli import flag_config
from bert_tf.config import SWEPT_SCRIPTS, SweepConfig
from bert_tf.errors import InputError
from bert_tf.tasks.table import find_task

BY_NAME = {row.name: row for row in ROWS}
PLACES = dict(data_dir="d", work_dir="w", init_checkpoint="m")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_is_a_command_line_that_the_sweep_takes(row):
    model = {"bert_config_file": "c", "vocab_file": "v"} if row.from_random else {"init_checkpoint": "m"}
    outer, inner = flag_config.parse_nested(SweepConfig, SWEPT_SCRIPTS, ["sweep", *sweep_flags(row, "out", "rows", model)])
    assert (outer.grid, outer.restarts, outer.output_dir, inner.random_seed) == ("", row.restarts, "out", 1)
    assert {name: getattr(inner, name) for name in row.flags} == row.flags
    assert row.data in data.MAKERS
    if row.script != SQUAD:
        known = {f"eval_{score}" for score in find_task(row.task).metrics} | {"eval_accuracy"}
        assert set(row.scores) <= known


def test_rows_are_told_apart_and_asked_for_by_name():
    assert len(BY_NAME) == len(ROWS)
    assert [row.name for row in TasksConfig(**PLACES, only="rte, cola").rows()] == ["cola", "rte"]
    assert TasksConfig(**PLACES).rows() == list(ROWS)
    with pytest.raises(InputError, match=r"^only names imdb; give some of mrpc, "):
        TasksConfig(**PLACES, only="mrpc,imdb")


def test_random_weights_differ_from_the_checkpoint_in_nothing_else():
    for demand in DEMANDS:
        pretrained, random = BY_NAME[demand.row], BY_NAME[f"{demand.row}-random"]
        assert random == pretrained._replace(name=random.name, restarts=1, from_random=True)
        assert pretrained in FROM_CHECKPOINT and demand.score in pretrained.scores


def sweep_of(row: Row, *results):
    config = {"learning_rate": 1e-4, "train_batch_size": 32, "max_seq_length": 128, "num_train_epochs": 3.0}
    runs = [{"random_seed": seed, "state": "finished", "seconds": 10.0, "results": found} for seed, found in enumerate(results, 1)]
    return row, {"config": config, "runs": runs, "precision": "bfloat16"}


def test_figures_are_in_percent_beside_those_of_the_paper():
    mrpc = sweep_of(BY_NAME["mrpc"], {"eval_accuracy": 0.80, "eval_f1": 0.85}, {"eval_accuracy": 0.82, "eval_f1": 0.87})
    squad = sweep_of(BY_NAME["squad1"], {"f1": 60.0, "exact_match": 50.0})
    first, second = table.content([mrpc, squad])["rows"]
    accuracy = first["scores"]["eval_accuracy"]
    assert accuracy["mean"] == pytest.approx(81) and accuracy["best"] == pytest.approx(82)
    assert accuracy["standard_deviation"] == pytest.approx(2**0.5) and accuracy["paper"]["percent"] == 86.7
    assert second["scores"]["f1"] == {**second["scores"]["f1"], "mean": 60.0, "standard_deviation": None}
    text = table.markdown(table.content([mrpc, squad]))
    assert "| mrpc | 0.0001 | 32 | 128 | 3 | bfloat16 | 1, 2 | f1 | 86.0 | 1.4 | 87.0 | 88.9 (test) | 10 |" in text
    assert "| f1 | 60.0 |  | 60.0 | 88.5 (dev) | 10 |" in text
    assert len({line.count("|") for line in text.splitlines()}) == 1


@pytest.mark.parametrize("name", ["swag", "mrpc-random"])
def test_a_smoke_test_and_random_weights_are_not_set_beside_the_paper(name):
    (told,) = table.content([sweep_of(BY_NAME[name], {"eval_accuracy": 1.0, "eval_f1": 1.0})])["rows"]
    assert [figures["paper"] for figures in told["scores"].values()] == [None] * len(BY_NAME[name].scores)


@pytest.mark.parametrize("random, verdict", [(0.75, "holds"), (0.76, "DOES NOT HOLD")])
def test_transfer_has_to_win_by_so_much(random, verdict):
    told = table.content(
        [sweep_of(BY_NAME[name], {"eval_accuracy": reached}) for name, reached in (("mrpc", 0.8005), ("mrpc-random", random))]
    )
    assert [won["holds"] for won in told["transfer"]] == [verdict == "holds"]
    assert f"points of accuracy; at least 5: {verdict}" in table.markdown(told)


def test_what_is_undefined_or_collapsed_is_told():
    row, sweep = sweep_of(BY_NAME["cola"], {"eval_matthews": None})
    sweep["runs"][0]["state"] = "collapsed"
    told = table.content([(row, sweep)])
    assert told["rows"][0]["scores"]["eval_matthews"]["mean"] is None and told["transfer"] == []
    assert "cola: 1 of 1 runs collapsed" in table.markdown(told)
