"""Averages of runs: a run with its own copy is that run, two runs are what their mean logits say; and what cannot be averaged."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

from bert_tf.config import EnsembleConfig
from bert_tf.errors import InputError
from bert_tf.workflows import ensemble, finetune, squad
from bert_tf.workflows.eval_results import read_eval_results
from tests.workflows.conftest import finetune_config
from tests.workflows.squad_data import squad_config, squad_content, write_json
from tests.workflows.test_finetune_kinds import own_config

ASKED = dict(do_eval=True, do_predict=True)


def average(output_dir, *folders):
    return ensemble.run(EnsembleConfig(run_dirs=",".join(map(str, folders)), output_dir=str(output_dir)))


def assert_same_files(first, second, names):
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


@pytest.fixture(scope="module")
def runs(data_dir, pretrained, tmp_path_factory):
    """Two runs of topic that differ by their seed."""
    folder = tmp_path_factory.mktemp("runs")
    for seed in (1, 2):
        config = finetune_config(data_dir, folder / str(seed), init_checkpoint=str(pretrained), random_seed=seed, **ASKED)
        finetune.run(config)
    return folder


def saved(folder, name="eval_logits.npz"):
    with np.load(folder / name) as arrays:
        return {key: arrays[key] for key in arrays.files}


def test_two_runs_are_what_their_mean_logits_say(runs, data_dir, tmp_path):
    results = average(tmp_path / "mean", runs / "1", runs / "2")
    mean = (saved(runs / "1")["logits"].astype(np.float64) + saved(runs / "2")["logits"]) / 2
    exponents = np.exp(mean - mean.max(axis=1, keepdims=True))
    probabilities = exponents / exponents.sum(axis=1, keepdims=True)
    right = np.asarray([("kitchen", "sky").index(line.split("\t")[1]) for line in (data_dir / "dev.tsv").read_text().splitlines()[1:]])
    assert results["eval_accuracy"] == pytest.approx(np.mean(mean.argmax(axis=1) == right))
    assert results["eval_loss"] == pytest.approx(-np.log(probabilities[np.arange(len(right)), right]).mean(), abs=1e-6)
    assert read_eval_results(str(tmp_path / "mean")) == results and results["num_runs"] == 2
    # the sample's test file is its dev file
    written = np.loadtxt(tmp_path / "mean" / "test_results.tsv")
    np.testing.assert_allclose(written, probabilities, atol=1e-6)
    header, *rows = (tmp_path / "mean" / "predictions.tsv").read_text().splitlines()
    assert header == "id\tlabel\tprobability_kitchen\tprobability_sky"
    assert [row.split("\t")[1] for row in rows] == [("kitchen", "sky")[best] for best in mean.argmax(axis=1)]
    assert {path.name for path in (tmp_path / "mean").iterdir()} == {
        "confusion_matrix.tsv", "eval_results.txt", "label_scores.tsv", "predictions.tsv", "test_results.tsv",
    }  # fmt: skip


def test_a_pattern_means_its_folders(runs, tmp_path):
    (runs / "1.log").write_text("of a sweep")
    assert average(tmp_path / "a", runs / "*") == average(tmp_path / "b", runs / "1", runs / "2")


@pytest.mark.parametrize("kind, threshold", [("classify", None), ("regress", None), ("multilabel", "0.3"), ("multilabel", None)])
def test_a_run_and_its_copy_are_that_run(made, tmp_path, kind, threshold):
    config = own_config(made, tmp_path, kind, do_export=False, threshold=threshold)
    results = finetune.run(config)
    run = tmp_path / "run"
    for file in run.glob("model.ckpt-*"):
        file.unlink()  # as of a sweep's run that was not the best
    shutil.copytree(run, tmp_path / "copy")
    averaged = average(tmp_path / "mean", run, tmp_path / "copy")
    assert {name: value for name, value in averaged.items() if name != "num_runs"} == pytest.approx(
        {name: value for name, value in results.items() if name != "global_step"}, rel=0, abs=0
    )
    tables = {"classify": ["confusion_matrix.tsv", "label_scores.tsv"], "multilabel": ["label_scores.tsv"], "regress": []}[kind]
    assert_same_files(run, tmp_path / "mean", ["predictions.tsv", "test_results.tsv", *tables])


@pytest.fixture(scope="module", params=[False, True], ids=["v1.1", "v2.0"])
def answered(request, made, tmp_path_factory):
    """Two runs on questions that differ by their seed."""
    folder = tmp_path_factory.mktemp("squad")
    file = write_json(folder / "squad.json", squad_content(version_2=request.param))
    for seed in (1, 2):
        config = squad_config(made, folder / str(seed), file, random_seed=seed, num_train_epochs=4.0, **ASKED)
        squad.run(dataclasses.replace(config, version_2_with_negative=request.param))
    return folder, request.param


def test_a_squad_run_and_its_copy_are_that_run(answered, tmp_path):
    folder, version_2 = answered
    shutil.copytree(folder / "1", tmp_path / "copy")
    results = average(tmp_path / "mean", folder / "1", tmp_path / "copy")
    own = read_eval_results(str(folder / "1"))
    assert {name: value for name, value in results.items() if name != "num_runs"} == {k: v for k, v in own.items() if k != "global_step"}
    names = ["predictions.json", "nbest_predictions.json", *(["null_odds.json"] if version_2 else [])]
    assert_same_files(folder / "1", tmp_path / "mean", names)
    if version_2:
        thresholds = [json.loads((place / "null_threshold.json").read_text()) for place in (folder / "1", tmp_path / "mean")]
        assert thresholds[0]["null_score_diff_threshold"] == thresholds[1]["null_score_diff_threshold"]
    assert average(tmp_path / "mean", folder / "1", tmp_path / "copy") == results  # again, into the same folder


def test_two_squad_runs_are_what_their_mean_logits_say(answered, tmp_path):
    folder, _ = answered
    average(tmp_path / "mean", folder / "1", folder / "2")
    first, second = (saved(folder / name, "predict_logits.npz") for name in "12")
    np.testing.assert_array_equal(first["lengths"], second["lengths"])
    assert first["start"].shape == (first["lengths"].sum(),) and not np.array_equal(first["start"], second["start"])
    means = {name: set(((first[name].astype(np.float64) + second[name]) / 2).astype(np.float32).tolist()) for name in ("start", "end")}
    lists = json.loads((tmp_path / "mean" / "nbest_predictions.json").read_text())
    assert len(lists) == len(json.loads((folder / "1" / "predictions.json").read_text()))
    for entries in lists.values():
        for entry in entries:
            assert entry["start_logit"] in means["start"] and entry["end_logit"] in means["end"]


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(doc_stride=8), r"predict_logits\.npz differ in their doc_stride \(12 and 8\); only logits of the same can be averaged$"),
        (dict(max_seq_length=48), r"differ in their max_seq_length \(40 and 48\)"),
    ],
)
def test_other_windows_are_refused(answered, made, tmp_path, change, message):
    folder, version_2 = answered
    config = squad_config(made, tmp_path / "other", folder / "squad.json", do_predict=True, num_train_epochs=0.5, **change)
    squad.run(dataclasses.replace(config, version_2_with_negative=version_2))
    with pytest.raises(InputError, match=message) as caught:
        average(tmp_path / "mean", folder / "1", tmp_path / "other")
    assert "\n" not in str(caught.value) and not (tmp_path / "mean").exists()


def test_runs_of_a_task_and_of_questions_are_not_averaged(runs, answered, tmp_path):
    folder, _ = answered
    with pytest.raises(InputError, match=r"has no eval_logits\.npz, which .* has; evaluate or predict the same sets with both"):
        average(tmp_path / "mean", runs / "1", folder / "1")


def copies(runs, tmp_path):
    shutil.copytree(runs / "1", tmp_path / "1")
    shutil.copytree(runs / "2", tmp_path / "2")
    return tmp_path / "1", tmp_path / "2"


def test_other_rows_are_refused(runs, data_dir, tmp_path):
    shutil.copytree(runs / "2", tmp_path / "2")
    shutil.copytree(data_dir, tmp_path / "data")
    (tmp_path / "data" / "dev.tsv").write_text((data_dir / "dev.tsv").read_text().replace("the", "a", 1))
    finetune.run(finetune_config(tmp_path / "data", tmp_path / "2", do_train=False, **ASKED))
    with pytest.raises(InputError, match=r"1/eval_logits\.npz and .*2/eval_logits\.npz differ in their rows; only logits of the same"):
        average(tmp_path / "mean", runs / "1", tmp_path / "2")


def test_rows_that_changed_since_are_refused(data_dir, runs, tmp_path):
    first, second = copies(runs, tmp_path)
    for folder in (first, second):
        arrays = saved(folder)
        about = json.loads(arrays["about"].tobytes())
        about["config"]["data_dir"] = str(tmp_path / "data")
        np.savez(folder / "eval_logits.npz", logits=arrays["logits"], about=np.frombuffer(json.dumps(about).encode(), np.uint8))
    shutil.copytree(data_dir, tmp_path / "data")
    (tmp_path / "data" / "dev.tsv").write_text((data_dir / "dev.tsv").read_text().replace("the", "a", 1))
    with pytest.raises(InputError, match=r"eval_logits\.npz: the rows or labels of dev changed since it was written"):
        average(tmp_path / "mean", first, second)
    assert not (tmp_path / "mean").exists()


def test_sets_that_one_run_lacks_are_told(runs, tmp_path):
    first, second = copies(runs, tmp_path)
    (second / "predict_logits.npz").unlink()
    with pytest.raises(InputError, match=r"2: has no predict_logits\.npz, which .*1 has"):
        average(tmp_path / "mean", first, second)
    (second / "eval_logits.npz").unlink()
    with pytest.raises(InputError, match="2: has no saved logits; evaluate or predict with the run first"):
        average(tmp_path / "mean", first, second)


def test_files_of_other_arrays_or_of_another_workflow_are_refused(runs, tmp_path):
    first, second = copies(runs, tmp_path)
    arrays = saved(second)
    np.savez(second / "eval_logits.npz", about=arrays["about"])  # the mean of one would be half of it
    with pytest.raises(InputError, match=r"2/eval_logits\.npz: its array logits is not like that of .*1/eval_logits\.npz"):
        average(tmp_path / "mean", first, second)
    about = json.loads(arrays["about"].tobytes()) | {"workflow": "pretrain"}
    for folder in (first, second):
        np.savez(folder / "eval_logits.npz", logits=arrays["logits"], about=np.frombuffer(json.dumps(about).encode(), np.uint8))
    with pytest.raises(InputError, match=r"1/eval_logits\.npz: holds logits of 'pretrain'; evaluate or predict again"):
        average(tmp_path / "mean", first, second)
    assert not (tmp_path / "mean").exists()


def test_runs_that_make_no_ensemble(runs, tmp_path):
    for folders, message in (
        ([runs / "1"], "run_dirs names 1 runs; give two or more"),
        ([runs / "1", f"{runs}/1/"], "names .*1/ twice; give each run once"),
        ([runs / "1", tmp_path / "nowhere"], "nowhere: is not there; give the output directories of runs"),
        ([tmp_path / "none-*"], r"no folder matches '.*none-\*'; check the path"),
    ):
        with pytest.raises(InputError, match=message):
            average(tmp_path / "mean", *folders)
    with pytest.raises(InputError, match="is the output_dir too"):
        average(runs / "1", runs / "1", runs / "2")
    first, second = copies(runs, tmp_path)
    (second / "eval_logits.npz").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"2/eval_logits\.npz: is no file of logits, or damaged"):
        average(tmp_path / "mean", first, second)
    assert not (tmp_path / "mean").exists()
