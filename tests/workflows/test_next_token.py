"""A left-to-right language model through all workflows: data, training, evaluation, export, fine-tuning from it, and what does not fit."""

import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

import bert_tf
from bert_tf.config import PretrainConfig
from bert_tf.data.manifest import read_manifest
from bert_tf.data.records import RecordFile
from bert_tf.errors import InputError
from bert_tf.workflows import create_pretraining_data, finetune, pretrain
from tests.workflows.conftest import SEQ, assert_equal_weights, data_config, finetune_config, pretrain_config


@pytest.fixture(scope="module")
def next_tokens(made):
    create_pretraining_data.run(data_config(made, "next.tfrecord", objective="next_token", use_nsp=False))
    return made / "next.tfrecord"


def config_of(made, records, output_dir, **changes):
    values = dict(input_file=str(records), objective="next_token", use_nsp=False, precision="float32", deterministic=True)
    return pretrain_config(made, output_dir, **(values | changes))


@pytest.fixture(scope="module")
def trained(made, next_tokens, tmp_path_factory):
    folder = tmp_path_factory.mktemp("left_to_right")
    return folder, pretrain.run(config_of(made, next_tokens, folder, do_eval=True, do_export=True))


def test_records_hold_the_text_and_the_manifest_what_for(next_tokens):
    manifest = read_manifest(str(next_tokens))
    flags, observed = manifest.content["flags"], manifest.content["observed"]
    assert (manifest.kind, flags["objective"], flags["dupe_factor"]) == ("next-token pretraining", "next_token", 1)
    assert observed["mask_rate"] is None and observed["random_next_share"] is None
    (record,) = RecordFile(str(next_tokens)).read(np.arange(1))
    assert set(tf.train.Example.FromString(record).features.feature) == {"input_ids", "input_mask", "segment_ids"}


def test_it_trains_evaluates_and_remembers_how_it_reads(made, trained):
    folder, results = trained
    assert {"next_token_loss", "next_token_accuracy", "loss"} <= set(results) and "masked_lm_loss" not in results
    assert results["loss"] == results["next_token_loss"] == pytest.approx(np.log(600), abs=0.3)
    assert json.loads((folder / "bert_config.json").read_text())["left_to_right"] is True
    assert "left_to_right" not in json.loads((made / "bert_config.json").read_text())
    record = json.loads((folder / "run_config.json").read_text())
    assert record["config"]["objective"] == "next_token" and record["model"]["left_to_right"] is True


def test_what_is_loaded_or_served_reads_so_too(trained):
    folder, results = trained
    encoder = bert_tf.load_encoder(folder)
    served = tf.saved_model.load(results["export"]).signatures["ids"]
    ids = np.array([[3, 20, 21, 22, 23, 4]], np.int32)
    changed = ids.copy()
    changed[:, 3:] += 9
    for run, dtype in ((encoder, np.int32), (lambda batch: served(**batch), np.int32)):
        first, second = (
            run({"input_ids": tf.constant(each, dtype), "input_mask": tf.ones_like(each), "segment_ids": tf.zeros_like(each)})
            for each in (ids, changed)
        )
        np.testing.assert_array_equal(first["sequence_output"][:, :3], second["sequence_output"][:, :3])
        assert np.abs(first["pooled_output"] - second["pooled_output"]).max() > 1e-4


@pytest.mark.parametrize(
    "changes", [{}, pytest.param(dict(pack_sequences=True, gradient_accumulation_steps=2), marks=pytest.mark.slow)], ids=str
)
def test_an_interrupted_run_ends_as_the_unbroken_one(made, next_tokens, trained, tmp_path, changes):
    folder = trained[0]
    if changes:
        folder = tmp_path / "unbroken"
        pretrain.run(config_of(made, next_tokens, folder, **changes))
    for stop in (3, None):
        pretrain.run(config_of(made, next_tokens, tmp_path / "broken", stop_at_step=stop, **changes))
    assert_equal_weights(folder / "model.ckpt-6", tmp_path / "broken" / "model.ckpt-6")


def test_without_a_manifest_the_first_record_tells(made, next_tokens, tmp_path):
    shutil.copy(next_tokens, tmp_path / "bare.tfrecord")
    assert pretrain.run(config_of(made, tmp_path / "bare.tfrecord", tmp_path / "run", num_train_steps=3))["global_step"] == 3


