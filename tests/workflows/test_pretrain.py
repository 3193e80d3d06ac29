"""Pre-training through its workflow: what it writes, how it goes on, what it refuses."""

import json
import os
import re
import shutil

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig, PretrainConfig
from bert_tf.data.records import RecordFile, write_records
from bert_tf.errors import InputError
from bert_tf.modeling.models import PretrainingModel
from bert_tf.training import memory
from bert_tf.workflows import model_folder, pretrain
from tests.conftest import SHARED, needs_shared
from tests.workflows.conftest import MASKS, SEQ, assert_equal_weights, pretrain_config, weights


def test_trains_evaluates_and_exports(made, tmp_path):
    results = pretrain.run(pretrain_config(made, tmp_path, do_eval=True, do_export=True, max_eval_steps=3))
    assert results["global_step"] == 6
    lines = (tmp_path / "eval_results.txt").read_text().splitlines()
    keys = [line.split(" = ")[0] for line in lines]
    assert keys == ["global_step", "loss", "masked_lm_accuracy", "masked_lm_loss", "next_sentence_accuracy", "next_sentence_loss"]
    # a model that knows nothing: ln(vocabulary) + ln 2
    assert abs(results["loss"] - (np.log(600) + np.log(2))) < 0.3
    assert json.loads((tmp_path / "bert_config.json").read_text())["do_lower_case"] is True
    assert (tmp_path / "vocab.txt").read_text() == (made / "vocab.txt").read_text()
    assert sorted(name for name in os.listdir(tmp_path) if name.endswith(".index")) == [f"model.ckpt-{n}.index" for n in (2, 4, 6)]
    loaded = tf.saved_model.load(results["export"])
    outputs = loaded.signatures["serving_default"](text=tf.constant(["The soup is hot."]))
    assert outputs["pooled_output"].shape == (1, 32)
    assert any(name.startswith("events.out") for name in os.listdir(tmp_path / "train"))
    record = json.loads((tmp_path / "run.json").read_text())
    assert (record["first_step"], record["last_step"], record["devices"]) == (0, 6, "the CPU")
    assert record["training"]["steps"] == 5 and 0.5 < record["training"]["share_of_useful_tokens"] <= 1  # the first step compiles
    assert 0 < record["training"]["share_of_ceiling"] < 1.5
    assert record["versions"]["tensorflow"] == tf.__version__ and record["run"]["config"]["num_train_steps"] == 6


@pytest.mark.parametrize(
    "changes",
    [
        dict(precision="float32"),
        dict(pack_sequences=True, gradient_accumulation_steps=2, precision="bfloat16"),
        pytest.param(dict(recompute=True, optimizer="lamb", precision="float16", clip_per_replica=True), marks=pytest.mark.slow),
    ],
    ids=["plain", "packed, accumulated, bfloat16", "recomputed, LAMB, float16"],
)
def test_an_interrupted_run_ends_as_the_unbroken_one(made, tmp_path, changes):
    changes = changes | {"deterministic": True}
    pretrain.run(pretrain_config(made, tmp_path / "unbroken", **changes))
    pretrain.run(pretrain_config(made, tmp_path / "broken", stop_at_step=3, **changes))
    pretrain.run(pretrain_config(made, tmp_path / "broken", **changes))
    assert_equal_weights(tmp_path / "unbroken" / "model.ckpt-6", tmp_path / "broken" / "model.ckpt-6")


def test_the_second_phase_goes_on_in_the_same_schedule(made, tmp_path):
    first = pretrain_config(made, tmp_path / "first", stop_at_step=4)
    pretrain.run(first)
    pretrain.run(pretrain_config(made, tmp_path / "second", continue_from=str(tmp_path / "first"), train_batch_size=2))
    state = weights(tmp_path / "second" / "model.ckpt-6")
    assert state["global_step"] == 6
    assert any(np.abs(state[name]).sum() > 0 for name in state if name.endswith("adam_m"))
    # init_checkpoint alone starts a new schedule at step 0
    pretrain.run(pretrain_config(made, tmp_path / "new", init_checkpoint=str(tmp_path / "first"), num_train_steps=3))
    assert weights(tmp_path / "new" / "model.ckpt-3")["global_step"] == 3


