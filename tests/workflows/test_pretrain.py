"""Pre-training through its workflow: what it writes, how it goes on, what it refuses."""

import dataclasses
import errno
import json
import os
import re
import shutil

import filelock
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig, PretrainConfig
from bert_tf.data.records import RecordFile, write_records
from bert_tf.errors import InputError
from bert_tf.workflows import pretrain, run_directory
from tests.conftest import SHARED, needs_shared
from tests.workflows.conftest import MASKS, SEQ


def config_for(made, output_dir, **changes):
    values = dict(
        input_file=str(made / "data.tfrecord"),
        bert_config_file=str(made / "bert_config.json"),
        vocab_file=str(made / "vocab.txt"),
        output_dir=str(output_dir),
        do_train=True,
        max_seq_length=SEQ,
        max_predictions_per_seq=MASKS,
        train_batch_size=4,
        num_train_steps=6,
        num_warmup_steps=2,
        save_checkpoints_steps=2,
        learning_rate=1e-3,
    )
    return PretrainConfig(**(values | changes))


def weights(prefix):
    reader = tf.train.load_checkpoint(str(prefix))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def assert_equal_weights(first, second):
    first, second = weights(first), weights(second)
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def test_trains_evaluates_and_exports(made, tmp_path):
    results = pretrain.run(config_for(made, tmp_path, do_eval=True, do_export=True, max_eval_steps=3))
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


def test_an_interrupted_run_ends_as_the_unbroken_one(made, tmp_path):
    pretrain.run(config_for(made, tmp_path / "unbroken", deterministic=True))
    pretrain.run(config_for(made, tmp_path / "broken", deterministic=True, stop_at_step=3))
    pretrain.run(config_for(made, tmp_path / "broken", deterministic=True))
    assert_equal_weights(tmp_path / "unbroken" / "model.ckpt-6", tmp_path / "broken" / "model.ckpt-6")


def test_the_second_phase_goes_on_in_the_same_schedule(made, tmp_path):
    first = config_for(made, tmp_path / "first", stop_at_step=4)
    pretrain.run(first)
    pretrain.run(config_for(made, tmp_path / "second", continue_from=str(tmp_path / "first"), train_batch_size=2))
    state = weights(tmp_path / "second" / "model.ckpt-6")
    assert state["global_step"] == 6
    assert any(np.abs(state[name]).sum() > 0 for name in state if name.endswith("adam_m"))
    # init_checkpoint alone starts a new schedule at step 0
    pretrain.run(config_for(made, tmp_path / "new", init_checkpoint=str(tmp_path / "first"), num_train_steps=3))
    assert weights(tmp_path / "new" / "model.ckpt-3")["global_step"] == 3


def test_a_finished_run_says_so_and_goes_on_with_the_rest(made, tmp_path, caplog):
    pretrain.run(config_for(made, tmp_path))
    before = weights(tmp_path / "model.ckpt-6")
    with caplog.at_level("INFO", logger="absl"):
        results = pretrain.run(config_for(made, tmp_path, do_eval=True, max_eval_steps=1))
    assert "training is finished" in caplog.text
    assert results["global_step"] == 6 and "masked_lm_loss" in results
    assert_equal_weights(tmp_path / "model.ckpt-6", tmp_path / "model.ckpt-6")
    assert before.keys() == weights(tmp_path / "model.ckpt-6").keys()


def test_another_run_in_the_same_folder_is_refused(made, tmp_path):
    pretrain.run(config_for(made, tmp_path, num_train_steps=3))
    with pytest.raises(InputError, match=r"learning_rate=0\.001.*0\.002.*--overwrite_output_dir"):
        pretrain.run(config_for(made, tmp_path, num_train_steps=3, learning_rate=2e-3))
    (tmp_path / "notes.txt").write_text("mine")
    pretrain.run(config_for(made, tmp_path, num_train_steps=4, learning_rate=2e-3, overwrite_output_dir=True))
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert not (tmp_path / "model.ckpt-3.index").exists() and (tmp_path / "model.ckpt-4.index").exists()


