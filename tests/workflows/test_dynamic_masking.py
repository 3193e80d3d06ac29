"""Records without masks through both workflows: what they hold, how a run on them goes on, what is refused."""

import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.data.manifest import read_manifest
from bert_tf.data.records import RecordFile, parse_spec
from bert_tf.data.schema import PRETRAINING, UNMASKED_PRETRAINING
from bert_tf.errors import InputError
from bert_tf.text.vocab import Vocabulary
from bert_tf.workflows import create_pretraining_data, pretrain
from bert_tf.workflows.pretraining_examples import open_set
from tests.workflows.conftest import MASKS, SEQ, assert_equal_weights, data_config, pretrain_config
from tests.workflows.test_create_pretraining_data import parse, restored_ids


def config_of(made, unmasked, output_dir, **changes):
    return pretrain_config(made, output_dir, **(dict(input_file=str(unmasked), precision="float32", deterministic=True) | changes))


def test_records_hold_the_pairs_once_and_unmasked(made, unmasked):
    masked = parse(made / "data.tfrecord", SEQ, MASKS)
    records = RecordFile(str(unmasked))
    found = tf.io.parse_example(records.read(np.arange(len(records))), parse_spec(UNMASKED_PRETRAINING, {"seq": SEQ}))
    # at one seed the pairs, and their order, are those of static masking
    np.testing.assert_array_equal(found["input_ids"], restored_ids(masked))
    for name in ("input_mask", "segment_ids", "next_sentence_labels"):
        np.testing.assert_array_equal(found[name], masked[name], err_msg=name)
    manifest = read_manifest(str(unmasked))
    assert (manifest.kind, read_manifest(str(made / "data.tfrecord")).kind) == (UNMASKED_PRETRAINING.name, PRETRAINING.name)
    flags, observed = manifest.content["flags"], manifest.content["observed"]
    assert (flags["masking"], flags["dupe_factor"], observed["mask_rate"], observed["mask_mix"]) == ("dynamic", 1, None, None)
    assert observed["random_next_share"] == pytest.approx(found["next_sentence_labels"].numpy().mean(), abs=1e-6)
    names = {name for record in records.read(np.arange(1)) for name in tf.train.Example.FromString(record).features.feature}
    assert names == {"input_ids", "input_mask", "segment_ids", "next_sentence_labels"}


def test_more_passes_than_needed_get_a_word(made, tmp_path, caplog):
    shutil.copy(made / "vocab.txt", tmp_path)
    with caplog.at_level("WARNING", logger="absl"):
        content = create_pretraining_data.run(data_config(tmp_path, "more.tfrecord", masking="dynamic", dupe_factor=2))
    assert "dupe_factor is 2, but with --masking=dynamic one pass has new masks in every epoch" in caplog.text
    assert content["flags"]["dupe_factor"] == 2
    assert data_config(tmp_path, "static").dupe_factor == 10, "the original's default"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        pytest.param(dict(pack_sequences=True, gradient_accumulation_steps=2, do_whole_word_mask=True), marks=pytest.mark.slow),
    ],
    ids=["plain", "packed, accumulated, whole words"],
)
def test_an_interrupted_run_ends_as_the_unbroken_one(made, unmasked, tmp_path, changes):
    changes = changes | dict(train_batch_size=64, num_train_steps=12, save_checkpoints_steps=3)  # over the ends of epochs
    expected = pretrain.run(config_of(made, unmasked, tmp_path / "unbroken", do_eval=True, **changes))
    for stop in (5, 9, None):
        found = pretrain.run(config_of(made, unmasked, tmp_path / "broken", do_eval=True, stop_at_step=stop, **changes))
    assert_equal_weights(tmp_path / "unbroken" / "model.ckpt-12", tmp_path / "broken" / "model.ckpt-12")
    assert found == expected


def test_without_a_manifest_the_first_record_tells(made, unmasked, tmp_path):
    shutil.copy(unmasked, tmp_path / "bare.tfrecord")
    opened = open_set_of(made, tmp_path / "bare.tfrecord", tmp_path)
    assert opened.kind is UNMASKED_PRETRAINING
    assert opened.masking == "0.15 of the pieces, 0.8/0.1/0.1, single pieces"


