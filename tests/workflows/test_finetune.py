"""Fine-tuning through its workflow: files, scores, predictions, export, and what it refuses."""

import dataclasses
import json
import re
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import PredictConfig
from bert_tf.errors import InputError
from bert_tf.serving.client import Predictor
from bert_tf.workflows import finetune, predict
from tests.workflows.conftest import SAMPLE, finetune_config


@pytest.fixture(scope="module")
def finished(data_dir, pretrained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    config = finetune_config(data_dir, folder, init_checkpoint=str(pretrained), do_eval=True, do_predict=True, do_export=True)
    return folder, finetune.run(config), config


def test_results_as_the_original_writes_them(finished):
    folder, results, _ = finished
    lines = (folder / "eval_results.txt").read_text().splitlines()
    assert [line.split(" = ")[0] for line in lines] == ["eval_accuracy", "eval_loss", "global_step", "loss"]
    assert results["global_step"] == 16  # 64 rows / 8 x 2 epochs
    rows = [line.split("\t") for line in (folder / "test_results.tsv").read_text().splitlines()]
    assert len(rows) == 16 and all(len(row) == 2 and abs(sum(map(float, row)) - 1) < 1e-6 for row in rows)
    header, *predictions = (folder / "predictions.tsv").read_text().splitlines()
    assert header == "id\tlabel\tprobability_kitchen\tprobability_sky"
    for line, row in zip(predictions, rows, strict=True):
        assert line.split("\t")[1] == ("kitchen", "sky")[int(np.argmax([float(value) for value in row]))]
    assert (folder / "labels.txt").read_text() == "kitchen\nsky\n"
    accuracy = np.mean(
        [
            line.split("\t")[1] == truth.split("\t")[1]
            for line, truth in zip(predictions, (SAMPLE / "dev.tsv").read_text().splitlines()[1:17], strict=True)
        ]
    )
    assert abs(accuracy - results["eval_accuracy"]) < 1e-9


def test_the_export_answers_as_the_predictions_file(finished, data_dir):
    folder, results, _ = finished
    predictor = Predictor(str(folder / "export"))
    assert predictor.path == results["export"]
    sentences = [line.split("\t")[0] for line in (data_dir / "dev.tsv").read_text().splitlines()[1:]]
    answers = predictor.predict(sentences)
    expected = [line.split("\t") for line in (folder / "predictions.tsv").read_text().splitlines()[1:]]
    for answer, row in zip(answers, expected, strict=True):
        assert answer["label"] == row[1]
        np.testing.assert_allclose(answer["probabilities"], [float(value) for value in row[2:]], atol=1e-5)


def test_an_export_is_float32_whatever_the_training_was(data_dir, pretrained, tmp_path):
    config = finetune_config(data_dir, tmp_path, init_checkpoint=str(pretrained), precision="bfloat16", num_train_epochs=1.0)
    results = finetune.run(dataclasses.replace(config, do_predict=True, do_export=True))
    loaded = tf.saved_model.load(results["export"])
    graph = str(loaded.signatures["ids"].graph.as_graph_def())
    assert "DT_BFLOAT16" not in graph and "DT_FLOAT" in graph
    sentences = [line.split("\t")[0] for line in (data_dir / "dev.tsv").read_text().splitlines()[1:]]
    answers = Predictor(results["export"]).predict(sentences)
    expected = [line.split("\t")[2:] for line in (tmp_path / "predictions.tsv").read_text().splitlines()[1:]]
    # bfloat16 has 8 bits of precision
    np.testing.assert_allclose([answer["probabilities"] for answer in answers], np.asarray(expected, float), atol=0.01)


def test_predict_prints_each_labels_probability(finished, tmp_path, capsys):
    folder, results, _ = finished
    (tmp_path / "texts").write_text("The soup is hot.\nThe moon rose.\n")
    answers = predict.run(PredictConfig(saved_model=str(folder / "export"), input_file=str(tmp_path / "texts")))
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == answers
    raw = Predictor(results["export"]).predict(["The soup is hot.", "The moon rose."])
    for answer, expected in zip(answers, raw, strict=True):
        assert list(answer) == ["text", "label", "probabilities"]
        assert list(answer["probabilities"]) == ["kitchen", "sky"]
        assert answer["label"] == max(answer["probabilities"], key=answer["probabilities"].get)
        np.testing.assert_allclose(list(answer["probabilities"].values()), expected["probabilities"], atol=1e-6)


def test_predict_says_that_a_text_is_empty(finished, tmp_path, caplog):
    folder, _, _ = finished
    for text in ("", " "):
        (answer,) = predict.run(PredictConfig(saved_model=str(folder / "export"), text=text))
        assert answer["label"] in ("kitchen", "sky")
        assert "--text is empty; what is told of it is what the model says of nothing" in caplog.text
        caplog.clear()
    (tmp_path / "texts").write_text("The soup is hot.\n\nThe moon rose.\n\t\n")
    with pytest.raises(InputError, match="texts, line 4: 2 tab-separated texts"):
        predict.run(PredictConfig(saved_model=str(folder / "export"), input_file=str(tmp_path / "texts")))
    (tmp_path / "texts").write_text("The soup is hot.\n\nThe moon rose.\n\n")
    assert len(predict.run(PredictConfig(saved_model=str(folder / "export"), input_file=str(tmp_path / "texts")))) == 4
    assert "texts: 2 lines have no text (the first: line 2); what is told of them" in caplog.text


def test_the_encoder_came_from_the_checkpoint_and_trained(finished, pretrained):
    folder, _, _ = finished
    before = tf.train.load_checkpoint(str(pretrained / "model.ckpt-2"))
    after = tf.train.load_checkpoint(str(folder / "model.ckpt-16"))
    name = "bert/encoder/layer_0/output/dense/kernel"
    change = np.abs(before.get_tensor(name) - after.get_tensor(name)).max()
    assert 0 < change < 0.1  # initial weights drawn anew would differ more
    assert "output_weights" in after.get_variable_to_shape_map()


def test_a_finished_run_skips_training(finished, caplog):
    _, results, config = finished
    with caplog.at_level("INFO", logger="absl"):
        again = finetune.run(config)
    assert "training is finished" in caplog.text
    assert again["eval_loss"] == results["eval_loss"]
    assert again["export"].endswith("/2")


def test_evaluates_from_a_fine_tuned_checkpoint_alone(finished, data_dir, tmp_path):
    folder, results, _ = finished
    other = finetune.run(finetune_config(data_dir, tmp_path, init_checkpoint=str(folder), do_train=False, do_eval=True))
    assert other["eval_loss"] == pytest.approx(results["eval_loss"], abs=1e-6)
    assert other["global_step"] == 16 and "global_step = 16\n" in (tmp_path / "eval_results.txt").read_text()


def test_predicts_beside_the_training_with_other_flags(finished, data_dir):
    # as TF1 users do it: the checkpoint named, the training's flags left out
    folder, results, _ = finished
    before = (folder / "run_config.json").read_text()
    newest = str(folder / "model.ckpt-16")
    again = finetune_config(data_dir, folder, init_checkpoint=newest, do_train=False, do_eval=True, learning_rate=5e-5)
    assert finetune.run(again)["eval_loss"] == pytest.approx(results["eval_loss"], abs=1e-6)
    assert (folder / "run_config.json").read_text() == before


def test_an_interrupted_run_ends_as_the_unbroken_one(data_dir, made, tmp_path):
    values = dict(bert_config_file=str(made / "bert_config.json"), vocab_file=str(made / "vocab.txt"), deterministic=True)
    finetune.run(finetune_config(data_dir, tmp_path / "unbroken", **values))
    finetune.run(finetune_config(data_dir, tmp_path / "broken", **values, save_checkpoints_steps=5, keep_checkpoint_max=9))
    for step in (10, 15, 16):  # as if the machine had gone after step 5
        for path in (tmp_path / "broken").glob(f"model.ckpt-{step}.*"):
            path.unlink()
    finetune.run(finetune_config(data_dir, tmp_path / "broken", **values))
    first, second = (tf.train.load_checkpoint(str(tmp_path / name / "model.ckpt-16")) for name in ("unbroken", "broken"))
    for name in first.get_variable_to_shape_map():
        np.testing.assert_array_equal(first.get_tensor(name), second.get_tensor(name), err_msg=name)


def test_a_test_split_with_placeholder_labels_predicts(finished, data_dir, made, tmp_path):
    folder, _, _ = finished
    sentences = [line.split("\t")[0] for line in (data_dir / "dev.tsv").read_text().splitlines()[1:5]]
    other = tmp_path / "data"
    other.mkdir()
    (other / "test.tsv").write_text("sentence\tlabel\n" + "".join(f"{sentence}\t-1\n" for sentence in sentences))
    (other / "dev.tsv").write_text("sentence\tlabel\n" + "".join(f"{sentence}\t-1\n" for sentence in sentences))
    base = dict(task_name="sst-2", do_train=False, init_checkpoint=str(folder))
    finetune.run(finetune_config(other, tmp_path / "run", **base, do_predict=True))
    assert len((tmp_path / "run" / "test_results.tsv").read_text().splitlines()) == 4
    with pytest.raises(InputError, match=r"dev\.tsv, line 2: .*unlabelled"):
        finetune.run(finetune_config(other, tmp_path / "run2", **base, do_eval=True))


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(task_name="nosuch"), r"task_name is 'nosuch'; give one of"),
        (dict(init_checkpoint=None), r"no vocabulary|no checkpoint"),
        (dict(do_train=False, do_eval=True), r"head classifier cannot be read"),
        (dict(max_seq_length=65), r"65.*64"),
        (dict(do_lower_case=False), r"do_lower_case.*--do_lower_case=true"),
        (dict(train_batch_size=1000), r"64 training examples make no batch of 1000"),
        (dict(do_train=False), r"nothing to do"),
        (dict(data_dir="nowhere"), r"nowhere"),
    ],
)
def test_bad_input_is_named_and_nothing_is_trained(data_dir, pretrained, tmp_path, changes, message):
    with pytest.raises(InputError, match=message) as caught:
        finetune.run(finetune_config(data_dir, tmp_path / "run", **(dict(init_checkpoint=str(pretrained)) | changes)))
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.rglob("*ckpt*"))