def test_without_nsp_there_is_no_next_sentence_head(made, tmp_path):
    results = pretrain.run(config_for(made, tmp_path, use_nsp=False, do_eval=True, num_train_steps=3, max_eval_steps=1))
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
        pretrain.run(config_for(made, tmp_path / "run", **changes))
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
        config_for(made, tmp_path, **changes)


def test_a_vocabulary_longer_than_the_table_is_refused(made, tmp_path):
    small = BertConfig.from_json((made / "bert_config.json").read_text())
    path = tmp_path / "bert_config.json"
    path.write_text(small.to_json().replace('"vocab_size": 600', '"vocab_size": 599'))
    with pytest.raises(InputError, match=r"600.*599"):
        pretrain.run(config_for(made, tmp_path / "run", bert_config_file=str(path)))


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


def test_a_mended_command_runs_in_the_folder_of_the_failed_one(made, tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        pretrain.run(config_for(made, tmp_path / "run", init_checkpoint="nowhere/bert_model.ckpt"))
    assert not (tmp_path / "run").exists()
    pretrain.run(config_for(made, tmp_path / "run", num_train_steps=3))


def test_overwriting_touches_this_folder_only_and_nothing_that_is_needed(made, tmp_path):
    pretrain.run(config_for(made, tmp_path / "exp1", num_train_steps=3))
    with pytest.raises(InputError, match=r"needs --do_train"):
        pretrain.run(config_for(made, tmp_path / "exp1", do_train=False, do_eval=True, overwrite_output_dir=True))
    with pytest.raises(InputError, match=r"--init_checkpoint=.*lies in"):
        pretrain.run(config_for(made, tmp_path / "exp1", overwrite_output_dir=True, init_checkpoint=str(tmp_path / "exp1")))
    with pytest.raises(InputError, match=r"nowhere"):
        pretrain.run(config_for(made, tmp_path / "exp1", overwrite_output_dir=True, init_checkpoint="nowhere"))
    with pytest.raises(InputError, match=r"without \* \? \[ \]"):
        config_for(made, tmp_path / "exp*")
    assert (tmp_path / "exp1" / "model.ckpt-3.index").exists()


def test_random_weights_are_never_evaluated_or_exported(made, tmp_path):
    for asked in (dict(do_eval=True), dict(do_export=True)):
        with pytest.raises(InputError, match=r"holds no checkpoint"):
            pretrain.run(config_for(made, tmp_path / "run", do_train=False, **asked))
    assert not (tmp_path / "run").exists()


def test_a_checkpoint_that_lost_a_file_is_told(made, tmp_path, caplog):
    pretrain.run(config_for(made, tmp_path / "run", num_train_steps=4))
    (tmp_path / "run" / "model.ckpt-4.data-00000-of-00001").unlink()
    with caplog.at_level("WARNING", logger="absl"):
        assert pretrain.run(config_for(made, tmp_path / "run", num_train_steps=4))["global_step"] == 4
    assert "names model.ckpt-4, whose .index or .data file is missing; the newest whole one is model.ckpt-2" in caplog.text
    for path in (tmp_path / "run").glob("model.ckpt-*.index"):
        path.unlink()
    with pytest.raises(InputError, match=r"put it back"):
        pretrain.run(config_for(made, tmp_path / "run", num_train_steps=4))


def test_two_runs_at_once_in_one_folder_are_refused(made, tmp_path):
    lock = filelock.FileLock(tmp_path / "run.lock")
    with lock, pytest.raises(InputError, match=r"another run is training in it; wait"):
        pretrain.run(config_for(made, tmp_path))
    assert not list(tmp_path.glob("model.ckpt*"))
    pretrain.run(config_for(made, tmp_path, num_train_steps=3))
    # evaluating beside a training run is allowed
    with lock:
        pretrain.run(config_for(made, tmp_path, num_train_steps=3, do_train=False, do_eval=True, max_eval_steps=1))


def test_data_that_changed_since_the_run_began_is_told(made, tmp_path):
    for name in ("data.tfrecord", "data.tfrecord.manifest.json", "vocab.txt"):
        shutil.copy(made / name, tmp_path / name)
    config = config_for(made, tmp_path / "run", input_file=str(tmp_path / "data.tfrecord"), stop_at_step=3)
    pretrain.run(config)
    records = RecordFile(str(tmp_path / "data.tfrecord"))
    write_records([records.path], records.read(np.arange(len(records) - 1)))
    os.remove(records.path + ".manifest.json")
    with pytest.raises(InputError, match=r"the training data changed since this run began; .*another --output_dir"):
        pretrain.run(dataclasses.replace(config, stop_at_step=None))
    # evaluating what was trained is not going on with it
    pretrain.run(dataclasses.replace(config, do_train=False, do_eval=True, max_eval_steps=1))


@pytest.mark.parametrize("flag, mend", [("init_checkpoint", "give a sound checkpoint"), ("continue_from", "give another --continue_from")])
def test_a_checkpoint_that_is_not_finite_is_told(made, tmp_path, flag, mend):
    pretrain.run(config_for(made, tmp_path / "first", num_train_steps=3, stop_at_step=2))
    prefix = str(tmp_path / "first" / "model.ckpt-2")
    state = weights(prefix)
    name = "bert/encoder/layer_0/output/dense/bias"
    state[name][3] = np.nan
    tf.raw_ops.SaveV2(
        prefix=prefix, tensor_names=sorted(state), shape_and_slices=[""] * len(state), tensors=[state[n] for n in sorted(state)]
    )
    with pytest.raises(InputError, match=rf"model\.ckpt-2: {name} holds numbers that are not finite; {mend}"):
        pretrain.run(config_for(made, tmp_path / "second", num_train_steps=3, **{flag: str(tmp_path / "first")}))
    assert not (tmp_path / "second").exists()


@pytest.mark.parametrize("part", ["index", "data-00000-of-00001"])
def test_a_damaged_newest_checkpoint_is_told_and_the_one_before_is_used(made, tmp_path, part, caplog):
    """A flipped bit in the middle of either file."""
    pretrain.run(config_for(made, tmp_path, deterministic=True))
    expected = weights(tmp_path / "model.ckpt-6")
    path = tmp_path / f"model.ckpt-6.{part}"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 16
    path.write_bytes(content)
    with caplog.at_level("INFO", logger="absl"):
        assert pretrain.run(config_for(made, tmp_path, deterministic=True))["global_step"] == 6
    assert re.search(r"model\.ckpt-6: is damaged.*taking the one before", caplog.text)
    assert "going on from" in caplog.text and "model.ckpt-4" in caplog.text
    for name, value in weights(tmp_path / "model.ckpt-6").items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)
    for step in (2, 4, 6):
        (tmp_path / f"model.ckpt-{step}.index").write_bytes(b"\0" * 60)
    with pytest.raises(InputError, match=r"none of its 3 checkpoints is sound"):
        pretrain.run(config_for(made, tmp_path, deterministic=True))


