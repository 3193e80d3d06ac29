"""A run's directory: going on, what belongs to another run, what is thrown away and what never is."""

import dataclasses
import errno
import os
import re
import shutil

import filelock
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.data.records import RecordFile, write_records
from bert_tf.errors import InputError
from bert_tf.workflows import pretrain, run_directory
from tests.workflows.conftest import assert_equal_weights, pretrain_config, weights


def test_a_finished_run_says_so_and_goes_on_with_the_rest(made, tmp_path, caplog):
    pretrain.run(pretrain_config(made, tmp_path))
    before = weights(tmp_path / "model.ckpt-6")
    with caplog.at_level("INFO", logger="absl"):
        results = pretrain.run(pretrain_config(made, tmp_path, do_eval=True, max_eval_steps=1))
    assert "training is finished" in caplog.text
    assert results["global_step"] == 6 and "masked_lm_loss" in results
    assert_equal_weights(tmp_path / "model.ckpt-6", tmp_path / "model.ckpt-6")
    assert before.keys() == weights(tmp_path / "model.ckpt-6").keys()


def test_another_run_in_the_same_folder_is_refused(made, tmp_path):
    pretrain.run(pretrain_config(made, tmp_path, num_train_steps=3))
    with pytest.raises(InputError, match=r"learning_rate=0\.001.*0\.002.*--overwrite_output_dir"):
        pretrain.run(pretrain_config(made, tmp_path, num_train_steps=3, learning_rate=2e-3))
    (tmp_path / "notes.txt").write_text("mine")
    pretrain.run(pretrain_config(made, tmp_path, num_train_steps=4, learning_rate=2e-3, overwrite_output_dir=True))
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert not (tmp_path / "model.ckpt-3.index").exists() and (tmp_path / "model.ckpt-4.index").exists()


def test_a_mended_command_runs_in_the_folder_of_the_failed_one(made, tmp_path):
    with pytest.raises(InputError, match="nowhere"):
        pretrain.run(pretrain_config(made, tmp_path / "run", init_checkpoint="nowhere/bert_model.ckpt"))
    assert not (tmp_path / "run").exists()
    pretrain.run(pretrain_config(made, tmp_path / "run", num_train_steps=3))


def test_overwriting_touches_this_folder_only_and_nothing_that_is_needed(made, tmp_path):
    pretrain.run(pretrain_config(made, tmp_path / "exp1", num_train_steps=3))
    with pytest.raises(InputError, match=r"needs --do_train"):
        pretrain.run(pretrain_config(made, tmp_path / "exp1", do_train=False, do_eval=True, overwrite_output_dir=True))
    with pytest.raises(InputError, match=r"--init_checkpoint=.*lies in"):
        pretrain.run(pretrain_config(made, tmp_path / "exp1", overwrite_output_dir=True, init_checkpoint=str(tmp_path / "exp1")))
    with pytest.raises(InputError, match=r"nowhere"):
        pretrain.run(pretrain_config(made, tmp_path / "exp1", overwrite_output_dir=True, init_checkpoint="nowhere"))
    with pytest.raises(InputError, match=r"without \* \? \[ \]"):
        pretrain_config(made, tmp_path / "exp*")
    assert (tmp_path / "exp1" / "model.ckpt-3.index").exists()


def test_a_checkpoint_that_lost_a_file_is_told(made, tmp_path, caplog):
    pretrain.run(pretrain_config(made, tmp_path / "run", num_train_steps=4))
    (tmp_path / "run" / "model.ckpt-4.data-00000-of-00001").unlink()
    with caplog.at_level("WARNING", logger="absl"):
        assert pretrain.run(pretrain_config(made, tmp_path / "run", num_train_steps=4))["global_step"] == 4
    assert "names model.ckpt-4, whose .index or .data file is missing; the newest whole one is model.ckpt-2" in caplog.text
    for path in (tmp_path / "run").glob("model.ckpt-*.index"):
        path.unlink()
    with pytest.raises(InputError, match=r"put it back"):
        pretrain.run(pretrain_config(made, tmp_path / "run", num_train_steps=4))


def test_two_runs_at_once_in_one_folder_are_refused(made, tmp_path, caplog):
    lock = filelock.FileLock(tmp_path / "run.lock")
    with lock, pytest.raises(InputError, match=r"another run is training in it; wait"):
        pretrain.run(pretrain_config(made, tmp_path))
    assert not list(tmp_path.glob("model.ckpt*"))
    pretrain.run(pretrain_config(made, tmp_path, num_train_steps=3))
    with caplog.at_level("INFO", logger="absl"), lock, pytest.raises(InputError, match=r"another run is training in it; wait"):
        pretrain.run(pretrain_config(made, tmp_path, num_train_steps=3))
    assert "going on from" not in caplog.text
    # evaluating beside a training run is allowed
    with lock:
        pretrain.run(pretrain_config(made, tmp_path, num_train_steps=3, do_train=False, do_eval=True, max_eval_steps=1))


def test_data_that_changed_since_the_run_began_is_told(made, tmp_path):
    for name in ("data.tfrecord", "data.tfrecord.manifest.json", "vocab.txt"):
        shutil.copy(made / name, tmp_path / name)
    config = pretrain_config(made, tmp_path / "run", input_file=str(tmp_path / "data.tfrecord"), stop_at_step=3)
    pretrain.run(config)
    records = RecordFile(str(tmp_path / "data.tfrecord"))
    write_records([records.path], records.read(np.arange(len(records) - 1)))
    os.remove(records.path + ".manifest.json")
    with pytest.raises(InputError, match=r"the training data changed since this run began; .*another --output_dir"):
        pretrain.run(dataclasses.replace(config, stop_at_step=None))
    # evaluating what was trained is not going on with it
    pretrain.run(dataclasses.replace(config, do_train=False, do_eval=True, max_eval_steps=1))


