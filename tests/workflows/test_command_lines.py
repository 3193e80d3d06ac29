"""Bad input through the command lines: one line on standard error, exit code 1, and nothing written."""

import json
import signal

import pytest
from absl import logging

from bert_tf.cli import flag_config
from bert_tf.config import (
    SWEPT_SCRIPTS,
    EnsembleConfig,
    FinetuneConfig,
    PredictConfig,
    ScoreSquadConfig,
    SquadConfig,
    SubmissionConfig,
    SweepConfig,
)
from tests.workflows.squad_data import squad_content

SCRIPTS = {
    "run_classifier": (FinetuneConfig, "finetune"),
    "run_squad": (SquadConfig, "squad"),
    "predict": (PredictConfig, "predict"),
    "score_squad": (ScoreSquadConfig, "score_squad"),
    "submission": (SubmissionConfig, "submission"),
    "ensemble": (EnsembleConfig, "ensemble"),
    "sweep": (SweepConfig, "sweep"),
}


@pytest.fixture
def script(capsys):
    """Runs a script in this process; returns its exit code, and the lines it leaves on standard error."""
    logger, handler = logging.get_absl_logger(), signal.getsignal(signal.SIGTERM)
    before = logger.handlers, logger.propagate, logging.get_verbosity()

    def run(name, *flags):
        config_class, workflow = SCRIPTS[name]
        scripts = SWEPT_SCRIPTS if name == "sweep" else None
        with pytest.raises(SystemExit) as ended:
            flag_config.run_script(config_class, workflow, "", [name, *map(str, flags)], scripts)
        return ended.value.code, capsys.readouterr().err.splitlines()

    yield run
    logger.handlers, logger.propagate = before[:2]
    logging.set_verbosity(before[2])
    signal.signal(signal.SIGTERM, handler)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    write(tmp_path, "good.tsv", "text\tlabel\na\tx\nb\ty\n")
    write(tmp_path, "good.json", squad_content(num_paragraphs=2))
    return tmp_path


def write(folder, name, content):
    (folder / name).write_bytes(content if isinstance(content, bytes) else text_of(content).encode())


def text_of(content):
    return content if isinstance(content, str) else json.dumps(content)


def assert_one_line(found, message, folder):
    code, lines = found
    assert code == 1 and lines[-1].startswith("error: ") and message in lines[-1], lines
    assert not [line for line in lines[:-1] if "error" in line.lower() or "Traceback" in line], lines
    assert not (folder / "out").exists()


def changed(**changes):
    """Returns questions of which the second has other fields."""
    content = squad_content(num_paragraphs=2)
    content["data"][0]["paragraphs"][0]["qas"][1] |= changes
    return content


# what is in rows.EXTENSION, further flags, and the message: the same file is trained on and evaluated
ROWS = {
    "no rows": ("tsv", "text\tlabel\n", (), "rows.tsv: has no rows; it should hold the train rows of mine"),
    "no bytes": ("tsv", "", (), "rows.tsv: is empty; it should hold the train rows of mine"),
    "empty texts": ("tsv", "text\tlabel\n\tx\n \ty\n", (), "rows.tsv, line 2: column 'text' is empty here and in all 2 rows"),
    "tab in a quoted text": ("tsv", 'text\tlabel\n"a\tb"\tx\n', (), "line 2: has 3 tab-separated columns where there should be 2; if its"),
    "open quote": ("csv", 'text,label\n"a,x\nb,y\n', (), "rows.csv, line 2: cannot be read as CSV (unexpected end of data)"),
    "UTF-16": ("tsv", "text\tlabel\na\tx\n".encode("utf-16"), (), "rows.tsv, line 1: not UTF-8 (byte 0xff at column 1); convert the file"),
    "Latin-1": ("tsv", "text\tlabel\ncaf\xe9\tx\n".encode("latin-1"), (), "rows.tsv, line 2: not UTF-8 (byte 0xe9 at column 4)"),
    "one label": ("tsv", "text\tlabel\na\tx\nb\tx\n", (), "rows.tsv: all labels are 'x', from which nothing can be learned"),
    "a label of the unlabelled": ("tsv", "text\tlabel\na\tx\nb\t-1\n", ("--labels=x,y",), "line 3: label '-1' means unlabelled, and train"),
    "NaN in JSON": ("jsonl", '{"text": "a", "label": NaN}\n', (), "rows.jsonl, line 1: label is NaN; give a text or a number"),
    "half a character in JSON": ("jsonl", '{"text": "a", "label": "\\ud83d"}\n', (), "line 1: label holds half a surrogate pair"),
    "no object in JSON": ("jsonl", "[1]\n", (), "rows.jsonl, line 1: holds [1], no JSON object; give one object a line"),
    "a list for a text in JSON": ("jsonl", '{"text": ["a"], "label": "x"}\n', (), 'rows.jsonl, line 1: text is ["a"]; give a text or a'),
    "a label of two lines": ("jsonl", '{"text": "a", "label": "x\\ny"}\n{"text": "a", "label": "z"}\n', (), r"rows.jsonl: label 'x\ny' is"),
    "NaN for a number": ("tsv", "text\tlabel\na\t1.5\nb\tnan\n", ("--kind=regress",), "rows.tsv, line 3: label 'nan' is not a number"),
    "no number": ("tsv", "text\tlabel\na\t\n", ("--kind=regress",), "line 2: label '' means unlabelled, and train rows need a label; give"),
    "columns of CoNLL": ("conll", "Anna NNP B-PER\nruns O\n", ("--kind=tag",), "line 2: has 2 columns where the lines before have 3"),
    "no sentence of CoNLL": ("conll", "-DOCSTART- O\n\n\n", ("--kind=tag",), "rows.conll: has no sentences; it should hold the train rows"),
    "a longer input than the model's": ("tsv", "text\tlabel\na\tx\nb\ty\n", ("--max_seq_length=65",), "--max_seq_length is 65, but"),
    "no room": ("tsv", "text\tlabel\na\tx\nb\ty\n", ("--max_seq_length=4",), "--max_seq_length is 4; give at least 5, room for"),
    "no number for a length": ("tsv", "text\tlabel\na\tx\n", ("--max_seq_length=long",), "--max_seq_length is 'long'; give a whole number"),
    "a larger batch than the set": ("tsv", "text\tlabel\na\tx\nb\ty\n", (), "2 training examples make no batch of 4 in 1.0 epochs"),
    "too many thresholds": ("tsv", "text\tlabel\na\tx\nb\ty\n", ("--kind=multilabel", "--threshold=.2,.3,.4"), "3 thresholds for 2 labels"),
}  # fmt: skip


