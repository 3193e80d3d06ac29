"""Fine-tuning on sentences whose tokens are tagged: figures, files, the export, and the same tags later."""

import dataclasses
import json

import numpy as np
import pytest

from bert_tf.config import FinetuneConfig, PredictConfig
from bert_tf.errors import InputError
from bert_tf.serving.client import Predictor
from bert_tf.tasks.entities import TAG_METRICS
from bert_tf.workflows import finetune, predict
from tests.workflows.conftest import SAMPLE

ARTICLES = {"the", "a", "an"}
SIZES = {"train": 48, "dev": 24, "test": 12}


def sentences(count):
    """Returns sentences of the sample with made-up tags: an article and the word behind it are an entity, in IOB1."""
    made = []
    for line in (SAMPLE / "train.tsv").read_text().splitlines()[1 : count + 1]:
        tokens = line.split("\t")[0].replace(".", " .").split()
        starts = [token.lower() in ARTICLES for token in tokens]
        tags = ["I-THING" if start or (place and starts[place - 1]) else "O" for place, start in enumerate(starts)]
        made.append((tokens, tags))
    return made


def columns(count, documents=4):
    lines = []
    for number, (tokens, tags) in enumerate(sentences(count)):
        lines += ["-DOCSTART- -X- O", ""] if number % documents == 0 else []
        lines += [*(f"{token} x {tag}" for token, tag in zip(tokens, tags)), ""]
    return "\n".join(lines)


