"""Feature-based tagging through the workflow: the encoder stays as it was, its vectors are computed once, and runs go on exactly."""

import dataclasses
import os

import numpy as np
import pytest

from bert_tf.config import FinetuneConfig
from bert_tf.data import token_vectors
from bert_tf.errors import InputError
from bert_tf.serving.client import Predictor
from bert_tf.training.checkpoints import checkpoint_steps
from bert_tf.workflows import finetune
from tests.workflows.conftest import assert_equal_weights, weights
from tests.workflows.test_finetune_tags import SIZES, columns, read_columns, sentences

EVERYTHING = {name: True for name in ("do_train", "do_eval", "do_predict", "do_export")}
NOTHING = {name: False for name in EVERYTHING}


@pytest.fixture(scope="module")
def finished(pretrained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("features")
    for name, count in SIZES.items():
        (folder / f"{name}.txt").write_text(columns(count))
    config = FinetuneConfig(
        task_name="custom",
        kind="tag",
        init_checkpoint=str(pretrained),
        output_dir=str(folder / "run"),
        feature_cache_dir=str(folder / "cache"),
        feature_mix="sum_all",
        lstm_size=16,
        max_seq_length=32,
        train_batch_size=8,
        num_train_epochs=40.0,
        learning_rate=1e-2,
        save_checkpoints_steps=100,
        precision="float32",
        deterministic=True,
        **EVERYTHING,
        **{f"{name}_file": str(folder / f"{name}.txt") for name in SIZES},
    )
    return folder, finetune.run(config), config


def forbidden(*arguments):
    raise AssertionError("the vectors are computed once more")


def cached(folder):
    return {name: (folder / name).read_bytes() for name in os.listdir(folder)}


def test_it_learns_and_tells_what_a_tagger_tells(finished):
    folder, results, _ = finished
    assert results["eval_accuracy"] > 0.9 and results["eval_entity_f1"] > 0.5
    found = read_columns(folder / "run" / "predictions.txt")
    assert [[token for token, _ in sentence] for sentence in found] == [tokens for tokens, _ in sentences(12)]
    assert (folder / "run" / "tagger.json").read_text() == '{\n  "feature_mix": "sum_all",\n  "lstm_size": 16\n}\n'


def test_the_encoder_stays_as_it_was_bit_for_bit(finished, pretrained):
    folder, results, _ = finished
    before = weights(pretrained / "model.ckpt-2")
    after = weights(folder / "run" / f"model.ckpt-{results['global_step']}")
    encoder = [name for name in before if name.startswith("bert/") and "adam" not in name]
    assert len(encoder) > 20
    for name in encoder:
        np.testing.assert_array_equal(after[name], before[name], err_msg=name)
    moments = {name for name in after if "adam" in name}
    assert moments and all(name.startswith("tagger/") for name in moments)


def test_the_vectors_are_computed_once_for_all_mixes_and_runs(finished, tmp_path, monkeypatch):
    folder, _, config = finished
    before = cached(folder / "cache")
    assert len(before) == len(SIZES)
    assert all(name.startswith("token_vectors.") and name.endswith(".tf_record") for name in before)
    monkeypatch.setattr(token_vectors, "write", forbidden)
    changes = dict(feature_mix="embeddings", lstm_size=8, num_train_epochs=1.0, train_batch_size=4, random_seed=3, do_export=False)
    finetune.run(dataclasses.replace(config, output_dir=str(tmp_path / "other"), **changes))
    assert cached(folder / "cache") == before
    shorter = dataclasses.replace(config, output_dir=str(tmp_path / "shorter"), max_seq_length=24)
    with pytest.raises(AssertionError, match="once more"):
        finetune.run(shorter)


def test_labels_do_not_matter_to_the_vectors_and_they_lie_in_output_dir_by_default(finished, tmp_path):
    folder, _, config = finished
    text = (folder / "dev.txt").read_text().replace("I-THING", "B-THING")
    (tmp_path / "dev.txt").write_text(text)
    changes = dict(dev_file=str(tmp_path / "dev.txt"), output_dir=str(tmp_path / "run"), feature_cache_dir=None)
    finetune.run(dataclasses.replace(config, num_train_epochs=1.0, do_predict=False, do_export=False, **changes))
    own = {name: content for name, content in cached(folder / "cache").items() if name in os.listdir(tmp_path / "run")}
    assert len(own) == 2
    assert all((tmp_path / "run" / name).read_bytes() == content for name, content in own.items())


def test_a_run_that_was_stopped_ends_with_the_weights_of_the_unbroken_one(finished, tmp_path):
    folder, results, config = finished
    broken = tmp_path / "run"
    broken.mkdir()
    for name in os.listdir(folder / "run"):
        if name.startswith("model.ckpt-100.") or name in ("run_config.json", "bert_config.json", "vocab.txt", "labels.txt", "tagger.json"):
            (broken / name).write_bytes((folder / "run" / name).read_bytes())
    assert checkpoint_steps(str(broken)) == [100]
    finetune.run(dataclasses.replace(config, output_dir=str(broken), feature_cache_dir=str(tmp_path / "anew"), do_export=False))
    last = results["global_step"]
    assert last > 100
    assert_equal_weights(broken / f"model.ckpt-{last}", folder / "run" / f"model.ckpt-{last}")
    assert cached(tmp_path / "anew") == cached(folder / "cache")
    for name in ("predictions.txt", "eval_results.txt", "test_results.tsv"):
        assert (broken / name).read_bytes() == (folder / "run" / name).read_bytes()


def test_a_trained_model_knows_what_it_was_trained_on(finished, tmp_path):
    folder, results, config = finished
    bare = dataclasses.replace(config, feature_mix=None, lstm_size=None, **(NOTHING | dict(do_eval=True)))
    again = finetune.run(bare)
    elsewhere = dataclasses.replace(bare, init_checkpoint=str(folder / "run"), output_dir=str(tmp_path / "elsewhere"))
    for found in (again, finetune.run(elsewhere)):
        assert found["eval_loss"] == results["eval_loss"] and found["eval_entity_f1"] == results["eval_entity_f1"]


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(feature_mix="last"), r"feature_mix is last and lstm_size 16, but .*run/model.ckpt-\d+ was trained with sum_all and 16"),
        (dict(lstm_size=8), r"feature_mix is sum_all and lstm_size 8, but .* was trained with sum_all and 16; leave both out"),
    ],
)
def test_another_mix_than_the_trained_models_is_refused(finished, changes, message):
    _, _, config = finished
    with pytest.raises(InputError, match=message):
        finetune.run(dataclasses.replace(config, **(NOTHING | dict(do_eval=True) | changes)))


