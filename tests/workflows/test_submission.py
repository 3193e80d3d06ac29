"""The leaderboard's zip from run directories."""

import json
import shutil
import zipfile

import pytest

from bert_tf.config import SubmissionConfig
from bert_tf.errors import InputError
from bert_tf.tasks.answers import REGRESS
from bert_tf.tasks.spec import file_of
from bert_tf.tasks.table import TASKS
from bert_tf.workflows import submission

ON_BOARD = [spec for spec in TASKS if spec.leaderboard]


def write_run(folder, spec):
    """Writes what the workflow reads of a run that has predicted all of its test sets."""
    folder.mkdir()
    record = {"workflow": "finetune", "config": {"task_name": spec.name}, "model": {}, "data": {}}
    (folder / "run_config.json").write_text(json.dumps(record))
    for split, wanted in spec.leaderboard.items():
        if spec.kind == REGRESS:
            lines = ["id\tprediction", *(f"{row}\t{row / 100}" for row in range(wanted.num_rows))]
        else:
            lines = ["id\tlabel", *(f"{row}\t{spec.labels[row % len(spec.labels)]}" for row in range(wanted.num_rows))]
        (folder / file_of("predictions.tsv", split)).write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for spec in ON_BOARD:
        write_run(folder / spec.name, spec)
    return folder


def config(runs, tmp_path, names=None, **changes):
    names = [spec.name for spec in ON_BOARD] if names is None else names
    return SubmissionConfig(run_dirs=",".join(str(runs / name) for name in names), output_file=str(tmp_path / "glue.zip"), **changes)


def read(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode().splitlines() for name in archive.namelist()}


def test_every_file_with_its_header_and_the_official_number_of_rows(runs, tmp_path):
    counts = submission.run(config(runs, tmp_path))
    files = read(tmp_path / "glue.zip")
    official = {
        "CoLA.tsv": 1063, "SST-2.tsv": 1821, "MRPC.tsv": 1725, "STS-B.tsv": 1379, "QQP.tsv": 390965, "MNLI-m.tsv": 9796,
        "MNLI-mm.tsv": 9847, "QNLI.tsv": 5463, "RTE.tsv": 3000, "WNLI.tsv": 146, "AX.tsv": 1104,
    }  # fmt: skip
    assert {name: len(lines) - 1 for name, lines in files.items()} == counts == official
    for lines in files.values():
        assert lines[0] == "index\tprediction"
        assert [line.split("\t")[0] for line in lines[1:]] == [str(index) for index in range(len(lines) - 1)]
    assert files["AX.tsv"][1:4] == ["0\tcontradiction", "1\tentailment", "2\tneutral"]
    assert files["STS-B.tsv"][-1] == "1378\t5.0" and files["STS-B.tsv"][124] == "123\t1.23"
    first = (tmp_path / "glue.zip").read_bytes()
    submission.run(config(runs, tmp_path))
    assert (tmp_path / "glue.zip").read_bytes() == first


def test_the_most_frequent_label_where_it_is_asked_for(runs, tmp_path):
    others = [spec.name for spec in ON_BOARD if spec.name != "wnli"]
    submission.run(config(runs, tmp_path, others, majority_tasks="WNLI"))
    assert {line.split("\t")[1] for line in read(tmp_path / "glue.zip")["WNLI.tsv"][1:]} == {"0"}
    with pytest.raises(InputError, match="--majority_tasks: names wnli, and --run_dirs a run of it"):
        submission.run(config(runs, tmp_path, majority_tasks="wnli"))


def test_what_is_missing_or_wrong_is_one_line_and_nothing_is_written(runs, tmp_path):
    def refused(message, changed=None, names=None):
        with pytest.raises(InputError, match=message) as caught:
            submission.run(config(changed or runs, tmp_path, names))
        assert "\n" not in str(caught.value) and not list(tmp_path.glob("glue*"))

    refused("--run_dirs: no run of mnli, qqp; the leaderboard", names=[spec.name for spec in ON_BOARD if spec.name not in ("mnli", "qqp")])
    refused("are both runs of cola; give one", names=["cola", "cola"])
    broken = tmp_path / "runs"
    shutil.copytree(runs, broken)
    (broken / "mnli" / "predictions_ax.tsv").unlink()
    refused(r"mnli/predictions_ax.tsv: is not there, and AX.tsv is made from it; run run_classifier.py with --do_predict", broken)
    shutil.copy(runs / "rte" / "predictions.tsv", broken / "mnli" / "predictions_ax.tsv")
    refused(r"predictions_ax.tsv, line 3: 'not_entailment' is none of contradiction", broken)
    (broken / "cola" / "predictions.tsv").write_text("id\tlabel\n0\t1\n")
    refused(r"cola/predictions.tsv: has 1 rows, the official test set of CoLA has 1063", broken)
    (broken / "cola" / "run_config.json").unlink()
    refused(r"cola: has no run_config.json; give the --output_dir of a training", broken)
    record = {"workflow": "finetune", "config": {"task_name": "reviews"}, "model": {}, "data": {}}
    (broken / "cola" / "run_config.json").write_text(json.dumps(record))
    refused(r"cola: is a run of reviews, which is not on the leaderboard; leave it out", broken)
