"""Fine-tuning on rows of one's own, of each kind, and on several sets: the files that come out, and the same labels later."""

import csv
import dataclasses
import json

import numpy as np
import pytest

from bert_tf.config import FinetuneConfig, PredictConfig
from bert_tf.errors import InputError
from bert_tf.serving.client import Predictor
from bert_tf.workflows import finetune, predict
from tests.workflows.conftest import SAMPLE

SIZES = {"train": 48, "dev": 16, "test": 12}


def sample(count):
    lines = (SAMPLE / "train.tsv").read_text().splitlines()[1 : count + 1]
    return [line.split("\t")[:2] for line in lines]


def label_of(kind, text, topic):
    if kind == "classify":
        return topic
    if kind == "regress":
        return str(len(text) / 10)
    return "|".join(part for part, given in ((topic, True), ("long", len(text) > 40)) if given)


def own_config(made, folder, kind, **changes):
    """Writes train.csv, dev.csv and test.csv of that kind, and returns what trains on them."""
    for name, count in SIZES.items():
        with open(folder / f"{name}.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["key", "what", "body"])
            # a comma and a quote in every text, so that it is CSV that is read
            writer.writerows([f"k{number}", label_of(kind, *row), f'So, "{row[0]}"'] for number, row in enumerate(sample(count)))
    # weights so large that texts are told apart without a pre-training
    config = json.loads((made / "bert_config.json").read_text()) | {"initializer_range": 0.3}
    (folder / "bert_config.json").write_text(json.dumps(config))
    values = dict(
        task_name="custom",
        kind=kind,
        label_separator="|",
        text_column="body",
        label_column="what",
        id_column="key",
        bert_config_file=str(folder / "bert_config.json"),
        vocab_file=str(made / "vocab.txt"),
        output_dir=str(folder / "run"),
        max_seq_length=24,
        train_batch_size=8,
        num_train_epochs=6.0,
        learning_rate=1e-3,
        precision="float32",
        **{name: True for name in ("do_train", "do_eval", "do_predict", "do_export")},
        **{f"{name}_file": str(folder / f"{name}.csv") for name in SIZES},
    )
    return FinetuneConfig(**(values | changes))


def table(path):
    header, *rows = [line.split("\t") for line in path.read_text().splitlines()]
    return [dict(zip(header, row, strict=True)) for row in rows]


@pytest.fixture(scope="module", params=["classify", "regress", "multilabel"])
def finished(request, made, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    config = own_config(made, folder, request.param, threshold="0.3" if request.param == "multilabel" else None)
    return folder, finetune.run(config), config


FIGURES = {
    "classify": {"eval_accuracy", "eval_f1", "eval_matthews"},
    "regress": {"eval_pearson", "eval_spearman"},
    "multilabel": {"eval_micro_f1", "eval_macro_f1", "eval_accuracy"},
}
FILES = {
    "classify": {"labels.txt", "confusion_matrix.tsv", "label_scores.tsv"},
    "regress": set(),
    "multilabel": {"labels.txt", "thresholds.txt", "label_scores.tsv"},
}


def test_figures_and_files_of_the_kind(finished):
    folder, results, config = finished
    told = [line.split(" = ")[0] for line in (folder / "run" / "eval_results.txt").read_text().splitlines()]
    assert set(told) == FIGURES[config.kind] | {"eval_loss", "loss", "global_step"} and told == sorted(told)
    assert results["eval_loss"] == results["loss"] and results["global_step"] == 36
    there = {path.name for path in (folder / "run").iterdir()}
    assert FILES[config.kind] == there & set.union(*FILES.values())
    assert {"predictions.tsv", "test_results.tsv", "train.tf_record", "eval.tf_record", "predict.tf_record"} <= there


def test_predictions_carry_the_users_ids_and_equal_the_results(finished):
    folder, _, config = finished
    rows = table(folder / "run" / "predictions.tsv")
    assert [row["id"] for row in rows] == [f"k{number}" for number in range(12)]
    results = [line.split("\t") for line in (folder / "run" / "test_results.tsv").read_text().splitlines()]
    assert results == [list(row.values())[1 if config.kind == "regress" else 2 :] for row in rows]


def test_scores_follow_from_the_predictions(finished):
    folder, results, config = finished
    # test.csv is the beginning of dev.csv; of that the predictions file speaks
    again = dataclasses.replace(config, do_train=False, do_export=False, do_predict=False, dev_file=config.test_file)
    results = finetune.run(again)
    rows = table(folder / "run" / "predictions.tsv")
    labels = [label_of(config.kind, *row) for row in sample(12)]
    if config.kind == "regress":
        predicted = np.asarray([float(row["prediction"]) for row in rows])
        assert results["eval_pearson"] == pytest.approx(np.corrcoef(predicted, np.asarray(labels, float))[0, 1], abs=1e-6)
        assert results["eval_loss"] == pytest.approx(np.mean((predicted - np.asarray(labels, float)) ** 2), rel=1e-5)
    elif config.kind == "classify":
        assert results["eval_accuracy"] == pytest.approx(np.mean([row["label"] == label for row, label in zip(rows, labels)]))
        matrix = table(folder / "run" / "confusion_matrix.tsv")
        assert sum(int(line[line["label"]]) for line in matrix) == round(results["eval_accuracy"] * 12)
    else:
        pairs = [(set(row["labels"].split("|")) - {""}, set(label.split("|"))) for row, label in zip(rows, labels)]
        hits, both = sum(len(one & two) for one, two in pairs), sum(len(one) + len(two) for one, two in pairs)
        assert results["eval_micro_f1"] == pytest.approx(2 * hits / both)
        given = [label for row in rows for label in ("kitchen", "long", "sky") if label in row["labels"].split("|")]
        above = [name for row in rows for name in ("kitchen", "long", "sky") if float(row[f"probability_{name}"]) >= 0.3]
        assert given == above


def test_the_export_answers_as_the_predictions_file(finished, capsys):
    folder, results, config = finished
    answers = Predictor(results["export"]).predict([f'So, "{text}"' for text, _ in sample(12)])
    rows = table(folder / "run" / "predictions.tsv")
    for answer, row in zip(answers, rows, strict=True):
        if config.kind == "regress":
            assert answer.keys() == {"prediction"}
            assert answer["prediction"] == pytest.approx(float(row["prediction"]), abs=1e-4)
            continue
        np.testing.assert_allclose(answer["probabilities"], [float(value) for value in list(row.values())[2:]], atol=1e-5)
        if config.kind == "multilabel":
            assert "|".join(label for label, given in zip(("kitchen", "long", "sky"), answer["given"]) if given) == row["labels"]
    predict.run(PredictConfig(saved_model=results["export"], text=f'So, "{sample(1)[0][0]}"'))
    told = json.loads(capsys.readouterr().out)
    if config.kind == "multilabel":
        assert "|".join(told["labels"]) == rows[0]["labels"]
    elif config.kind == "regress":
        assert told["prediction"] == pytest.approx(float(rows[0]["prediction"]), abs=1e-4)
    else:
        assert told["label"] == rows[0]["label"]


def test_a_later_evaluation_takes_the_labels_from_the_runs_folder(finished, tmp_path):
    folder, results, config = finished
    later = dataclasses.replace(
        config, do_train=False, do_predict=False, do_export=False, train_file=None, threshold=None, output_dir=str(tmp_path),
        init_checkpoint=str(folder / "run"), vocab_file=None, bert_config_file=None,
    )  # fmt: skip
    assert finetune.run(later)["eval_loss"] == pytest.approx(results["eval_loss"], rel=1e-5)
    for name in FIGURES[config.kind]:
        assert finetune.run(dataclasses.replace(later, output_dir=config.output_dir))[name] == pytest.approx(results[name], nan_ok=True)


def test_class_weights_change_the_training_and_not_the_evaluations_loss(made, tmp_path):
    config = own_config(made, tmp_path, "classify", do_predict=False, do_export=False, deterministic=True)
    plain = finetune.run(config)
    heavy = finetune.run(dataclasses.replace(config, class_weights="sky:50", output_dir=str(tmp_path / "heavy")))
    rows = [line.split("\t") for line in (tmp_path / "heavy" / "confusion_matrix.tsv").read_text().splitlines()]
    assert rows[0] == ["label", "kitchen", "sky"]
    assert sum(int(row[1]) for row in rows[1:]) < sum(
        int(line.split("\t")[1]) for line in (tmp_path / "run" / "confusion_matrix.tsv").read_text().splitlines()[1:]
    )
    assert heavy["eval_loss"] > plain["eval_loss"]
    with pytest.raises(InputError, match="holds a run with class_weights='sky:50', this one is with class_weights='balanced'"):
        finetune.run(dataclasses.replace(config, class_weights="balanced", output_dir=str(tmp_path / "heavy")))
    with pytest.raises(InputError, match="class_weights is 'balanced', but the kind of custom is regress; it is for classify"):
        finetune.run(own_config(made, tmp_path, "regress", class_weights="balanced", output_dir=str(tmp_path / "no")))
    assert not (tmp_path / "no").exists()


def test_a_dev_set_of_one_label_and_a_collapsed_model_say_so(made, tmp_path, caplog):
    config = own_config(made, tmp_path, "classify", do_predict=False, do_export=False, learning_rate=1e-9, num_train_epochs=0.2)
    finetune.run(config)
    assert "all 16 rows of dev are predicted as '" in caplog.text and "the model has not begun to learn" in caplog.text
    lines = (tmp_path / "dev.csv").read_text().splitlines()
    (tmp_path / "dev.csv").write_text("\n".join(line for line in lines if "sky" not in line.split(",")[1]) + "\n")
    caplog.clear()
    one = finetune.run(dataclasses.replace(config, do_train=False))
    assert np.isnan(one["eval_matthews"])
    assert "matthews of dev is undefined here: all rows have the same label" in caplog.text
    assert "rows of dev are predicted as" not in caplog.text
    assert "eval_matthews = nan\n" in (tmp_path / "run" / "eval_results.txt").read_text()


def test_several_sets_of_a_task_have_figures_and_files_of_their_own(made, tmp_path):
    rows = sample(12)
    for name, part in (
        ("train", rows),
        ("dev_matched", rows[:8]),
        ("dev_mismatched", rows[8:]),
        ("test_matched", rows),
        ("diagnostic", rows[:3]),
    ):
        lines = [f"{n}\t{text}\tIt is so.\t{('neutral', 'entailment')[topic == 'sky']}" for n, (text, topic) in enumerate(part)]
        (tmp_path / f"{name}.tsv").write_text("\n".join(["index\tsentence1\tsentence2\tgold_label", *lines]) + "\n")
    base = own_config(made, tmp_path, "classify")
    changes = dict(task_name="mnli", kind=None, data_dir=str(tmp_path), do_export=False, train_file=None, dev_file=None, test_file=None)
    config = dataclasses.replace(base, **changes)
    results = finetune.run(config)
    run = tmp_path / "run"
    told = [line.split(" = ")[0] for line in (run / "eval_results.txt").read_text().splitlines()]
    assert told == ["eval_accuracy", "eval_accuracy_mismatched", "eval_loss", "eval_loss_mismatched", "global_step", "loss"]
    # the sets together are the training set
    both = (results["eval_loss"] * 8 + results["eval_loss_mismatched"] * 4) / 12
    changed = {"data_dir": str(tmp_path / "all"), "do_train": False}
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "dev_matched.tsv").write_text((tmp_path / "train.tsv").read_text())
    (tmp_path / "all" / "test_matched.tsv").write_text((tmp_path / "train.tsv").read_text())
    assert finetune.run(dataclasses.replace(config, **changed))["eval_loss"] == pytest.approx(both, rel=1e-5)
    assert [len(table(run / f"predictions{suffix}.tsv")) for suffix in ("", "_ax")] == [12, 3]
    assert len((run / "test_results_ax.tsv").read_text().splitlines()) == 3
    assert (run / "confusion_matrix_mismatched.tsv").exists() and not (run / "predictions_mismatched.tsv").exists()
    finetune.run(dataclasses.replace(config, overwrite_output_dir=True, do_eval=False, do_predict=False))
    assert not list(run.glob("*_mismatched*")) and not list(run.glob("*_ax*"))
