"""The command lines: google-research/bert's flags, how they are written, and what a script says when they are wrong."""

import dataclasses
import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from absl import flags

from bert_tf.cli import flag_config
from bert_tf.config import CreatePretrainingDataConfig, FinetuneConfig, PredictConfig, PretrainConfig, SquadConfig
from bert_tf.errors import InputError
from tests.conftest import ROOT, SHARED, needs_shared

# google-research/bert at commit eedf571: flag, type and default by script; (required) has no default.
ORIGINAL = {
    "create_pretraining_data": """
        input_file string (required)        output_file string (required)      vocab_file string (required)
        do_lower_case bool True             do_whole_word_mask bool False      max_seq_length integer 128
        max_predictions_per_seq integer 20  random_seed integer 12345          dupe_factor integer 10
        masked_lm_prob float 0.15           short_seq_prob float 0.1""",
    "run_pretraining": """
        bert_config_file string (required)  input_file string (required)       output_dir string (required)
        init_checkpoint string None         max_seq_length integer 128         max_predictions_per_seq integer 20
        do_train bool False                 do_eval bool False                 train_batch_size integer 32
        eval_batch_size integer 8           learning_rate float 5e-05          num_train_steps integer 100000
        num_warmup_steps integer 10000      save_checkpoints_steps integer 1000
        iterations_per_loop integer 1000    max_eval_steps integer 100         use_tpu bool False
        tpu_name string None                tpu_zone string None               gcp_project string None
        master string None                  num_tpu_cores integer 8""",
    "run_classifier": """
        data_dir string (required)          bert_config_file string (required) task_name string (required)
        vocab_file string (required)        output_dir string (required)       init_checkpoint string None
        do_lower_case bool True             max_seq_length integer 128         do_train bool False
        do_eval bool False                  do_predict bool False              train_batch_size integer 32
        eval_batch_size integer 8           predict_batch_size integer 8       learning_rate float 5e-05
        num_train_epochs float 3.0          warmup_proportion float 0.1        save_checkpoints_steps integer 1000
        iterations_per_loop integer 1000    use_tpu bool False                 tpu_name string None
        tpu_zone string None                gcp_project string None            master string None
        num_tpu_cores integer 8""",
    "run_squad": """
        bert_config_file string (required)  vocab_file string (required)       output_dir string (required)
        train_file string None              predict_file string None           init_checkpoint string None
        do_lower_case bool True             max_seq_length integer 384         doc_stride integer 128
        max_query_length integer 64         do_train bool False                do_predict bool False
        train_batch_size integer 32         predict_batch_size integer 8       learning_rate float 5e-05
        num_train_epochs float 3.0          warmup_proportion float 0.1        save_checkpoints_steps integer 1000
        iterations_per_loop integer 1000    n_best_size integer 20             max_answer_length integer 30
        use_tpu bool False                  tpu_name string None               tpu_zone string None
        gcp_project string None             master string None                 num_tpu_cores integer 8
        verbose_logging bool False          version_2_with_negative bool False null_score_diff_threshold float 0.0""",
}
CONFIGS = {"create_pretraining_data": CreatePretrainingDataConfig, "run_pretraining": PretrainConfig, "run_classifier": FinetuneConfig}
CONFIGS |= {"run_squad": SquadConfig}

# Where ours says None and finds the value itself: the casing and the model's files from the model's folder, the data from TFDS, the
# number of passes from --masking (the original's 10 without it).
FOUND_BY_OURSELVES = {
    ("create_pretraining_data", "do_lower_case"),
    ("create_pretraining_data", "dupe_factor"),
    ("run_classifier", "do_lower_case"),
    ("run_pretraining", "bert_config_file"),
    ("run_classifier", "bert_config_file"),
    ("run_classifier", "vocab_file"),
    ("run_classifier", "data_dir"),
    ("run_squad", "do_lower_case"),
    ("run_squad", "bert_config_file"),
    ("run_squad", "vocab_file"),
    ("run_squad", "null_score_diff_threshold"),
}


def original_flags(script: str) -> list[tuple[str, str, str]]:
    words = ORIGINAL[script].split()
    return list(zip(words[::3], words[1::3], words[2::3]))


@pytest.mark.parametrize("script", ORIGINAL)
def test_every_original_flag_is_there_with_its_type_and_default(script):
    values = flag_config.define_flags(CONFIGS[script])
    fields = {field.name: field for field in dataclasses.fields(CONFIGS[script])}
    for name, kind, default in original_flags(script):
        assert values[name].flag_type().replace("int", "integer") == kind, name
        required = default == "(required)" and (script, name) not in FOUND_BY_OURSELVES
        assert fields[name].metadata["required"] == required, name
        default = None if default in ("None", "(required)") or (script, name) in FOUND_BY_OURSELVES else default
        assert values[name].default == (None if default is None else values[name].parser.parse(default)), name


