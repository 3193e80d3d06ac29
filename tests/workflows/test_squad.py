"""Questions on texts through their workflow: files, scores, predictions, thresholds, export, and what it refuses."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import PredictConfig
from bert_tf.data.records import RecordFile, parse_spec
from bert_tf.data.schema import SQUAD, SQUAD_TRAINING
from bert_tf.errors import InputError
from bert_tf.serving.client import Predictor
from bert_tf.workflows import predict, squad
from tests.workflows.conftest import assert_equal_weights
from tests.workflows.squad_data import questions_of, squad_config, squad_content, write_json

EVERYTHING = dict(do_eval=True, do_predict=True, do_export=True, num_train_epochs=15.0)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write_json(tmp_path_factory.mktemp("data") / "squad.json", squad_content())


@pytest.fixture(scope="module")
def file_2(tmp_path_factory):
    return write_json(tmp_path_factory.mktemp("data") / "squad2.json", squad_content(version_2=True))


@pytest.fixture(scope="module")
def finished(made, file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    config = squad_config(made, folder, file, **EVERYTHING)
    return folder, squad.run(config), config


@pytest.fixture(scope="module")
def finished_2(made, file_2, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run2")
    config = squad_config(made, folder, file_2, **EVERYTHING, version_2_with_negative=True)
    return folder, squad.run(config), config


def read(folder, name):
    return json.loads((folder / name).read_text())


def results_of(folder):
    return dict(line.split(" = ") for line in (folder / "eval_results.txt").read_text().splitlines())


def records(path, kind):
    file = RecordFile(str(path))
    parsed = tf.io.parse_example(file.read(np.arange(len(file))), parse_spec(kind, {"seq": 40}))
    return {name: value.numpy() for name, value in parsed.items()}


def test_files_as_the_original_writes_them(finished, file):
    folder, results, _ = finished
    ids = [id for id, _, _ in questions_of(squad_content())]
    predictions, lists = read(folder, "predictions.json"), read(folder, "nbest_predictions.json")
    assert list(predictions) == list(lists) == ids
    assert not (folder / "null_odds.json").exists() and not (folder / "null_threshold.json").exists()
    for id, entries in lists.items():
        assert predictions[id] == entries[0]["text"] and 1 <= len(entries) <= 20
        assert all(list(entry) == ["text", "probability", "start_logit", "end_logit"] for entry in entries)
        assert sum(entry["probability"] for entry in entries) == pytest.approx(1)
    assert (folder / "predictions.json").read_text() == json.dumps(predictions, indent=4) + "\n"
    told = results_of(folder)
    assert list(told) == ["exact_match", "f1", "global_step"]
    assert float(told["f1"]) == results["f1"] == 100  # what it was trained on
    assert set(predictions.values()) == {"soup", "Anna\u00a0Noir"}


def test_steps_are_counted_from_windows(finished):
    _, results, _ = finished
    # 24 questions make 96 windows
    assert results["global_step"] == 15 * 96 // 8


def test_records_as_the_original_writes_them(finished):
    folder, _, _ = finished
    train, dev = records(folder / "train.tf_record", SQUAD_TRAINING), records(folder / "eval.tf_record", SQUAD)
    for batch in (train, dev):
        assert batch["unique_ids"].tolist() == list(range(1000000000, 1000000000 + 96))
        assert batch["input_ids"].shape == (96, 40)
    assert sorted(map(tuple, train["input_ids"])) == sorted(map(tuple, dev["input_ids"]))
    assert train["input_ids"].tolist() != dev["input_ids"].tolist()  # shuffled
    assert not train["is_impossible"].any()
    assert ((train["start_positions"] == 0) == (train["end_positions"] == 0)).all()
    assert 0 < (train["end_positions"] > 0).sum() < 96


def test_the_export_answers_as_the_predictions_file(finished):
    folder, results, _ = finished
    predictor, asked = Predictor(results["export"]), questions_of(squad_content())
    answers = predictor.predict([question for _, question, _ in asked], [context for _, _, context in asked])
    predictions, lists = read(folder, "predictions.json"), read(folder, "nbest_predictions.json")
    for (id, _, context), answer in zip(asked, answers, strict=True):
        assert answer.keys() == {"answer", "score", "start", "end"}
        assert answer["answer"] == context[answer["start"] : answer["end"]] == predictions[id]
        assert answer["score"] == pytest.approx(lists[id][0]["start_logit"] + lists[id][0]["end_logit"], abs=1e-4)


def test_predict_answers_a_question(finished, capsys):
    folder, _, _ = finished
    config = PredictConfig(saved_model=str(folder / "export"), text="What was hot?", text_pair="The soup was hot in the kitchen.")
    (answer,) = predict.run(config)
    assert json.loads(capsys.readouterr().out) == answer
    assert answer["answer"] == "The soup was hot in the kitchen."[answer["start"] : answer["end"]] == "soup"
    with pytest.raises(InputError, match=r"answers questions on contexts; give the contexts too"):
        predict.run(PredictConfig(saved_model=str(folder / "export"), text="What was hot?"))


def test_version_2_files_and_the_tuned_threshold(finished_2):
    folder, results, _ = finished_2
    odds, kept = read(folder, "null_odds.json"), read(folder, "null_threshold.json")
    threshold = kept["null_score_diff_threshold"]
    assert threshold == results["best_f1_thresh"] and kept["weights"] == f"model.ckpt-{results['global_step']}"
    predictions = read(folder, "predictions.json")
    assert {id for id, answer in predictions.items() if not answer} == {id for id, value in odds.items() if value > threshold}
    names = ["HasAns_exact", "HasAns_f1", "NoAns_exact", "NoAns_f1", "best_exact", "best_exact_thresh", "best_f1", "best_f1_thresh"]
    assert list(results_of(folder)) == [*names, "exact_match", "f1", "global_step"]
    assert results["f1"] == results["best_f1"] == 100
    assert records(folder / "train.tf_record", SQUAD_TRAINING)["is_impossible"].sum() == 48


def test_the_export_of_version_2_knows_when_not_to_answer(finished_2):
    folder, results, _ = finished_2
    asked = questions_of(squad_content(version_2=True))
    answers = Predictor(results["export"]).predict([question for _, question, _ in asked], [context for _, _, context in asked])
    predictions, odds = read(folder, "predictions.json"), read(folder, "null_odds.json")
    threshold = read(folder, "null_threshold.json")["null_score_diff_threshold"]
    for (id, _, context), answer in zip(asked, answers, strict=True):
        assert answer["null_odds"] == pytest.approx(odds[id], abs=1e-4)
        assert answer["answer"] == context[answer["start"] : answer["end"]]
        if abs(odds[id] - threshold) > 1e-3:  # at the threshold itself rounding decides
            assert answer["answer"] == predictions[id]
    assert {"", "soup"} <= {answer["answer"] for answer in answers}
    asset = tf.io.gfile.GFile(f"{results['export']}/assets/null_threshold.json").read()
    assert json.loads(asset) == {"null_score_diff_threshold": threshold}


def test_the_threshold_goes_with_the_model_and_a_flag_over_it(finished_2, file_2, tmp_path):
    folder, _, config = finished_2
    base = dataclasses.replace(config, do_train=False, do_eval=False, do_export=False, num_train_epochs=3.0)
    before = read(folder, "predictions.json")
    # another directory, another set: what was tuned on dev counts, though all of these have answers
    other = write_json(tmp_path / "other.json", squad_content())
    start = dict(output_dir=str(tmp_path / "test"), init_checkpoint=str(folder), predict_file=other)
    scores = squad.run(dataclasses.replace(base, **start, do_eval=True))
    assert not (tmp_path / "test" / "null_threshold.json").exists()
    found = read(tmp_path / "test", "predictions.json")
    assert found == {id: before[id] for id in found}
    assert scores["f1"] == 100
    # the flag
    for threshold, answered in ((1e6, 36), (-1e6, 0)):
        squad.run(dataclasses.replace(base, null_score_diff_threshold=threshold))
        assert sum(answer != "" for answer in read(folder, "predictions.json").values()) == answered
    squad.run(base)
    assert read(folder, "predictions.json") == before


def test_a_threshold_of_other_weights_is_tuned_anew(finished_2, file_2, tmp_path, caplog):
    folder, _, config = finished_2
    start = dict(do_train=False, do_export=False, output_dir=str(tmp_path), init_checkpoint=str(folder))
    (tmp_path / "null_threshold.json").write_text('{"null_score_diff_threshold": 9, "weights": "model.ckpt-1", "tuned_on": "x"}')
    kept = (folder / "null_threshold.json").read_text()
    (folder / "null_threshold.json").unlink()
    try:
        results = squad.run(dataclasses.replace(config, **start))
        assert read(tmp_path, "null_threshold.json")["null_score_diff_threshold"] == results["best_f1_thresh"] != 9
        (tmp_path / "null_threshold.json").write_text("{")
        with pytest.raises(InputError, match=r"null_threshold\.json: not valid JSON .*--do_eval tunes anew what it holds"):
            squad.run(dataclasses.replace(config, **start))
    finally:
        (folder / "null_threshold.json").write_text(kept)


def test_answers_do_not_depend_on_batches(finished, made, file, tmp_path):
    folder, _, _ = finished
    values = dict(do_train=False, do_predict=True, init_checkpoint=str(folder), predict_batch_size=5, bucket_lengths="off")
    squad.run(squad_config(made, tmp_path, file, **values))
    for id, entries in read(tmp_path, "nbest_predictions.json").items():
        for entry, other in zip(entries, read(folder, "nbest_predictions.json")[id], strict=True):
            assert entry["probability"] == pytest.approx(other["probability"], abs=1e-4)


def test_an_interrupted_run_ends_as_the_unbroken_one(made, file, tmp_path):
    values = dict(deterministic=True, num_train_epochs=2.0)
    squad.run(squad_config(made, tmp_path / "unbroken", file, **values))
    squad.run(squad_config(made, tmp_path / "broken", file, **values, save_checkpoints_steps=10, keep_checkpoint_max=9))
    for step in (20, 24):  # as if the machine had gone after step 10
        for path in (tmp_path / "broken").glob(f"model.ckpt-{step}.*"):
            path.unlink()
    squad.run(squad_config(made, tmp_path / "broken", file, **values))
    assert_equal_weights(tmp_path / "unbroken" / "model.ckpt-24", tmp_path / "broken" / "model.ckpt-24")


def test_a_finished_run_skips_training_and_a_second_one_starts_from_it(finished, made, file, file_2, tmp_path, caplog):
    folder, results, config = finished
    with caplog.at_level("INFO", logger="absl"):
        again = squad.run(dataclasses.replace(config, do_export=False))
    assert "training is finished" in caplog.text and again["f1"] == results["f1"]
    # as after TriviaQA
    second = squad.run(squad_config(made, tmp_path, file, init_checkpoint=str(folder), learning_rate=1e-6, do_eval=True))
    assert second["global_step"] == 12 and second["f1"] == 100


@pytest.mark.parametrize("version_2", [False, True])
def test_the_best_of_the_evaluations_is_used(made, file, file_2, tmp_path, version_2):
    values = dict(eval_steps=5, do_eval=True, version_2_with_negative=version_2, num_train_epochs=1.5)
    results = squad.run(squad_config(made, tmp_path, file_2 if version_2 else file, **values))
    told = read(tmp_path, "evaluations.json")
    metric = "best_f1" if version_2 else "f1"
    assert told["metric"] == metric and results["global_step"] == told["best_step"]
    assert results[metric] == max(each[metric] for each in told["evaluations"])


def test_the_originals_names_are_in_the_checkpoint(finished):
    folder, results, _ = finished
    names = tf.train.load_checkpoint(str(folder / f"model.ckpt-{results['global_step']}")).get_variable_to_shape_map()
    assert names["cls/squad/output_weights"] == [2, 32] and names["cls/squad/output_bias"] == [2]
    assert "cls/squad/output_weights/adam_m" in names