def test_fine_tuning_goes_on_from_left_to_right(trained, data_dir, tmp_path):
    results = finetune.run(
        finetune_config(data_dir, tmp_path, init_checkpoint=str(trained[0]), do_eval=True, do_predict=False, num_train_epochs=1.0)
    )
    assert "eval_accuracy" in results
    assert json.loads((tmp_path / "bert_config.json").read_text())["left_to_right"] is True


@pytest.mark.parametrize(
    "name, changes, message",
    [
        (
            "next.tfrecord",
            dict(objective="masked_lm"),
            r"next\.tfrecord: was made with --objective=next_token, but objective is masked_lm",
        ),
        ("data.tfrecord", {}, r"data\.tfrecord: holds masks, but objective is next_token; give --objective=masked_lm"),
        ("unmasked.tfrecord", {}, r"unmasked\.tfrecord: was made with --masking=dynamic, but objective is next_token"),
        ("next.tfrecord", dict(masked_lm_prob=0.2), r"masked_lm_prob is given, but .*next\.tfrecord has nothing to be masked"),
        ("next.tfrecord", dict(max_seq_length=16), r"made with --max_seq_length=32"),
        (
            "next.tfrecord,data.tfrecord",
            {},
            r"next\.tfrecord was made with --objective=next_token, .*data\.tfrecord holds masks; give",
        ),
    ],
)
def test_data_of_another_objective_is_one_line(made, unmasked, next_tokens, tmp_path, name, changes, message):
    paths = ",".join(str(made / part) for part in name.split(","))
    with pytest.raises(InputError, match=message) as caught:
        pretrain.run(config_of(made, paths, tmp_path / "run", **changes))
    assert "\n" not in str(caught.value) and not (tmp_path / "run").exists()


def test_weights_of_the_other_attention_are_refused(made, next_tokens, trained, pretrained, data_dir, tmp_path):
    of_both_sides = dict(init_checkpoint=str(pretrained))
    with pytest.raises(
        InputError, match=r"trained with attention to both sides .*, this run's is from left to right; give --objective=masked_lm"
    ):
        pretrain.run(config_of(made, next_tokens, tmp_path / "run", **of_both_sides))
    with pytest.raises(
        InputError, match=r"trained with attention from left to right .*, this run's is to both sides; leave out --bert_config_file"
    ):
        finetune.run(
            finetune_config(data_dir, tmp_path / "run", init_checkpoint=str(trained[0]), bert_config_file=str(made / "bert_config.json"))
        )
    masked = pretrain_config(made, tmp_path / "run", bert_config_file=str(trained[0] / "bert_config.json"))
    with pytest.raises(
        InputError, match=r"bert_config\.json: left_to_right is true, but objective is masked_lm; give --objective=next_token"
    ):
        pretrain.run(masked)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(objective="next_token"), "use_nsp is true, but objective is next_token: .*; give use_nsp=false"),
        (
            dict(objective="next_token", use_nsp=False, masking="dynamic"),
            "masking is dynamic, but with objective next_token nothing",
        ),
        (dict(objective="next_token", use_nsp=False, do_whole_word_mask=True), "do_whole_word_mask is True, but with objective next_token"),
        (dict(word_segments=True), "word_segments is true, but words matter to whole-word masking alone; give do_whole_word_mask=true"),
        (dict(max_ngram=3), "max_ngram is 3, but spans are of whole words; give do_whole_word_mask=true"),
        (dict(max_ngram=0, do_whole_word_mask=True), "max_ngram is 0; give 1 to 100"),
    ],
)
def test_flags_that_do_not_go_together(made, changes, message):
    with pytest.raises(InputError, match=message):
        data_config(made, "none.tfrecord", **changes)


def test_training_needs_no_next_sentence_either(made, tmp_path):
    with pytest.raises(InputError, match="use_nsp is true, but objective is next_token"):
        pretrain_config(made, tmp_path, objective="next_token")
    config = PretrainConfig(input_file="a", output_dir="b", objective="next_token", use_nsp=False, max_seq_length=SEQ)
    assert config.num_predictions == SEQ - 1