def open_set_of(made, path, output_dir, **changes):
    model = BertConfig.from_json((made / "bert_config.json").read_text())
    vocab = Vocabulary((made / "vocab.txt").read_text().splitlines())
    return open_set("input_file", config_of(made, path, output_dir, **changes), model, vocab)


def test_masks_are_as_the_data_was_made_for_unless_flags_say_otherwise(made, tmp_path):
    shutil.copy(made / "vocab.txt", tmp_path)
    for name, mix in (("a", "0.5,0.25,0.25"), ("b", "0.6,0.2,0.2")):
        create_pretraining_data.run(
            data_config(tmp_path, f"{name}.tfrecord", masking="dynamic", mask_mix=mix, masked_lm_prob=0.2, do_whole_word_mask=True)
        )
    made_for = open_set_of(made, tmp_path / "a.tfrecord", tmp_path)
    assert made_for.masking == "0.2 of the pieces, 0.5/0.25/0.25, whole words"
    asked = open_set_of(made, tmp_path / "a.tfrecord", tmp_path, mask_mix="1,0,0", do_whole_word_mask=False, masked_lm_prob=0.1)
    assert asked.masking == "0.1 of the pieces, 1/0/0, single pieces"
    with pytest.raises(InputError, match=r"mask_mix is not given, .* \['0.5,0.25,0.25', '0.6,0.2,0.2'\]; give it"):
        open_set_of(made, f"{tmp_path}/*.tfrecord", tmp_path)
    assert len(open_set_of(made, f"{tmp_path}/*.tfrecord", tmp_path, mask_mix="0.8,0.1,0.1").files) == 2


def test_a_run_goes_on_with_the_same_masking_only(made, unmasked, tmp_path):
    pretrain.run(config_of(made, unmasked, tmp_path / "run", stop_at_step=2))
    pretrain.run(config_of(made, unmasked, tmp_path / "run", stop_at_step=3, masked_lm_prob=0.15))  # what it was anyway
    message = r"the masking changed since this run began \(0.15 of .*, now 0.2 of .*\); give what it began with"
    with pytest.raises(InputError, match=message):
        pretrain.run(config_of(made, unmasked, tmp_path / "run", masked_lm_prob=0.2))


@pytest.mark.parametrize(
    "inputs, changes, message",
    [
        ("data.tfrecord", dict(mask_mix="0.8,0.1,0.1"), r"mask_mix is given, but .*data\.tfrecord was masked when it was made"),
        ("data.tfrecord", dict(do_whole_word_mask=False), r"do_whole_word_mask is given, but"),
        ("data.tfrecord,unmasked.tfrecord", {}, r"data\.tfrecord holds masks, .*unmasked\.tfrecord was made with --masking=dynamic"),
        ("unmasked.tfrecord", dict(max_seq_length=16), r"made with --max_seq_length=32"),
    ],
)
def test_what_does_not_fit_is_one_line(made, unmasked, tmp_path, inputs, changes, message):
    paths = ",".join(str(unmasked.parent / name) for name in inputs.split(","))
    with pytest.raises(InputError, match=message) as caught:
        pretrain.run(config_of(made, paths, tmp_path / "run", **changes))
    assert "\n" not in str(caught.value) and not (tmp_path / "run").exists()


def test_masks_need_a_vocabulary(made, unmasked, tmp_path):
    shutil.copy(unmasked, tmp_path / "bare.tfrecord")
    with pytest.raises(InputError, match=r"bare\.tfrecord: made with --masking=dynamic, .*; give vocab_file"):
        pretrain.run(config_of(made, tmp_path / "bare.tfrecord", tmp_path / "run", vocab_file=None))
    found = pretrain.run(config_of(made, unmasked, tmp_path / "run", vocab_file=None, num_train_steps=3))  # by the manifest
    assert found["global_step"] == 3


def test_evaluation_is_the_same_whatever_the_seed(made, unmasked, tmp_path):
    pretrain.run(config_of(made, unmasked, tmp_path / "first", num_train_steps=3))
    asked = dict(init_checkpoint=str(tmp_path / "first"), do_train=False, do_eval=True)
    scores = [pretrain.run(config_of(made, unmasked, tmp_path / "other", random_seed=seed, **asked))["loss"] for seed in (1, 2)]
    assert scores[0] == scores[1]