@pytest.mark.parametrize("part", ["index", "data-00000-of-00001"])
def test_a_damaged_newest_checkpoint_is_told_and_the_one_before_is_used(made, tmp_path, part, caplog):
    """A flipped bit in the middle of either file."""
    pretrain.run(pretrain_config(made, tmp_path, deterministic=True))
    expected = weights(tmp_path / "model.ckpt-6")
    path = tmp_path / f"model.ckpt-6.{part}"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 16
    path.write_bytes(content)
    with caplog.at_level("INFO", logger="absl"):
        assert pretrain.run(pretrain_config(made, tmp_path, deterministic=True))["global_step"] == 6
    assert re.search(r"model\.ckpt-6: is damaged.*taking the one before", caplog.text)
    assert "going on from" in caplog.text and "model.ckpt-4" in caplog.text
    for name, value in weights(tmp_path / "model.ckpt-6").items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)
    for step in (2, 4, 6):
        (tmp_path / f"model.ckpt-{step}.index").write_bytes(b"\0" * 60)
    with pytest.raises(InputError, match=r"none of its 3 checkpoints is sound"):
        pretrain.run(pretrain_config(made, tmp_path, deterministic=True))


def test_overwriting_throws_away_what_a_run_wrote_and_nothing_else(made, tmp_path):
    run = tmp_path / "run"
    pretrain.run(pretrain_config(made, run, num_train_steps=3, do_export=True))
    kept = ["mine.tf_record", "eval/mine.txt", "train/mine.txt", "export/notes.txt", "export/2024-notes/a", "export/2024.txt"]
    kept += ["model.ckpt-notes.txt", "model.ckpt-3.index.bak", "model.ckpt-3.backup/a", "labels.txt", "train.tf_record", "predictions.tsv"]
    for name in kept:
        (run / name).parent.mkdir(exist_ok=True, parents=True)
        (run / name).write_text("mine")
    pretrain.run(pretrain_config(made, run, num_train_steps=2, num_warmup_steps=1, overwrite_output_dir=True))
    assert all((run / name).read_text() == "mine" for name in kept)
    assert not (run / "export" / "1").exists() and not (run / "model.ckpt-3.index").exists()


def test_overwriting_never_takes_what_the_run_reads(made, tmp_path, monkeypatch):
    """However it is named: by ~, in a folder with a comma in its name, by a glob, or after a blank."""
    run = tmp_path / "a,b"
    pretrain.run(pretrain_config(made, run, num_train_steps=3))
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
            pretrain.run(pretrain_config(made, run, overwrite_output_dir=True, **changes))
    assert (run / "model.ckpt-3.index").exists() and (run / "data.tfrecord").exists()


@pytest.mark.slow
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

        config = pretrain_config(made, tmp_path / str(survived), num_train_steps=2, num_warmup_steps=1)
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
            pretrain.run(pretrain_config(made, folder))
        assert [path.name for path in folder.iterdir()] == [name]


def test_strange_checkpoints_of_the_runs_own_are_told(made, tmp_path, caplog):
    pretrain.run(pretrain_config(made, tmp_path, num_train_steps=4))
    for part in ("index", "data-00000-of-00001"):
        shutil.copy(tmp_path / f"model.ckpt-4.{part}", tmp_path / f"model.ckpt-99.{part}")
    with pytest.raises(InputError, match=r"model\.ckpt-99: holds step 4, not the step of its name; .* model\.ckpt-4"):
        pretrain.run(pretrain_config(made, tmp_path, num_train_steps=4))
    state = weights(tmp_path / "model.ckpt-4") | {"global_step": np.int64(-5)}
    prefix = str(tmp_path / "model.ckpt-99")
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=[*state], shape_and_slices=[""] * len(state), tensors=[*state.values()])
    (tmp_path / "checkpoint").write_bytes(b"\xff\xfe")
    with caplog.at_level("WARNING", logger="absl"):
        assert pretrain.run(pretrain_config(made, tmp_path, num_train_steps=4))["global_step"] == 4
    assert "global_step holds int64 numbers that it cannot hold" in caplog.text


def test_a_models_own_folder_is_no_place_for_a_run(made, tmp_path):
    shutil.copy(made / "bert_config.json", tmp_path)  # without do_lower_case, which a run adds
    for changes in ({}, {"overwrite_output_dir": True}):
        with pytest.raises(
            InputError, match=r"holds a bert_config\.json of its own, which this run would write over; give another --output_dir"
        ):
            pretrain.run(pretrain_config(made, tmp_path, **changes))
    (tmp_path / "bert_config.json").unlink()
    shutil.copy(made / "data.tfrecord", tmp_path / "run.tfrecord")
    with pytest.raises(InputError, match=r"might throw away --input_file="):
        pretrain.run(pretrain_config(made, tmp_path, input_file=str(tmp_path / "run.tfrecord"), overwrite_output_dir=True))
    # a vocabulary that was made there is no obstacle
    shutil.copy(made / "vocab.txt", tmp_path)
    pretrain.run(pretrain_config(made, tmp_path, num_train_steps=2, num_warmup_steps=1))


def test_a_file_system_without_locks_is_warned_of(made, tmp_path, caplog, monkeypatch):
    def refuse(self):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(filelock.FileLock, "_acquire", refuse)
    with caplog.at_level("WARNING", logger="absl"):
        pretrain.run(pretrain_config(made, tmp_path, num_train_steps=2, num_warmup_steps=1))
    assert "its file system has no locks" in caplog.text and (tmp_path / "model.ckpt-2.index").exists()