def test_frozen_layers_stay_as_they_were(made, tmp_path):
    pretrain.run(pretrain_config(made, tmp_path / "first", num_train_steps=3))
    start = weights(tmp_path / "first" / "model.ckpt-3")
    pretrain.run(pretrain_config(made, tmp_path / "second", init_checkpoint=str(tmp_path / "first"), num_frozen_layers=1))
    trained = weights(tmp_path / "second" / "model.ckpt-6")
    for name in (name for name in trained if not name.endswith(("adam_m", "adam_v", "global_step"))):
        frozen = name.startswith(("bert/embeddings/", "bert/encoder/layer_0/"))
        assert np.array_equal(trained[name], start[name]) == frozen, name
    with pytest.raises(InputError, match="num_frozen_layers is 2, but the model has 1 layers"):
        pretrain.run(pretrain_config(made, tmp_path / "third", num_frozen_layers=2))


def test_without_nsp_there_is_no_next_sentence_head(made, tmp_path):
    results = pretrain.run(pretrain_config(made, tmp_path, use_nsp=False, do_eval=True, num_train_steps=3, max_eval_steps=1))
    assert "next_sentence_loss" not in results
    assert not [name for name in weights(tmp_path / "model.ckpt-3") if "seq_relationship" in name]


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(input_file="missing-*.tfrecord"), r"input_file: no file matches 'missing-\*\.tfrecord'"),
        (dict(max_seq_length=16), r"max_seq_length=32.*16"),
        (dict(max_predictions_per_seq=20), r"max_predictions_per_seq=5.*20"),
        (dict(init_checkpoint="nowhere/bert_model.ckpt"), r"nowhere"),
        (dict(bert_config_file="nowhere.json"), r"nowhere\.json"),
        (dict(bert_config_file=None), r"no model: give --bert_config_file"),
        (dict(do_train=False), r"nothing to do"),
        (dict(vocab_file="nowhere.txt"), r"nowhere\.txt"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(made, tmp_path, changes, message):
    with pytest.raises(InputError, match=message) as caught:
        pretrain.run(pretrain_config(made, tmp_path / "run", **changes))
    assert "\n" not in str(caught.value)
    assert not [name for name in tmp_path.rglob("*") if "ckpt" in name.name]


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(num_warmup_steps=6), r"num_warmup_steps 6 is not below num_train_steps 6"),
        (dict(max_seq_length=4), r"max_seq_length is 4"),
        (dict(init_checkpoint="a", continue_from="b"), r"choose"),
    ],
)
def test_impossible_flags_are_refused(made, tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        pretrain_config(made, tmp_path, **changes)


def test_a_vocabulary_longer_than_the_table_is_refused(made, tmp_path):
    small = BertConfig.from_json((made / "bert_config.json").read_text())
    path = tmp_path / "bert_config.json"
    path.write_text(small.to_json().replace('"vocab_size": 600', '"vocab_size": 599'))
    with pytest.raises(InputError, match=r"600.*599"):
        pretrain.run(pretrain_config(made, tmp_path / "run", bert_config_file=str(path)))


@needs_shared
def test_trains_on_the_originals_records(tmp_path):
    (tmp_path / "bert_config.json").write_text(
        BertConfig(
            vocab_size=30522, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, type_vocab_size=2
        ).to_json()
    )
    results = pretrain.run(
        PretrainConfig(
            input_file=str(SHARED / "golden" / "pretraining" / "original_wwm_*.tfrecord"),
            bert_config_file=str(tmp_path / "bert_config.json"),
            output_dir=str(tmp_path / "run"),
            do_train=True,
            do_eval=True,
            train_batch_size=8,
            num_train_steps=8,
            num_warmup_steps=2,
            learning_rate=1e-3,
        )
    )
    assert results["global_step"] == 8
    assert results["masked_lm_loss"] < np.log(30522)


def test_random_weights_are_never_evaluated_or_exported(made, tmp_path):
    for asked in (dict(do_eval=True), dict(do_export=True)):
        with pytest.raises(InputError, match=r"holds no checkpoint"):
            pretrain.run(pretrain_config(made, tmp_path / "run", do_train=False, **asked))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("flag, mend", [("init_checkpoint", "give a sound checkpoint"), ("continue_from", "give another --continue_from")])
def test_a_checkpoint_that_is_not_finite_is_told(made, tmp_path, flag, mend):
    pretrain.run(pretrain_config(made, tmp_path / "first", num_train_steps=3, stop_at_step=2))
    prefix = str(tmp_path / "first" / "model.ckpt-2")
    state = weights(prefix)
    name = "bert/encoder/layer_0/output/dense/bias"
    state[name][3] = np.nan
    tf.raw_ops.SaveV2(
        prefix=prefix, tensor_names=sorted(state), shape_and_slices=[""] * len(state), tensors=[state[n] for n in sorted(state)]
    )
    with pytest.raises(InputError, match=rf"model\.ckpt-2: {name} holds numbers that are not finite; {mend}"):
        pretrain.run(pretrain_config(made, tmp_path / "second", num_train_steps=3, **{flag: str(tmp_path / "first")}))
    assert not (tmp_path / "second").exists()


def test_another_vocabulary_than_the_checkpoints_is_warned_of(made, tmp_path, caplog):
    pretrain.run(pretrain_config(made, tmp_path / "first", num_train_steps=2, num_warmup_steps=1))
    lines = (made / "vocab.txt").read_text().splitlines()
    lines[99] = "zebra-like"
    (tmp_path / "vocab.txt").write_text("\n".join(lines) + "\n")
    data = RecordFile(str(made / "data.tfrecord"))
    write_records([str(tmp_path / "data.tfrecord")], data.read(np.arange(len(data))))  # without the manifest, which knows the vocabulary
    changes = dict(
        input_file=str(tmp_path / "data.tfrecord"), vocab_file=str(tmp_path / "vocab.txt"), num_train_steps=2, num_warmup_steps=1
    )
    with caplog.at_level("WARNING", logger="absl"):
        pretrain.run(pretrain_config(made, tmp_path / "second", init_checkpoint=str(tmp_path / "first"), **changes))
    assert re.search(r"not the vocabulary beside the checkpoint.*differ from line 100 on \('.*' there, 'zebra-like' here\)", caplog.text)


def test_a_shorter_vocabulary_is_warned_of(made, caplog, tmp_path):
    lines = (made / "vocab.txt").read_text().splitlines()
    (tmp_path / "vocab.txt").write_text("\n".join(lines[:-20]) + "\n")
    model_folder.check_vocab_of(str(made), model_folder.read_vocab(str(tmp_path / "vocab.txt")))
    assert f"they have {len(lines):,} pieces there, {len(lines) - 20:,} here; is it meant?" in caplog.text


def test_a_run_killed_before_its_record_was_written_gets_one(made, tmp_path):
    config = pretrain_config(made, tmp_path / "run", num_train_steps=2, num_warmup_steps=1)
    pretrain.run(config)
    record = tmp_path / "run" / "run.json"
    written = json.loads(record.read_text())
    record.unlink()
    pretrain.run(config)
    again = json.loads(record.read_text())
    assert again["run"] == written["run"] and again["last_step"] == 2 and again["training"] == {}


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("field, size", [("vocab_size", 100), ("type_vocab_size", 1)])
def test_numbers_outside_the_tables_are_told(made, tmp_path, field, size, jit_compile):
    """Under XLA, too, where a gather takes any number."""
    model = json.loads((made / "bert_config.json").read_text()) | {field: size}
    (tmp_path / "bert_config.json").write_text(json.dumps(model))
    (tmp_path / "data.tfrecord").write_bytes((made / "data.tfrecord").read_bytes())  # without its manifest
    changes = dict(bert_config_file=str(tmp_path / "bert_config.json"), input_file=str(tmp_path / "data.tfrecord"), vocab_file=None)
    name = "input_ids" if field == "vocab_size" else "segment_ids"
    with pytest.raises(InputError, match=rf"data\.tfrecord: record 0 holds {name} \d+, outside 0 to {size - 1}; give the data") as caught:
        pretrain.run(pretrain_config(made, tmp_path / "run", **changes, jit_compile=jit_compile))
    assert "\n" not in str(caught.value)


def test_a_file_that_was_cut_between_records_is_told(made, tmp_path):
    for name in ("data.tfrecord", "data.tfrecord.manifest.json"):
        shutil.copy(made / name, tmp_path / name)
    records = RecordFile(str(tmp_path / "data.tfrecord"))
    count = len(records)
    os.truncate(records.path, int(records.starts[-2]))
    with pytest.raises(InputError, match=rf"holds {count - 1} examples, its manifest says {count}"):
        pretrain.run(pretrain_config(made, tmp_path / "run", input_file=records.path))


@pytest.mark.parametrize("field", ["num_train_steps", "num_warmup_steps", "learning_rate"])
def test_the_second_phase_of_another_schedule_is_refused(made, tmp_path, field):
    pretrain.run(pretrain_config(made, tmp_path / "first", stop_at_step=3))
    changes = {"num_train_steps": 9, "num_warmup_steps": 3, "learning_rate": 5e-4}
    with pytest.raises(InputError, match=rf"--continue_from=.*first: its schedule has {field}=.*; give the same, or --init_checkpoint"):
        pretrain.run(pretrain_config(made, tmp_path / "second", continue_from=str(tmp_path / "first"), **{field: changes[field]}))
    assert not (tmp_path / "second").exists()


def test_the_second_phase_of_a_finished_schedule_is_refused(made, tmp_path):
    pretrain.run(pretrain_config(made, tmp_path / "first"))
    with pytest.raises(InputError, match=r"is at step 6 already, and this run ends at step 6"):
        pretrain.run(pretrain_config(made, tmp_path / "second", continue_from=str(tmp_path / "first")))
    assert not (tmp_path / "second").exists()


def test_evaluation_needs_no_optimizer_and_finds_its_own_model(made, tmp_path):
    expected = pretrain.run(pretrain_config(made, tmp_path / "run", do_eval=True, max_eval_steps=2))
    prefix = str(tmp_path / "run" / "model.ckpt-6")
    state = {name: value for name, value in weights(prefix).items() if "adam" not in name}
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=[*state], shape_and_slices=[""] * len(state), tensors=[*state.values()])
    changes = dict(do_train=False, do_eval=True, max_eval_steps=2, bert_config_file=None, vocab_file=None)
    found = pretrain.run(pretrain_config(made, tmp_path / "run", **changes))
    assert found["loss"] == pytest.approx(expected["loss"], abs=1e-6)
    with pytest.raises(InputError, match="adam_m, so it is no state of a training"):
        pretrain.run(pretrain_config(made, tmp_path / "run"))


