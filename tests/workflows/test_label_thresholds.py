"""Thresholds that an evaluation tunes: in its scores, in later predictions and evaluations, in the export; and a flag over them."""

import dataclasses
import json

import pytest

from bert_tf.errors import InputError
from bert_tf.serving.client import Predictor
from bert_tf.workflows import finetune
from tests.workflows.test_finetune_kinds import label_of, own_config, sample, table

sklearn_metrics = pytest.importorskip("sklearn.metrics")

NAMES = ("kitchen", "long", "sky")


@pytest.fixture(scope="module")
def finished(made, tmp_path_factory):
    """A run that is evaluated on the rows that it predicts."""
    folder = tmp_path_factory.mktemp("tuned")
    config = own_config(made, folder, "multilabel", num_train_epochs=2.0)
    config = dataclasses.replace(config, dev_file=config.test_file)
    return folder / "run", finetune.run(config), config


def marks(texts, separator="|"):
    return [[name in text.split(separator) for name in NAMES] for text in texts]


def kept(folder):
    return json.loads((folder / "tuned_thresholds.json").read_text())


def test_scores_follow_from_the_predictions_at_the_tuned_thresholds(finished):
    folder, results, _ = finished
    content = kept(folder)
    assert list(content["thresholds"]) == list(NAMES) and content["weights"] == "model.ckpt-12"
    assert any(threshold != 0.5 for threshold in content["thresholds"].values())
    rows = table(folder / "predictions.tsv")
    right, given = marks(label_of("multilabel", *row) for row in sample(12)), marks(row["labels"] for row in rows)
    assert given == [[float(row[f"probability_{name}"]) >= content["thresholds"][name] for name in NAMES] for row in rows]
    for average in ("micro", "macro"):
        assert results[f"eval_{average}_f1"] == pytest.approx(sklearn_metrics.f1_score(right, given, average=average), abs=1e-12)
    by_label = sklearn_metrics.f1_score(right, given, average=None)
    assert list(content["f1"].values()) == pytest.approx(list(by_label), abs=1e-12)


def test_the_export_gives_labels_at_the_tuned_thresholds(finished):
    folder, results, _ = finished
    answers = Predictor(results["export"]).predict([f'So, "{text}"' for text, _ in sample(12)])
    assert [answer["given"] for answer in answers] == marks(row["labels"] for row in table(folder / "predictions.tsv"))
    assets = folder / "export" / "1" / "assets"
    assert [float(line) for line in (assets / "thresholds.txt").read_text().splitlines()] == list(kept(folder)["thresholds"].values())
    assert not (folder / "thresholds.txt").exists()  # that is what was given by hand


def test_they_go_with_the_model_and_a_flag_goes_over_them(finished, tmp_path, caplog):
    folder, _, config = finished
    before = (folder / "tuned_thresholds.json").read_bytes()
    asked = dict(do_train=False, do_predict=False, do_export=False, train_file=None)
    other = dataclasses.replace(config, **asked, dev_file=str(folder.parent / "dev.csv"))
    with caplog.at_level("INFO", logger="absl"):
        later = finetune.run(other)
    assert "tuned_thresholds.json: was tuned on other rows; it stays" in caplog.text
    assert (folder / "tuned_thresholds.json").read_bytes() == before
    start = dict(init_checkpoint=str(folder), vocab_file=None, bert_config_file=None, output_dir=str(tmp_path / "there"))
    assert finetune.run(dataclasses.replace(other, **start)) == pytest.approx(later)  # at the step of those weights, too
    assert not (tmp_path / "there" / "tuned_thresholds.json").exists()
    by_hand = finetune.run(dataclasses.replace(other, threshold="0.999"))
    assert by_hand["eval_accuracy"] != later["eval_accuracy"] and by_hand["eval_loss"] == later["eval_loss"]
    assert (folder / "tuned_thresholds.json").read_bytes() == before


def test_what_was_tuned_for_other_weights_or_is_damaged_is_told(finished, caplog):
    folder, results, config = finished
    asked = dataclasses.replace(config, do_train=False, do_predict=False, do_export=False, train_file=None)
    file = folder / "tuned_thresholds.json"
    before = file.read_bytes()
    file.write_text(json.dumps(kept(folder) | {"weights": "model.ckpt-3", "thresholds": dict.fromkeys(NAMES, 0.9)}))
    assert finetune.run(asked)["eval_macro_f1"] == results["eval_macro_f1"]
    assert "was tuned for model.ckpt-3, not for model.ckpt-12" in caplog.text and file.read_bytes() == before
    for damaged in ({"thresholds": {"kitchen": 0.4}}, {"thresholds": dict.fromkeys(NAMES, "half")}, {"thresholds": [0.4] * 3}):
        file.write_text(json.dumps(kept(folder) | damaged) if damaged else "{")
        with pytest.raises(InputError, match=r"tuned_thresholds\.json: is damaged; remove it, and --do_eval tunes anew what it holds"):
            finetune.run(asked)
        file.write_bytes(before)


def test_a_prediction_without_an_evaluation_says_that_nothing_was_tuned(finished, tmp_path, caplog):
    folder, _, config = finished
    only = dataclasses.replace(config, do_train=False, do_eval=False, do_export=False, train_file=None, dev_file=None)
    (tmp_path / "model").mkdir()
    for file in folder.iterdir():
        if file.name.startswith(("model.ckpt", "vocab", "bert_config", "labels")):
            (tmp_path / "model" / file.name).write_bytes(file.read_bytes())
    with caplog.at_level("INFO", logger="absl"):
        finetune.run(dataclasses.replace(only, init_checkpoint=str(tmp_path / "model"), output_dir=str(tmp_path / "there")))
    assert "thresholds 0.5: none were given, and none tuned for this model" in caplog.text
    rows = table(tmp_path / "there" / "predictions.tsv")
    given = [[float(row[f"probability_{name}"]) >= 0.5 for name in NAMES] for row in rows]
    assert marks(row["labels"] for row in rows) == given


def test_a_label_that_the_dev_set_lacks_keeps_the_default(made, tmp_path, caplog):
    config = own_config(made, tmp_path, "multilabel", do_predict=False, do_export=False, num_train_epochs=1.0, eval_steps=3)
    config = dataclasses.replace(config, labels="kitchen,long,never,sky")
    results = finetune.run(config)
    content = kept(tmp_path / "run")
    assert "no row of dev has never: the threshold stays 0.5 there" in caplog.text
    assert content["thresholds"]["never"] == 0.5 and content["f1"]["never"] is None
    # evaluations during the training score by thresholds of their own, so that models are compared at their best
    told = json.loads((tmp_path / "run" / "evaluations.json").read_text())
    assert results["eval_micro_f1"] in [entry["eval_micro_f1"] for entry in told["evaluations"]]
