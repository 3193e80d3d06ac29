"""Sweeps of real runs, each in a process of its own: what is kept, the table, going on, and what is refused."""

import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bert_tf.cli import flag_config
from bert_tf.config import SWEPT_SCRIPTS, SweepConfig
from bert_tf.data import saved_logits
from bert_tf.errors import InputError
from bert_tf.workflows import finetune, sweep
from bert_tf.workflows.eval_results import read_eval_results
from tests.conftest import ROOT
from tests.workflows.conftest import finetune_config
from tests.workflows.squad_data import squad_content, write_json

NAMES = [f"{n}_learning_rate-{rate}_seed-{seed}" for n, (rate, seed) in enumerate(((r, s) for r in ("0.003", "1.0") for s in (7, 8)), 1)]


@pytest.fixture(scope="module")
def model(made, tmp_path_factory):
    """Flags of a model whose weights are so large that texts are told apart without a pre-training."""
    path = tmp_path_factory.mktemp("model") / "bert_config.json"
    path.write_text(json.dumps(json.loads((made / "bert_config.json").read_text()) | {"initializer_range": 0.3}))
    return f"--bert_config_file={path}", f"--vocab_file={made}/vocab.txt"


def command(folder, data_dir, model, *more):
    """Returns the flags of two runs that learn and two that collapse."""
    return [
        *(f"--output_dir={folder}", "--grid=learning_rate=3e-3,1", "--restarts=2", "--task_name=topic", f"--data_dir={data_dir}"),
        *(*model, "--max_seq_length=24", "--train_batch_size=8", "--num_train_epochs=6", "--random_seed=7"),
        *("--precision=float32", "--deterministic", "--do_export", *more),
    ]


def configs(arguments):
    return flag_config.parse_nested(SweepConfig, SWEPT_SCRIPTS, ["sweep", *arguments])


def run_sweep(arguments):
    return subprocess.run([sys.executable, "-m", "bert_tf.cli.sweep", *arguments], cwd=ROOT, capture_output=True, text=True)


@pytest.fixture(scope="module")
def finished(data_dir, model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep") / "s"
    arguments = command(folder, data_dir, model)
    done = run_sweep(arguments)
    assert done.returncode == 0, done.stderr
    return folder, arguments, done


@pytest.mark.slow
def test_every_run_has_its_results_and_the_best_its_checkpoint(finished):
    folder, _, _ = finished
    content = json.loads((folder / "sweep.json").read_text())
    assert [run["name"] for run in content["runs"]] == NAMES and content["missing"] == []
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == NAMES
    for run in content["runs"]:
        place = folder / run["name"]
        assert run["results"] == read_eval_results(str(place))
        assert {"eval_results.txt", "eval_logits.npz", "confusion_matrix.tsv", "run_config.json", "labels.txt"} <= set(os.listdir(place))
        is_best = run["name"] == content["best"]
        assert bool(list(place.glob("model.ckpt-*"))) == is_best == (place / "export" / "1").is_dir()
    accuracies = {run["name"]: run["results"]["eval_accuracy"] for run in content["runs"]}
    sound = [run["name"] for run in content["runs"] if run["state"] == "finished"]
    assert content["best"] in sound and accuracies[content["best"]] == max(accuracies[name] for name in sound)
    for setting, names in zip(content["settings"], (NAMES[:2], NAMES[2:])):
        figures = [accuracies[name] for name in names]
        assert setting["mean"] == pytest.approx(statistics.fmean(figures))
        assert setting["standard_deviation"] == pytest.approx(np.std(figures, ddof=1))


@pytest.mark.slow
def test_a_run_that_says_the_same_of_all_rows_is_marked(finished):
    folder, _, _ = finished
    content = json.loads((folder / "sweep.json").read_text())
    for run in content["runs"]:
        logits, _ = saved_logits.read(str(folder / run["name"] / "eval_logits.npz"))
        said = set(logits["logits"].argmax(axis=1))
        assert run["state"] == ("collapsed" if len(said) == 1 else "finished")
    states = [run["state"] for run in content["runs"]]
    assert "finished" in states[:2] and states[2:] == ["collapsed"] * 2, "a rate of 1 is too much"


@pytest.mark.slow
def test_the_table_is_printed_and_kept(finished):
    folder, _, done = finished
    assert done.stdout == (folder / "sweep.md").read_text()
    assert done.stdout.startswith("# topic: run_classifier, 4 runs\n\n| run | learning_rate | random_seed | eval_accuracy | eval_loss |")
    assert "collapsed: all predicted as '" in done.stdout and "finished, the best" in done.stdout
    assert "run 4 of 4" in done.stderr


@pytest.mark.slow
def test_a_run_is_the_script_with_these_flags(finished, data_dir, model, tmp_path):
    folder, _, _ = finished
    files = dict(flag.removeprefix("--").split("=", 1) for flag in model)
    config = finetune_config(
        data_dir, tmp_path, **files, num_train_epochs=6.0, learning_rate=3e-3, random_seed=8, deterministic=True,
        do_eval=True,
    )  # fmt: skip
    results = finetune.run(config)
    assert results["eval_loss"] == read_eval_results(str(folder / NAMES[1]))["eval_loss"]
    assert results["eval_loss"] != read_eval_results(str(folder / NAMES[0]))["eval_loss"]


@pytest.mark.slow
def test_the_same_command_again_trains_nothing_and_shows_the_table(finished, capsys):
    folder, arguments, done = finished
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.suffix in (".log", ".txt", ".index", ".pb")}
    sweep.run(*configs(arguments))
    assert capsys.readouterr().out == done.stdout
    assert before == {path: path.stat().st_mtime_ns for path in before}