@pytest.mark.parametrize("extension, content, flags, message", ROWS.values(), ids=ROWS)
def test_rows(script, folder, made, extension, content, flags, message):
    write(folder, f"rows.{extension}", content)
    found = script(
        *("run_classifier", "--task_name=mine", "--kind=classify", "--output_dir=out", "--do_train", "--do_eval", "--max_seq_length=24"),
        *(f"--train_file=rows.{extension}", f"--dev_file=rows.{extension}", "--train_batch_size=4", "--num_train_epochs=1"),
        *(f"--vocab_file={made}/vocab.txt", f"--bert_config_file={made}/bert_config.json", *flags),
    )
    assert_one_line(found, message, folder)


# what else is in dev.tsv than in the training rows
DEV = {
    "a label never seen in training": ("text\tlabel\na\tx\nb\tmoon\n", "dev.tsv, line 3: label 'moon' is not one of x, y; mend the file"),
    "the unlabelled": ("text\tlabel\na\t-1\n", "dev.tsv, line 2: label '-1' means unlabelled, and dev rows need a label; give it one"),
    "no column of labels": ("text\na\n", "dev.tsv: has no column 'label', which dev rows of mine need"),
}  # fmt: skip


@pytest.mark.parametrize("content, message", DEV.values(), ids=DEV)
def test_dev_rows(script, folder, made, content, message):
    write(folder, "dev.tsv", content)
    found = script(
        *("run_classifier", "--task_name=mine", "--kind=classify", "--output_dir=out", "--do_train", "--do_eval", "--max_seq_length=24"),
        *("--train_file=good.tsv", "--dev_file=dev.tsv", f"--vocab_file={made}/vocab.txt", f"--bert_config_file={made}/bert_config.json"),
    )
    assert_one_line(found, message, folder)


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--output_dir=empty"], "empty: holds no checkpoint; give --do_train, or an --init_checkpoint"),
        (["--output_dir=nowhere"], "nowhere: holds no checkpoint; give --do_train, or an --init_checkpoint"),
        (["--output_dir=out", "--init_checkpoint=empty"], "empty: holds no checkpoint; give a run directory, a directory with a TF1"),
        (["--output_dir=out", "--init_checkpoint=good.tsv"], "good.tsv: is no checkpoint; give a run directory, a TF1 checkpoint prefix"),
        (["--output_dir=out", "--init_checkpoint=nowhere"], "nowhere: no such directory or checkpoint; give a run directory"),
    ],
)
@pytest.mark.parametrize(
    "asked",
    [
        ("run_classifier", "--task_name=mine", "--kind=classify", "--do_eval", "--dev_file=good.tsv", "--max_seq_length=24"),
        ("run_squad", "--do_eval", "--predict_file=good.json", "--max_seq_length=40", "--max_query_length=10"),
    ],
    ids=["run_classifier", "run_squad"],
)
@pytest.mark.parametrize("has_files", [True, False])
def test_an_evaluation_of_what_is_no_run(script, folder, made, asked, flags, message, has_files):
    files = (f"--vocab_file={made}/vocab.txt", f"--bert_config_file={made}/bert_config.json") if has_files else ()
    assert_one_line(script(*asked, *flags, *files), message, folder)
    assert not list((folder / "empty").iterdir())