@pytest.fixture(scope="module")
def finished(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tags")
    for name, count in SIZES.items():
        (folder / f"{name}.txt").write_text(columns(count))
    model_config = json.loads((made / "bert_config.json").read_text()) | {"initializer_range": 0.3}
    (folder / "bert_config.json").write_text(json.dumps(model_config))
    config = FinetuneConfig(
        task_name="custom",
        kind="tag",
        bert_config_file=str(folder / "bert_config.json"),
        vocab_file=str(made / "vocab.txt"),
        output_dir=str(folder / "run"),
        max_seq_length=32,
        train_batch_size=8,
        num_train_epochs=40.0,
        learning_rate=3e-3,
        precision="float32",
        **{name: True for name in ("do_train", "do_eval", "do_predict", "do_export")},
        **{f"{name}_file": str(folder / f"{name}.txt") for name in SIZES},
    )
    return folder, finetune.run(config), config


def read_columns(path):
    parts = path.read_text().strip().split("\n\n")
    return [[line.split(" ") for line in part.splitlines()] for part in parts]


def test_figures_and_files(finished):
    folder, results, _ = finished
    told = [line.split(" = ")[0] for line in (folder / "run" / "eval_results.txt").read_text().splitlines()]
    figures = {"eval_entity_f1", "eval_entity_precision", "eval_entity_recall", "eval_accuracy", "eval_loss", "loss", "global_step"}
    assert set(told) == figures
    assert results["eval_accuracy"] > 0.9 and results["eval_entity_f1"] > 0.5
    assert (folder / "run" / "labels.txt").read_text() == "O\nB-THING\nI-THING\n"
    assert (folder / "run" / "label_scores.tsv").read_text().splitlines()[1].startswith("THING\t")


def test_predictions_hold_every_token_of_every_sentence(finished):
    folder, _, _ = finished
    found = read_columns(folder / "run" / "predictions.txt")
    assert [[token for token, _ in sentence] for sentence in found] == [tokens for tokens, _ in sentences(12)]
    numbers = np.loadtxt(folder / "run" / "test_results.tsv", ndmin=2)
    tags = [tag for sentence in found for _, tag in sentence]
    assert numbers.shape == (len(tags), 3)
    assert [("O", "B-THING", "I-THING")[id] for id in numbers.argmax(axis=1)] == tags


def test_scores_follow_from_the_predictions_file(finished):
    folder, _, config = finished
    again = finetune.run(dataclasses.replace(config, do_train=False, do_export=False, do_predict=False, dev_file=config.test_file))
    predicted = [[tag for _, tag in sentence] for sentence in read_columns(folder / "run" / "predictions.txt")]
    right = [tags for _, tags in sentences(12)]  # IOB1, and counted all the same
    assert again["eval_entity_f1"] == pytest.approx(TAG_METRICS["entity_f1"](right, predicted), nan_ok=True)


def test_the_export_tags_a_sentence_as_without_its_document(finished, tmp_path, capsys):
    folder, results, config = finished
    alone = dataclasses.replace(
        config, do_train=False, do_eval=False, do_export=False, init_checkpoint=str(folder / "run"), output_dir=str(tmp_path / "alone"),
        document_context=False,
    )  # fmt: skip
    finetune.run(alone)
    found = read_columns(tmp_path / "alone" / "predictions.txt")
    answers = Predictor(results["export"]).tag([tokens for tokens, _ in sentences(12)])
    assert [answer["tags"] for answer in answers] == [[tag for _, tag in sentence] for sentence in found]
    numbers = np.loadtxt(tmp_path / "alone" / "test_results.tsv")
    np.testing.assert_allclose([row for answer in answers for row in answer["probabilities"]], numbers, atol=1e-5)
    with_context = np.loadtxt(folder / "run" / "test_results.tsv")
    assert np.abs(with_context - numbers).max() > 1e-3
    predict.run(PredictConfig(saved_model=results["export"], text=" ".join(sentences(1)[0][0])))
    told = json.loads(capsys.readouterr().out)
    assert told["tokens"] == sentences(1)[0][0] and told["tags"] == answers[0]["tags"]


def test_steps_are_counted_from_records_and_long_sentences_make_several(finished, tmp_path):
    _, _, config = finished
    (tmp_path / "train.txt").write_text("".join(f"soup x {'I-THING' if n % 9 == 4 else 'O'}\n" for n in range(200)))
    changes = dict(train_file=str(tmp_path / "train.txt"), output_dir=str(tmp_path / "run"), train_batch_size=2, num_train_epochs=1.0)
    run = finetune.run(dataclasses.replace(config, do_eval=False, do_predict=False, do_export=False, max_seq_length=12, **changes))
    assert run["global_step"] == 20  # 200 pieces, 5 of them a record, 2 records a batch


@pytest.mark.parametrize(
    "text, message",
    [
        ("a x O\nb O", "train.txt, line 2: has 2 columns where the lines before have 3"),
        ("a x O\n\nb x O", "train.txt: all labels are 'O', from which nothing can be learned; check --label_column"),
        ("a x B-X\nb x S-X", "tag 'S-X' belongs to another scheme beside 'B-X'"),
        ("", "train.txt: has no sentences"),
    ],
)
def test_mistakes_are_told_before_anything_is_written(finished, tmp_path, text, message):
    _, _, config = finished
    (tmp_path / "train.txt").write_text(text)
    with pytest.raises(InputError, match=message):
        finetune.run(dataclasses.replace(config, train_file=str(tmp_path / "train.txt"), output_dir=str(tmp_path / "no")))
    assert not (tmp_path / "no").exists()


def test_a_tag_that_training_did_not_see_is_told_with_its_line(finished, tmp_path):
    _, _, config = finished
    (tmp_path / "dev.txt").write_text("a x O\nb x I-ORG\n")
    with pytest.raises(InputError, match=r"dev.txt, line 2: tag 'I-ORG' is not one of O, B-THING, I-THING; mend the file, train with such"):
        finetune.run(dataclasses.replace(config, dev_file=str(tmp_path / "dev.txt"), output_dir=str(tmp_path / "no")))


def test_tags_that_are_no_entities_are_scored_token_by_token(finished, tmp_path):
    folder, _, config = finished
    for name in SIZES:
        text = (folder / f"{name}.txt").read_text().replace("I-THING", "NN").replace(" O\n", " XX\n")
        (tmp_path / f"{name}.txt").write_text(text)
    files = {f"{name}_file": str(tmp_path / f"{name}.txt") for name in SIZES}
    results = finetune.run(dataclasses.replace(config, output_dir=str(tmp_path / "run"), num_train_epochs=0.5, do_export=False, **files))
    assert {name for name in results if name.startswith("eval_")} == {"eval_accuracy", "eval_loss"}
    assert (tmp_path / "run" / "labels.txt").read_text() == "NN\nXX\n"