@pytest.mark.slow
@pytest.mark.parametrize(
    "change, message",
    [
        ("--train_batch_size=16", "holds a sweep with train_batch_size=8, this one has 16"),
        ("--grid=learning_rate=3e-3", "holds a sweep with --grid=learning_rate=3e-3,1, this one has 'learning_rate=3e-3'"),
        ("--restarts=3", "holds a sweep with --restarts=2, this one has 3"),
        ("--random_seed=9", "holds a sweep with random_seed=7, this one has 9"),
    ],
)
def test_other_flags_in_the_same_folder_are_refused(finished, change, message):
    folder, arguments, _ = finished
    before = (folder / "sweep.json").read_bytes()
    with pytest.raises(InputError, match=message) as caught:
        sweep.run(*configs([*arguments, change]))
    assert "\n" not in str(caught.value)
    assert (folder / "sweep.json").read_bytes() == before


@pytest.mark.slow
def test_another_data_dir_is_refused(finished, data_dir, tmp_path):
    _, arguments, _ = finished
    for name in ("train", "dev"):
        (tmp_path / f"{name}.tsv").write_text((data_dir / f"{name}.tsv").read_text().replace("the", "a", 1))
    text = [argument if argument != f"--data_dir={data_dir}" else f"--data_dir={tmp_path}" for argument in arguments]
    with pytest.raises(InputError, match="holds a sweep with data_dir="):
        sweep.run(*configs(text))


@pytest.mark.slow
def test_rows_that_changed_where_they_are_are_refused(finished, data_dir, tmp_path):
    folder, arguments, _ = finished
    (tmp_path / "s").mkdir()
    rows = tmp_path / "rows"
    shutil.copytree(data_dir, rows)
    (rows / "dev.tsv").write_text((data_dir / "dev.tsv").read_text().replace("the", "a", 1))
    record = (folder / "sweep.json").read_text().replace(str(data_dir), str(rows))
    (tmp_path / "s" / "sweep.json").write_text(record)
    with pytest.raises(InputError, match="the rows changed since this sweep began"):
        sweep.run(*configs([*arguments, f"--data_dir={rows}", f"--output_dir={tmp_path}/s"]))