QUESTIONS = {
    "displaced answer and --strict": (changed(answers=[{"text": "Anna", "answer_start": 3}]), ["--strict"], "1 of 4 answers are not where"),
    "no answer to be found at all": (
        {"data": [{"paragraphs": [{"context": "a", "qas": [{"id": 1, "question": "", "answers": [{"text": "c", "answer_start": 0}]}]}]}]},
        [],
        "questions.json: none of its 1 questions can be trained on; mend the file",
    ),
    "answer_start that is no number": (changed(answers=[{"text": "a", "answer_start": "3"}]), [], "answers[0]: answer_start is '3'; give"),
    "an id twice": (changed(id="0a"), ["--do_predict"], "qas[1]: id '0a' is that of questions.json: data[0].paragraphs[0].qas[0] too"),
    "unanswerable questions": (squad_content(True, 2), [], "question 0c is unanswerable (is_impossible), as are 2 of 6; give"),
    "no question": ({"data": []}, [], "questions.json: holds no question; give a file in SQuAD's format"),
    "no room for a context": (changed(), ["--max_query_length=37"], "--max_seq_length is 40, which leaves no room for a context beside"),
}  # fmt: skip


@pytest.mark.parametrize("content, flags, message", QUESTIONS.values(), ids=QUESTIONS)
def test_questions(script, folder, made, content, flags, message):
    write(folder, "questions.json", content)
    found = script(
        *("run_squad", "--train_file=questions.json", "--predict_file=questions.json", "--output_dir=out", "--do_train"),
        *("--max_seq_length=40", "--max_query_length=10", f"--vocab_file={made}/vocab.txt", f"--bert_config_file={made}/bert_config.json"),
        *flags,
    )
    assert_one_line(found, message, folder)


def test_a_data_set_that_tfds_does_not_have(script, folder, made):
    pytest.importorskip("tensorflow_datasets")
    code, lines = script(
        *("run_classifier", "--task_name=mrpc", "--tfds_name=glue/nosuch", "--tfds_data_dir=empty", "--output_dir=out", "--do_train"),
        *("--max_seq_length=24", f"--vocab_file={made}/vocab.txt", f"--bert_config_file={made}/bert_config.json"),
    )
    assert code == 1 and len(lines) == 1 and lines[0].startswith("error: --tfds_name=glue/nosuch: "), lines


@pytest.mark.parametrize(
    "command, message",
    [
        (("predict", "--saved_model=empty", "--text=a"), "empty: holds no SavedModel; give an export directory"),
        (("predict", "--saved_model=empty"), "no text: give --text or --input_file"),
        (("predict", "--saved_model=empty", "--input_file=nothing.txt"), "nothing.txt: is empty; give a text a line"),
        (("score_squad", "--dataset=good.json", "--predictions=list.json"), "list.json: holds no JSON object; give one from question ids"),
        (("score_squad", "--dataset=list.json", "--predictions=list.json"), "list.json: holds list, not an object"),
        (("score_squad", "--dataset=good.json", "--predictions=none.json"), "none.json: cannot be read (No such file or directory)"),
        (("submission", "--run_dirs=empty", "--output_file=out"), "empty: has no run_config.json; give the --output_dir of a training"),
        (("submission", "--run_dirs=,", "--output_file=out"), "--run_dirs: no run of cola, mnli, mrpc"),
        (("ensemble", "--run_dirs=empty,nowhere", "--output_dir=out"), "empty: has no saved logits; evaluate or predict"),
        (("ensemble", "--run_dirs=nowhere,empty", "--output_dir=out"), "nowhere: is not there; give the output directories of runs"),
        (("ensemble", "--run_dirs=empty", "--output_dir=out"), "--run_dirs names 1 runs; give two or more, separated by commas"),
        (("sweep", "--output_dir=out", "--grid=learning_rate=fast", "--task_name=mrpc", "--data_dir=empty"), "learning_rate is 'fast'"),
        (("sweep", "--output_dir=out", "--task_name=mrpc", "--data_dir=empty"), "no vocabulary: give --vocab_file, or"),
    ],
)  # fmt: skip
def test_other_commands(script, folder, command, message):
    write(folder, "list.json", [])
    write(folder, "nothing.txt", "")
    assert_one_line(script(*command), message, folder)