def test_another_vocabulary_than_the_checkpoints_is_warned_of(made, tmp_path, caplog):
    pretrain.run(config_for(made, tmp_path / "first", num_train_steps=2, num_warmup_steps=1))
    lines = (made / "vocab.txt").read_text().splitlines()
    lines[99] = "zebra-like"
    (tmp_path / "vocab.txt").write_text("\n".join(lines) + "\n")
    data = RecordFile(str(made / "data.tfrecord"))
    write_records([str(tmp_path / "data.tfrecord")], data.read(np.arange(len(data))))  # without the manifest, which knows the vocabulary
    changes = dict(
        input_file=str(tmp_path / "data.tfrecord"), vocab_file=str(tmp_path / "vocab.txt"), num_train_steps=2, num_warmup_steps=1
    )
    with caplog.at_level("WARNING", logger="absl"):
        pretrain.run(config_for(made, tmp_path / "second", init_checkpoint=str(tmp_path / "first"), **changes))
    assert re.search(r"not the vocabulary beside the checkpoint.*differ from line 100 on \('.*' there, 'zebra-like' here\)", caplog.text)


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
        pretrain.run(config_for(made, tmp_path / "run", **changes, jit_compile=jit_compile))
    assert "\n" not in str(caught.value)


def test_a_file_that_was_cut_between_records_is_told(made, tmp_path):
    for name in ("data.tfrecord", "data.tfrecord.manifest.json"):
        shutil.copy(made / name, tmp_path / name)
    records = RecordFile(str(tmp_path / "data.tfrecord"))
    count = len(records)
    os.truncate(records.path, int(records.starts[-2]))
    with pytest.raises(InputError, match=rf"holds {count - 1} examples, its manifest says {count}"):
        pretrain.run(config_for(made, tmp_path / "run", input_file=records.path))