def test_a_bad_row_is_named_by_file_and_line(data_dir, pretrained, tmp_path):
    bad = tmp_path / "bad"
    bad.mkdir()
    lines = (data_dir / "train.tsv").read_text().splitlines()
    for number, line, message in (
        (3, "no columns at all", r"train\.tsv, line 3: "),
        (2, "a\tcellar\td", r"train\.tsv, line 2: label 'cellar'.*kitchen, sky"),
    ):
        (bad / "train.tsv").write_text("\n".join([*lines[: number - 1], line, *lines[number:]]) + "\n")
        with pytest.raises(InputError, match=message):
            finetune.run(finetune_config(bad, tmp_path / "run", init_checkpoint=str(pretrained)))


@pytest.mark.parametrize("name", ["predictions.tsv", "train.tf_record", "labels.txt"])
def test_files_of_the_users_own_are_not_written_over(data_dir, pretrained, tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match=rf"holds a {name} of its own, which this run would write over"):
        finetune.run(finetune_config(data_dir, tmp_path, init_checkpoint=str(pretrained), do_predict=True))
    assert (tmp_path / name).read_text() == "mine"


def test_rows_that_changed_since_the_run_began_are_told(data_dir, made, tmp_path):
    rows = tmp_path / "rows"
    shutil.copytree(data_dir, rows)
    values = dict(bert_config_file=str(made / "bert_config.json"), vocab_file=str(made / "vocab.txt"), num_train_epochs=0.5)
    finetune.run(finetune_config(rows, tmp_path / "run", **values))
    text = (rows / "train.tsv").read_text()
    (rows / "train.tsv").write_text(text.replace("the", "a", 1))
    with pytest.raises(InputError, match=r"the training data changed since this run began"):
        finetune.run(finetune_config(rows, tmp_path / "run", **values))
    (rows / "train.tsv").write_text(text)
    (tmp_path / "vocab.txt").write_text((made / "vocab.txt").read_text().replace("##ing", "##xyz"))
    with pytest.raises(InputError, match=r"the vocabulary changed since this run began"):
        finetune.run(finetune_config(rows, tmp_path / "run", **values | {"vocab_file": str(tmp_path / "vocab.txt")}))