@needs_shared
def test_the_table_above_is_the_reference_folders():
    sections = (SHARED / "design" / "original_flags.md").read_text().split("\n## ")
    for script in ORIGINAL:
        (section,) = (section for section in sections if section.startswith(f"{script}.py"))
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("|")][2:]
        expected = [(name, kind, "(required)" if required else default) for name, kind, default, required in rows]
        assert original_flags(script) == expected


def parse_pretrain(*arguments):
    return flag_config.parse(PretrainConfig, ["run_pretraining.py", "--input_file=a", "--output_dir=b", *arguments])


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["--do_train=True"], dict(do_train=True)),
        (["--do_train=true", "--do_eval=1"], dict(do_train=True, do_eval=True)),
        (["--do_train"], dict(do_train=True)),
        (["--do_train=true", "--nodo_train"], dict(do_train=False)),
        (["--do_train=False"], dict(do_train=False)),
        (["-do_train", "--learning_rate", "2e-5"], dict(do_train=True, learning_rate=2e-5)),
        (["--train_batch_size=8", "--learning_rate=1", "--use_tpu=False"], dict(train_batch_size=8, learning_rate=1.0, use_tpu=False)),
        (["--num_train_steps=20", "--num_warmup_steps=10", "--input_file=x,y*"], dict(num_train_steps=20, input_file="x,y*")),
        (["--model_size=tiny", "--master=", "--num_tpu_cores=4"], dict(model_size="tiny", num_tpu_cores=4)),
    ],
)
def test_command_lines_as_tf1_users_write_them(arguments, expected):
    config = parse_pretrain(*arguments)
    assert {name: getattr(config, name) for name in expected} == expected


def test_flags_from_a_file(tmp_path):
    path = tmp_path / "flags.txt"
    path.write_text("# the first phase\n--do_train\n--num_train_steps=90\n--num_warmup_steps=9\n")
    config = parse_pretrain(f"--flagfile={path}", "--num_warmup_steps=3")
    assert (config.do_train, config.num_train_steps, config.num_warmup_steps) == (True, 90, 3)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--do_trian"], r"do_trian.*do_train"),
        (["--train_batch_size=eight"], r"^--train_batch_size is 'eight'; give a whole number$"),
        (["--train_batch_size=8.5"], r"^--train_batch_size is '8\.5'; give a whole number$"),
        (["--learning_rate=fast"], r"^--learning_rate is 'fast'; give a number$"),
        (["--do_train=maybe"], r"^--do_train is 'maybe'; give true or false$"),
        (["--model_size=huge"], r"^--model_size is 'huge'; give one of tiny, mini, small, medium, base, large$"),
        (["--do_train", "True"], r"unexpected argument 'True'; flags are given as --name=value"),
        (["--flagfile=nowhere/flags.txt"], r"nowhere/flags\.txt"),
        (["--learning_rate"], r"learning_rate"),
        (["--num_train_steps=0"], r"num_train_steps is 0"),
    ],
)
def test_a_wrong_command_line_is_one_line(arguments, message):
    with pytest.raises(InputError, match=message) as caught:
        parse_pretrain(*arguments)
    assert "\n" not in str(caught.value)


def test_every_missing_flag_is_named():
    with pytest.raises(InputError, match=r"missing --output_dir, --input_file; --help lists every flag"):
        flag_config.parse(PretrainConfig, ["run_pretraining.py", "--input_file="])


def test_an_empty_text_is_a_text():
    assert flag_config.parse(PredictConfig, ["predict", "--saved_model=a", "--text="]).text == ""


def test_parsing_twice_and_defining_twice_is_harmless():
    first = parse_pretrain("--train_batch_size=3")
    assert parse_pretrain().train_batch_size == 32 and first.train_batch_size == 3