@pytest.mark.parametrize("field", ["num_train_steps", "num_warmup_steps", "learning_rate"])
def test_the_second_phase_of_another_schedule_is_refused(made, tmp_path, field):
    pretrain.run(config_for(made, tmp_path / "first", stop_at_step=3))
    changes = {"num_train_steps": 9, "num_warmup_steps": 3, "learning_rate": 5e-4}
    with pytest.raises(InputError, match=rf"--continue_from=.*first: its schedule has {field}=.*; give the same, or --init_checkpoint"):
        pretrain.run(config_for(made, tmp_path / "second", continue_from=str(tmp_path / "first"), **{field: changes[field]}))
    assert not (tmp_path / "second").exists()


def test_the_second_phase_of_a_finished_schedule_is_refused(made, tmp_path):
    pretrain.run(config_for(made, tmp_path / "first"))
    with pytest.raises(InputError, match=r"is at step 6 already, and this run ends at step 6"):
        pretrain.run(config_for(made, tmp_path / "second", continue_from=str(tmp_path / "first")))
    assert not (tmp_path / "second").exists()


def test_evaluation_needs_no_optimizer_and_finds_its_own_model(made, tmp_path):
    expected = pretrain.run(config_for(made, tmp_path / "run", do_eval=True, max_eval_steps=2))
    prefix = str(tmp_path / "run" / "model.ckpt-6")
    state = {name: value for name, value in weights(prefix).items() if "adam" not in name}
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=[*state], shape_and_slices=[""] * len(state), tensors=[*state.values()])
    changes = dict(do_train=False, do_eval=True, max_eval_steps=2, bert_config_file=None, vocab_file=None)
    found = pretrain.run(config_for(made, tmp_path / "run", **changes))
    assert found["loss"] == pytest.approx(expected["loss"], abs=1e-6)
    with pytest.raises(InputError, match="adam_m, so it is no state of a training"):
        pretrain.run(config_for(made, tmp_path / "run"))


def test_overwriting_throws_away_what_a_run_wrote_and_nothing_else(made, tmp_path):
    run = tmp_path / "run"
    pretrain.run(config_for(made, run, num_train_steps=3, do_export=True))
    kept = ["mine.tf_record", "eval/mine.txt", "train/mine.txt", "export/notes.txt", "export/2024-notes/a", "export/2024.txt"]
    kept += ["model.ckpt-notes.txt", "model.ckpt-3.index.bak", "model.ckpt-3.backup/a", "labels.txt", "train.tf_record", "predictions.tsv"]
    for name in kept:
        (run / name).parent.mkdir(exist_ok=True, parents=True)
        (run / name).write_text("mine")
    pretrain.run(config_for(made, run, num_train_steps=2, num_warmup_steps=1, overwrite_output_dir=True))
    assert all((run / name).read_text() == "mine" for name in kept)
    assert not (run / "export" / "1").exists() and not (run / "model.ckpt-3.index").exists()


def test_overwriting_never_takes_what_the_run_reads(made, tmp_path, monkeypatch):
    """However it is named: by ~, in a folder with a comma in its name, by a glob, or after a blank."""
    run = tmp_path / "a,b"
    pretrain.run(config_for(made, run, num_train_steps=3))
    shutil.copy(made / "data.tfrecord", run / "data.tfrecord")
    monkeypatch.setenv("HOME", str(tmp_path))
    named = [
        dict(init_checkpoint="~/a,b/model.ckpt-3"),
        dict(init_checkpoint=str(run / "model.ckpt-3")),
        dict(vocab_file="~/a,b/vocab.txt"),
    ]
    named += [
        dict(input_file=str(tmp_path / "*b" / "data.tfrecord")),
        dict(input_file=f"{made}/data.tfrecord, {tmp_path}/*b/data.tfrecord"),
    ]
    for changes in named:
        with pytest.raises(InputError, match=r"might throw away --\w+=.*, which lies in"):
            pretrain.run(config_for(made, run, overwrite_output_dir=True, **changes))
    assert (run / "model.ckpt-3.index").exists() and (run / "data.tfrecord").exists()