def test_auto_batch_cuts_the_batch_to_what_is_free(made, tmp_path, monkeypatch, caplog):
    caplog.set_level("INFO", logger="absl")
    shape = BertConfig.from_json((made / "bert_config.json").read_text())
    half = memory.step_bytes(shape, PretrainingModel(shape).count_params(), memory.StepShape(8, SEQ, MASKS, 4, accumulates=True))
    # 85 % of it is to be used
    (tmp_path / "meminfo").write_text(f"MemAvailable: {half / 0.85 / 1024 + 1:.0f} kB\n")
    monkeypatch.setattr(memory, "_MEMORY_INFO", str(tmp_path / "meminfo"))
    monkeypatch.setattr(memory, "_LIMITS", ())
    config = pretrain_config(made, tmp_path / "run", train_batch_size=16, precision="float32", auto_batch=True)
    assert pretrain.run(config)["global_step"] == 6
    assert "--auto_batch: each device's 16 examples go through in 2 parts" in caplog.text
    assert "a step needs about 0.5 GB of memory; 0.6 GB are free" in caplog.text


@pytest.mark.parametrize("changes, message", [({"gradient_accumulation_steps": 2}, "choose one"), ({"deterministic": True}, "repeated")])
def test_auto_batch_with_what_contradicts_it(made, tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        pretrain_config(made, tmp_path, auto_batch=True, **changes)