@pytest.mark.parametrize(
    "change, message",
    [
        ("--data_dir=nowhere", "nowhere"),
        ("--init_checkpoint=nowhere/model.ckpt", "nowhere/model.ckpt"),
        ("--grid=train_batch_size=8,1000;learning_rate=1e-3", "64 training examples make no batch of 1000"),
        ("--grid=learning_rate=1e-3,7", "grid: learning_rate is 7.0; give a number above 0"),
        ("--grid=max_seq_length=16,65", "max_seq_length is 24, but --grid varies it"),
        ("--max_seq_length=65", "65.*64"),
        ("--task_name=nosuch", "task_name is 'nosuch'"),
        ("--overwrite_output_dir", "overwrite_output_dir would throw away finished runs"),
        ("--class_weights=attic:2", "attic"),
    ],
)
def test_a_mistake_stops_the_sweep_before_anything_is_trained(data_dir, model, tmp_path, change, message):
    arguments = [
        flag for flag in command(tmp_path / "s", data_dir, model, change) if flag != "--train_batch_size=8" or "1000" not in change
    ]
    with pytest.raises(InputError, match=message) as caught:
        sweep.run(*configs(arguments))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "s").exists()


@pytest.mark.slow
def test_a_mistake_that_only_the_run_sees_is_told_in_its_words(data_dir, made, pretrained, tmp_path):
    """The model's file does not fit the checkpoint: that shows when the weights are read."""
    other = json.loads((made / "bert_config.json").read_text()) | {"hidden_size": 16}
    (tmp_path / "bert_config.json").write_text(json.dumps(other))
    done = run_sweep(
        command(tmp_path / "s", data_dir, [f"--init_checkpoint={pretrained}", f"--bert_config_file={tmp_path}/bert_config.json"])
    )
    assert done.returncode == 1 and done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"error: {NAMES[0]} did not begin: ") and "shape" in last
    assert not list(tmp_path.rglob("*ckpt*"))


def test_a_runs_name_is_no_longer_than_a_file_systems(data_dir, model, tmp_path):
    long = ",".join(f"{letter * 300}/bert_model.ckpt" for letter in "ab")
    runs = sweep.plan(*configs([f"--grid=init_checkpoint={long}", *command(tmp_path, data_dir, model)[2:], f"--output_dir={tmp_path}"]))
    assert len({planned.name for planned in runs}) == len(runs) == 4 and max(len(planned.name) for planned in runs) < 250


def test_a_folder_with_a_run_of_its_own_is_refused(data_dir, model, tmp_path):
    (tmp_path / "run_config.json").write_text("{}")
    with pytest.raises(InputError, match="holds a run, and a sweep needs a folder of its own"):
        sweep.run(*configs(command(tmp_path, data_dir, model)))


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"runs": 3}'])
def test_a_damaged_record_is_told(data_dir, model, tmp_path, text):
    (tmp_path / "sweep.json").write_text(text)
    with pytest.raises(InputError, match=r"sweep\.json: .*give another --output_dir, or remove") as caught:
        sweep.run(*configs(command(tmp_path, data_dir, model)))
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_questions_too(made, tmp_path):
    file = write_json(tmp_path / "squad.json", squad_content())
    arguments = [
        *("--script=run_squad", "--grid=", "--restarts=1", f"--output_dir={tmp_path}/s", f"--train_file={file}", f"--predict_file={file}"),
        *(f"--vocab_file={made}/vocab.txt", f"--bert_config_file={made}/bert_config.json", "--max_seq_length=40", "--doc_stride=12"),
        *("--max_query_length=10", "--train_batch_size=8", "--num_train_epochs=1", "--learning_rate=3e-3"),
    ]
    done = run_sweep(arguments)
    assert done.returncode == 0, done.stderr
    content = json.loads((tmp_path / "s" / "sweep.json").read_text())
    assert (content["task"], content["metric"], content["best"]) == ("squad-v1.1", "f1", "1_seed-12345")
    assert content["runs"][0]["results"] == read_eval_results(str(tmp_path / "s" / "1_seed-12345"))
    assert "| BERT BASE | dev | f1 | 88.5 | Table 2 |" in done.stdout


def test_the_documented_flags_are_there():
    text = Path(ROOT / "docs" / "sweep.md").read_text()
    for name in ("grid", "restarts", "script", "run_dirs"):
        assert f"--{name}" in text