def test_going_on_with_another_mix_is_refused(finished):
    _, _, config = finished
    with pytest.raises(InputError, match="holds a run with feature_mix='sum_all', this one is with feature_mix='last'"):
        finetune.run(dataclasses.replace(config, feature_mix="last"))


def test_mistakes_are_told_before_anything_is_written(finished, tmp_path, data_dir):
    _, _, config = finished
    no = str(tmp_path / "no")
    with pytest.raises(InputError, match="feature_mix is concat_last_four, but the model has 1 layers; give another"):
        finetune.run(dataclasses.replace(config, feature_mix="concat_last_four", output_dir=no))
    files = {f"{name}_file": None for name in SIZES}
    topic = dataclasses.replace(config, task_name="topic", kind=None, data_dir=str(data_dir), output_dir=no, do_predict=False, **files)
    with pytest.raises(InputError, match="feature_mix is sum_all, but the kind of topic is classify; it is for tag"):
        finetune.run(topic)
    assert not (tmp_path / "no").exists()


def test_the_export_tags_a_sentence_as_without_its_document(finished, tmp_path):
    folder, results, config = finished
    alone = dataclasses.replace(config, output_dir=str(tmp_path / "alone"), init_checkpoint=str(folder / "run"), document_context=False)
    finetune.run(dataclasses.replace(alone, **(NOTHING | dict(do_predict=True))))
    numbers = np.loadtxt(tmp_path / "alone" / "test_results.tsv")
    answers = Predictor(results["export"]).tag([tokens for tokens, _ in sentences(12)])
    found = np.asarray([row for answer in answers for row in answer["probabilities"]])
    np.testing.assert_allclose(found, numbers, atol=2e-3)  # training and predictions read 16 bits
    assert [answer["tags"] for answer in answers] == [
        [tag for _, tag in sentence] for sentence in read_columns(tmp_path / "alone" / "predictions.txt")
    ]


def test_steps_in_bfloat16_export_float32(finished, tmp_path):
    folder, _, config = finished
    before = cached(folder / "cache")
    half = dataclasses.replace(config, precision="bfloat16", output_dir=str(tmp_path / "half"), num_train_epochs=20.0)
    results = finetune.run(half)
    assert results["eval_accuracy"] > 0.85
    numbers = np.loadtxt(tmp_path / "half" / "test_results.tsv")
    assert cached(folder / "cache") == before  # the encoder's vectors are those of the float32 run
    answers = Predictor(results["export"]).tag([tokens for tokens, _ in sentences(12)])
    assert np.asarray([row for answer in answers for row in answer["probabilities"]]).shape == numbers.shape


def test_too_large_numbers_leave_nothing_behind(finished, tmp_path, monkeypatch):
    _, _, config = finished
    monkeypatch.setattr(token_vectors, "_payload", lambda vectors: (_ for _ in ()).throw(InputError("no")))
    with pytest.raises(InputError, match="no"):
        finetune.run(dataclasses.replace(config, output_dir=str(tmp_path / "run"), feature_cache_dir=str(tmp_path / "cache")))
    assert not os.listdir(tmp_path / "cache")