def test_a_run_killed_before_its_first_step_starts_again(made, tmp_path, monkeypatch):
    """At each of the files that it writes first."""
    real = run_directory.write_text
    for survived in range(4):
        written = []

        def killed(folder, name, text, written=written, survived=survived):
            if len(written) == survived:
                raise SystemExit("killed")
            written.append(name)
            return real(folder, name, text)

        config = config_for(made, tmp_path / str(survived), num_train_steps=2, num_warmup_steps=1)
        monkeypatch.setattr(run_directory, "write_text", killed)
        if survived < 3:
            with pytest.raises(SystemExit):
                pretrain.run(config)
            assert written == ["run_config.json", "bert_config.json", "vocab.txt"][:survived]
        monkeypatch.setattr(run_directory, "write_text", real)
        assert pretrain.run(config)["global_step"] == 2


def test_places_that_are_taken_are_told_before_the_training(made, tmp_path):
    for name, make in (("train", "touch"), ("export", "touch"), ("eval_results.txt", "mkdir"), ("run_config.json", "mkdir")):
        folder = tmp_path / name
        folder.mkdir()
        getattr(folder / name, make)()
        with pytest.raises(InputError, match=rf"{name}: is a (file|directory), where this run"):
            pretrain.run(config_for(made, folder))
        assert [path.name for path in folder.iterdir()] == [name]


def test_strange_checkpoints_of_the_runs_own_are_told(made, tmp_path, caplog):
    pretrain.run(config_for(made, tmp_path, num_train_steps=4))
    for part in ("index", "data-00000-of-00001"):
        shutil.copy(tmp_path / f"model.ckpt-4.{part}", tmp_path / f"model.ckpt-99.{part}")
    with pytest.raises(InputError, match=r"model\.ckpt-99: holds step 4, not the step of its name; .* model\.ckpt-4"):
        pretrain.run(config_for(made, tmp_path, num_train_steps=4))
    state = weights(tmp_path / "model.ckpt-4") | {"global_step": np.int64(-5)}
    prefix = str(tmp_path / "model.ckpt-99")
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=[*state], shape_and_slices=[""] * len(state), tensors=[*state.values()])
    (tmp_path / "checkpoint").write_bytes(b"\xff\xfe")
    with caplog.at_level("WARNING", logger="absl"):
        assert pretrain.run(config_for(made, tmp_path, num_train_steps=4))["global_step"] == 4
    assert "global_step holds int64 numbers that it cannot hold" in caplog.text


def test_a_models_own_folder_is_no_place_for_a_run(made, tmp_path):
    shutil.copy(made / "bert_config.json", tmp_path)  # without do_lower_case, which a run adds
    for changes in ({}, {"overwrite_output_dir": True}):
        with pytest.raises(
            InputError, match=r"holds a bert_config\.json of its own, which this run would write over; give another --output_dir"
        ):
            pretrain.run(config_for(made, tmp_path, **changes))
    (tmp_path / "bert_config.json").unlink()
    shutil.copy(made / "data.tfrecord", tmp_path / "run.tfrecord")
    with pytest.raises(InputError, match=r"might throw away --input_file="):
        pretrain.run(config_for(made, tmp_path, input_file=str(tmp_path / "run.tfrecord"), overwrite_output_dir=True))
    # a vocabulary that was made there is no obstacle
    shutil.copy(made / "vocab.txt", tmp_path)
    pretrain.run(config_for(made, tmp_path, num_train_steps=2, num_warmup_steps=1))


def test_a_file_system_without_locks_is_warned_of(made, tmp_path, caplog, monkeypatch):
    def refuse(self):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(filelock.FileLock, "_acquire", refuse)
    with caplog.at_level("WARNING", logger="absl"):
        pretrain.run(config_for(made, tmp_path, num_train_steps=2, num_warmup_steps=1))
    assert "its file system has no locks" in caplog.text and (tmp_path / "model.ckpt-2.index").exists()