def run(*command: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize(
    "command, message",
    [
        (["run_pretraining.py", "--frobnicate=1"], "frobnicate"),
        (["run_classifier.py", "--task_name=MRPC"], "missing --output_dir; --help lists every flag"),
        (["create_pretraining_data.py"], "missing --input_file, --output_file, --vocab_file; --help lists every flag"),
        (["-m", "bert_tf.cli.tokenize", "--implementation=slow"], "implementation"),
        (
            ["run_classifier.py", "--task_name=x", "--output_dir=a", "--do_eval", "--data_dir=b", "--tfds_name=c"],
            "error: --data_dir and --tfds_name are both given; choose one source",
        ),
        (["run_classifier.py", "--task_name=x", "--output_dir=a", "--train_batch_size=0"], "error: --train_batch_size is 0; give 1 to"),
    ],
)
def test_a_script_tells_a_mistake_in_one_line_and_exits_1(command, message):
    done = run(*command)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert message in done.stderr


@pytest.mark.parametrize(
    "script",
    [*ORIGINAL, "bert_tf.cli.build_vocab", "bert_tf.cli.predict", "bert_tf.cli.demo", "bert_tf.cli.score_squad", "bert_tf.cli.sweep"],
)
def test_help_is_there_at_once_and_starts_no_tensorflow(script):
    resource = pytest.importorskip("resource", reason="the time a child process took is known on POSIX only")
    name = [f"{script}.py"] if script in ORIGINAL else ["-m", script]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run("-X", "importtime", *name, "--help")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0
    assert "tensorflow" not in done.stderr and "keras" not in done.stderr
    # processor time, so that a busy machine does not count
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1
    assert "Flags:" in done.stdout and "python" in done.stdout  # an example command
    for flag, _, _ in original_flags(script) if script in ORIGINAL else ():
        assert f"\n  --{flag}: " in done.stdout


def test_scripts_are_imported_and_reloaded_in_a_notebook(monkeypatch):
    """H40: the kernel's own arguments are nobody's business, and nothing is defined twice."""
    argv = ["ipykernel_launcher", "-f", "/x/kernel.json"]
    monkeypatch.setattr(sys, "argv", list(argv))
    monkeypatch.syspath_prepend(str(ROOT))
    own = {field.name for config_class in CONFIGS.values() for field in dataclasses.fields(config_class)}
    before = set(flags.FLAGS)
    for name in ORIGINAL:
        module = importlib.import_module(name)
        assert Path(module.__file__).parent == ROOT
        importlib.reload(module)
    assert sys.argv == argv
    assert not own & (set(flags.FLAGS) - before)


# What run_script makes of the ends that a workflow can come to, played by a module of that name.
ENDINGS = """
import sys, types
from absl import logging
from bert_tf.cli import flag_config
from bert_tf.config import DemoConfig
from bert_tf.errors import InputError

def run(config):
    logging.info("a message")
    logging.warning("a doubt")
    print("a result")
    {ending}

module = types.ModuleType("bert_tf.workflows.played")
module.run = run
sys.modules["bert_tf.workflows.played"] = module
flag_config.run_script(DemoConfig, "played", "doc", ["played"])
"""


@pytest.mark.parametrize(
    "ending, code, last_line",
    [
        ("pass", 0, "warning: a doubt"),
        ("raise InputError('x.txt, line 3:\\n  is wrong; mend it')", 1, "error: x.txt, line 3: is wrong; mend it"),
        ("open('nowhere/x.txt')", 1, "error: nowhere/x.txt: No such file or directory"),
        ("raise KeyboardInterrupt", 130, "interrupted"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 75, "stopped by SIGTERM; start the same command again"),
        (  # while something is read whose damage is told in exceptions of any kind
            "import os, signal\n    try:\n        os.kill(os.getpid(), signal.SIGTERM)\n    except Exception:\n        pass",
            *(75, "stopped by SIGTERM; start the same command again"),
        ),
        ("raise RuntimeError('a fault of ours')", 1, "RuntimeError: a fault of ours"),
    ],
)
def test_how_a_script_ends(ending, code, last_line):
    done = run("-c", ENDINGS.format(ending=ending))
    lines = done.stderr.splitlines()
    assert (done.returncode, lines[-1]) == (code, last_line)
    assert lines[:2] == ["a message", "warning: a doubt"]
    assert done.stdout == "a result\n"
    # only a fault of ours shows where it happened
    assert ("Traceback" in done.stderr) == ("fault" in ending)


@pytest.mark.parametrize(
    "message, expected",
    [
        ("precision is 'half'; give one of auto", "--precision is 'half'; give one of auto"),
        ("the hidden precision is 3", "the hidden precision is 3"),
        ("a/bert_config.json: holds output_dir=3, no vocab_file", "a/bert_config.json: holds output_dir=3, no --vocab_file"),
        ("--output_dir=a/output_dir/b: is no directory", "--output_dir=a/output_dir/b: is no directory"),
        ("in x: num_warmup_steps 9 is not below num_train_steps", "in x: --num_warmup_steps 9 is not below --num_train_steps"),
    ],
)
def test_fields_are_named_as_flags(message, expected):
    assert flag_config._with_dashes(message, PretrainConfig) == expected


def test_messages_come_through_wherever_the_package_lies(tmp_path):
    """A folder called tensorflow on the way to the package does not make its messages TensorFlow's."""
    folder = tmp_path / "tensorflow"
    folder.mkdir()
    (folder / "bert_tf").symlink_to(ROOT / "bert_tf", target_is_directory=True)
    code = (
        "import tensorflow; from absl import logging; from bert_tf.cli import flag_config; flag_config._show_messages();"
        "exec(compile('logging.info(\"ours\")', flag_config.__file__, 'exec'));"
        "exec(compile('logging.warning(\"theirs\")', tensorflow.__file__, 'exec'))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert "ours" in done.stderr.splitlines() and "theirs" not in done.stderr


def test_a_value_that_is_not_utf8_is_told():
    """Such bytes arrive from the command line as lone surrogates."""
    with pytest.raises(InputError, match=r"--text: 'caf\\udce9' is not UTF-8"):
        flag_config.parse(PredictConfig, ["predict", "--saved_model=a", "--text=caf\udce9"])
