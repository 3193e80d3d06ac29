"""Fine-tuning on rows with choices: figures, files, and an export that chooses alike, for any number of choices."""

import csv
import dataclasses
import json

import numpy as np
import pytest

from benchmarks.tasks import data
from bert_tf.config import BertConfig, FinetuneConfig, PredictConfig
from bert_tf.data.text_files import read_lines
from bert_tf.errors import InputError
from bert_tf.serving.client import Predictor
from bert_tf.workflows import finetune, predict
from tests.conftest import SHARED, needs_shared
from tests.workflows.conftest import SAMPLE


def rows(count):
    """Returns a text, three choices, of which one is about the text's topic, and that one's number."""
    lines = [line.split("\t")[:2] for line in (SAMPLE / "train.tsv").read_text().splitlines()[1:]]
    topics = {topic: [text for text, own in lines if own == topic] for topic in ("kitchen", "sky")}
    made = []
    for number, (text, topic) in enumerate(lines[:count]):
        other = {"kitchen": "sky", "sky": "kitchen"}[topic]
        choices = [topics[other][number], topics[other][number + 1]]
        choices.insert(number % 3, topics[topic][-number - 1])
        made.append([text, *choices, str(number % 3)])
    return made


def config_for(made, folder, **changes):
    for name, count in (("train", 24), ("dev", 24), ("test", 7)):
        with open(folder / f"{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows([["text", "a", "b", "c", "right"], *rows(count)])
    model_config = json.loads((made / "bert_config.json").read_text()) | {"initializer_range": 0.2}
    (folder / "bert_config.json").write_text(json.dumps(model_config))
    values = dict(
        task_name="mine",
        kind="choose",
        choice_columns="a,b,c",
        label_column="right",
        bert_config_file=str(folder / "bert_config.json"),
        vocab_file=str(made / "vocab.txt"),
        output_dir=str(folder / "run"),
        max_seq_length=48,
        train_batch_size=8,
        num_train_epochs=60.0,
        learning_rate=1e-3,
        precision="float32",
        **{name: True for name in ("do_train", "do_eval", "do_predict", "do_export")},
        **{f"{name}_file": str(folder / f"{name}.csv") for name in ("train", "dev", "test")},
    )
    return FinetuneConfig(**(values | changes))


@pytest.fixture(scope="module")
def finished(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("choices")
    config = config_for(made, folder)
    return folder, finetune.run(config), config


def test_figures_and_files(finished):
    folder, results, _ = finished
    assert {name for name in results if name.startswith("eval_")} == {"eval_accuracy", "eval_loss"}
    assert results["eval_accuracy"] == 1.0  # of the rows that it was trained on
    there = {path.name for path in (folder / "run").iterdir()}
    assert not there & {"labels.txt", "confusion_matrix.tsv"} and {"predictions.tsv", "test_results.tsv"} <= there


def test_the_export_chooses_as_the_predictions_file_says(finished):
    folder, results, _ = finished
    header, *lines = [line.split("\t") for line in (folder / "run" / "predictions.tsv").read_text().splitlines()]
    assert header == ["id", "label", "probability_0", "probability_1", "probability_2"]
    predictor = Predictor(results["export"])
    answers = predictor.choose([row[0] for row in rows(7)], [row[1:4] for row in rows(7)])
    assert [str(answer["choice"]) for answer in answers] == [line[1] for line in lines]
    np.testing.assert_allclose([answer["probabilities"] for answer in answers], np.asarray([line[2:] for line in lines], float), atol=1e-5)
    # two choices of the three, in the other order
    (answer,) = predictor.choose([rows(1)[0][0]], [rows(1)[0][2:0:-1]])
    pair = np.asarray(answers[0]["probabilities"])[[1, 0]]
    np.testing.assert_allclose(answer["probabilities"], pair / pair.sum(), atol=1e-5)
    assert predictor.choose([], []) == []
    with pytest.raises(InputError, match="give a list for each text, all of the same length"):
        predictor.choose(["a", "b"], [["c"], ["d", "e"]])
    with pytest.raises(InputError, match=r"chooses one of several texts; ask it from Python, by Predictor.choose"):
        predict.run(PredictConfig(saved_model=results["export"], text="a"))


def test_a_label_may_be_the_name_of_the_choices_column(finished, tmp_path):
    _, results, config = finished
    with open(tmp_path / "dev.csv", "w", newline="") as file:
        csv.writer(file).writerows([["text", "a", "b", "c", "right"], *([*row[:4], "abc"[int(row[4])]] for row in rows(24))])
    later = dataclasses.replace(config, do_train=False, do_predict=False, do_export=False, dev_file=str(tmp_path / "dev.csv"))
    assert finetune.run(later)["eval_loss"] == pytest.approx(results["eval_loss"], rel=1e-5)
    (tmp_path / "dev.csv").write_text("text,a,b,c,right\nx,y,z,w,3\n")
    message = r"dev.csv, line 2: label '3' is not one of 0, 1, 2; mend the file: give the number of the right choice, from 0 to 2, or the"
    with pytest.raises(InputError, match=message):
        finetune.run(later)


@needs_shared
def test_rows_of_swag_itself_are_predicted(finished, tmp_path):
    _, _, config = finished
    official = list(read_lines(str(SHARED / "data/swag/swag_val_head11.csv")))
    (tmp_path / "val.csv").write_text("\n".join(official) + "\n")
    changes = dict(task_name="swag", kind=None, choice_columns=None, data_dir=str(tmp_path), train_file=None, dev_file=None, test_file=None)
    run = dataclasses.replace(
        config, do_train=False, do_predict=False, do_export=False, init_checkpoint=config.output_dir, output_dir=str(tmp_path / "run"),
        **changes,
    )  # fmt: skip
    assert 0 <= finetune.run(run)["eval_accuracy"] <= 1


@pytest.mark.slow
@needs_shared
def test_rows_of_swag_itself_are_learned_to_the_last(tmp_path):
    assert len(data.swag_rows(SHARED / "data")) == 21
    vocab = SHARED / "data/vocab/uncased_vocab.txt"
    shape = dict(hidden_size=64, num_hidden_layers=1, num_attention_heads=2, intermediate_size=128, type_vocab_size=2)
    # no dropout and large weights: what is asked is whether choices and labels reach the loss in order, not whether it generalizes
    plain = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.2)
    (tmp_path / "bert_config.json").write_text(BertConfig(vocab_size=30522, **shape, **plain).to_json())
    config = FinetuneConfig(
        task_name="swag",
        data_dir=data.prepare("swag", str(SHARED / "data"), str(tmp_path)),
        bert_config_file=str(tmp_path / "bert_config.json"),
        vocab_file=str(vocab),
        output_dir=str(tmp_path / "run"),
        do_train=True,
        do_eval=True,
        max_seq_length=64,
        train_batch_size=7,
        num_train_epochs=40.0,
        learning_rate=1e-3,
        precision="float32",
    )
    assert finetune.run(config)["eval_accuracy"] == 1.0
