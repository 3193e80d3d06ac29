"""Grids: what they mean, and what is refused."""

import pytest

from bert_tf.cli import flag_config
from bert_tf.config import SWEPT_SCRIPTS, FinetuneConfig, SquadConfig, SweepConfig, settings_of, to_flags, with_setting
from bert_tf.errors import InputError

BASE = dict(task_name="mrpc", data_dir="glue/MRPC", output_dir="s", do_train=True, do_eval=True)


def base(**changes):
    return FinetuneConfig(**(BASE | changes))


def test_every_combination_the_last_flag_fastest():
    settings = settings_of("learning_rate=5e-5, 3e-5; train_batch_size=16,32", base(train_batch_size=32))
    assert settings == [
        {"learning_rate": rate, "train_batch_size": size} for rate in (5e-5, 3e-5) for size in (16, 32)
    ]  # fmt: skip
    assert [type(value) for value in settings[0].values()] == [float, int]


def test_the_default_is_the_papers():
    rates = [setting["learning_rate"] for setting in settings_of(SweepConfig(output_dir="s").grid, base())]
    assert rates == [5e-5, 4e-5, 3e-5, 2e-5]


@pytest.mark.parametrize(
    "grid, settings",
    [
        ("", [{}]),
        ("--num_train_epochs=3,4;", [{"num_train_epochs": 3.0}, {"num_train_epochs": 4.0}]),
        ("bias_correction=true,false", [{"bias_correction": True}, {"bias_correction": False}]),
        ("init_checkpoint=a/b,c", [{"init_checkpoint": "a/b"}, {"init_checkpoint": "c"}]),
        ("lr_schedule=original,cosine", [{"lr_schedule": "original"}, {"lr_schedule": "cosine"}]),
        ("do_lower_case=false", [{"do_lower_case": False}]),
    ],
)
def test_values_have_their_flags_types(grid, settings):
    assert settings_of(grid, base()) == settings


@pytest.mark.parametrize(
    "grid, message",
    [
        ("learning_rate", r"^grid: 'learning_rate' has no values; give name=value,value$"),
        ("learnin_rate=1", r"^grid: there is no flag 'learnin_rate'"),
        ("learning_rate=5e-5,fast", r"^grid: learning_rate is 'fast'; give numbers, separated by commas$"),
        ("learning_rate=5e-5,", r"^grid: learning_rate is ''; give numbers"),
        ("train_batch_size=1.5", r"^grid: train_batch_size is '1.5'; give whole numbers"),
        ("bias_correction=perhaps", r"^grid: bias_correction is 'perhaps'; give true or false"),
        ("lr_schedule=linear", r"^grid: lr_schedule is 'linear'; give one of original, continuous, cosine"),
        ("learning_rate=3e-5,0.00003", r"^grid: gives learning_rate=0.00003 twice"),
        ("learning_rate=3e-5;learning_rate=2e-5", r"^grid: names learning_rate twice"),
        ("random_seed=1,2", r"^grid: random_seed cannot be swept over \(--restarts varies it\)"),
        ("output_dir=a,b", r"^grid: output_dir cannot be swept over"),
        ("do_eval=true,false", r"^grid: do_eval cannot be swept over"),
        ("max_seq_length=64,32", r"^max_seq_length is 100, but --grid varies it; leave one of them out"),
    ],
)
def test_a_grid_that_is_none_is_refused_in_one_line(grid, message):
    with pytest.raises(InputError, match=message) as caught:
        settings_of(grid, base(max_seq_length=100))
    assert "\n" not in str(caught.value)


def test_what_a_run_refuses_is_told_of_the_grid():
    with pytest.raises(InputError, match=r"^grid: learning_rate is 7; give a number above 0"):
        with_setting(base(), {"learning_rate": 7}, 1, "s/1")


@pytest.mark.parametrize("restarts", [0, -1, 100_000])
def test_a_number_of_restarts_that_is_none(restarts):
    with pytest.raises(InputError, match="restarts is"):
        SweepConfig(output_dir="s", restarts=restarts)


@pytest.mark.parametrize(
    "config",
    [
        base(),
        base(learning_rate=3.3e-5, bias_correction=True, has_header=False, init_checkpoint="a b/model.ckpt", labels="a,b", kind="classify",
             task_name="own", data_dir=None, train_file="t.csv", dev_file="d.csv", do_lower_case=False),
        SquadConfig(output_dir="s", train_file="t.json", do_train=True, null_score_diff_threshold=-1.5),
    ],
)  # fmt: skip
def test_a_config_and_its_command_line_are_the_same(config):
    assert flag_config.parse(type(config), ["script", *to_flags(config)]) == config


def nested(*arguments):
    return flag_config.parse_nested(SweepConfig, SWEPT_SCRIPTS, ["sweep", *arguments])


TASK = ("--task_name=mrpc", "--data_dir=d")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--output_dir=s", "--restarts=3", *TASK, "--train_batch_size=16"),
        ("--output_dir=s", "--restarts=3", "--", *TASK, "--train_batch_size=16"),
        (*TASK, "--train_batch_size", "16", "--output_dir", "s", "--restarts", "3"),
    ],
)
def test_a_sweeps_command_line_is_the_scripts_and_its_own(arguments):
    sweep, run = nested(*arguments)
    assert sweep == SweepConfig(output_dir="s", restarts=3)
    assert run == FinetuneConfig(task_name="mrpc", data_dir="d", output_dir="s", train_batch_size=16, do_train=True, do_eval=True)


def test_another_script_and_help():
    sweep, run = nested("--script=run_squad", "--output_dir=s", "--train_file=t", "--predict_file=p")
    assert sweep.script == "run_squad" and isinstance(run, SquadConfig)
    assert nested("--help", "--frobnicate") is None


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("--output_dir=s", *TASK, "--restart=3"), "restart"),
        (TASK, "missing --output_dir; --help lists every flag"),
        (("--output_dir=s",), "missing --task_name"),
        (("--output_dir=s", *TASK, "--train_batch_size=x"), "train_batch_size"),
        (("--output_dir=s", "--script=run_pretraining", *TASK), "script"),
        (("--output_dir=s", *TASK, "more"), "unexpected argument 'more'"),
    ],
)
def test_a_mistake_on_either_side_is_refused(arguments, message):
    with pytest.raises(InputError, match=message) as caught:
        nested(*arguments)
    assert "\n" not in str(caught.value)