def test_a_run_is_not_asked_with_another_vocabulary_or_other_labels(finished, data_dir, tmp_path):
    folder, _, _ = finished
    (tmp_path / "vocab.txt").write_text((folder / "vocab.txt").read_text().replace("##ing", "##xyz"))
    asked = dict(do_train=False, do_export=True)
    with pytest.raises(InputError, match=r"the vocabulary changed since this run began"):
        finetune.run(finetune_config(data_dir, folder, vocab_file=str(tmp_path / "vocab.txt"), **asked))
    with pytest.raises(InputError, match=r"the labels changed since this run began"):
        finetune.run(finetune_config(data_dir, folder, task_name="sst-2", **asked))


@pytest.mark.parametrize("lengths", ["auto", "off", "8,16"])
def test_bucket_lengths(data_dir, made, tmp_path, lengths, caplog):
    values = dict(bert_config_file=str(made / "bert_config.json"), vocab_file=str(made / "vocab.txt"), num_train_epochs=1.0)
    with caplog.at_level("INFO", logger="absl"):
        results = finetune.run(finetune_config(data_dir, tmp_path, **values, bucket_lengths=lengths, do_eval=True, do_predict=True))
    assert results["global_step"] == 8
    told = re.findall(r"in batches of length ([\d, ]+)", caplog.text)
    assert len(told) == 3
    if lengths == "auto":
        assert all(int(length.split(", ")[-1]) <= 24 for length in told)
    else:
        assert set(told) == {{"off": "24", "8,16": "8, 16, 24"}[lengths]}
    assert len((tmp_path / "predictions.tsv").read_text().splitlines()) == 17


def test_a_run_of_another_kind_in_the_folder_is_refused(data_dir, pretrained):
    with pytest.raises(InputError, match=r"holds a run of pretrain, this is one of finetune"):
        finetune.run(finetune_config(data_dir, pretrained, init_checkpoint=str(pretrained)))
    assert json.loads((pretrained / "run_config.json").read_text())["workflow"] == "pretrain"
