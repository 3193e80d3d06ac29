"""The rows themselves, and that nothing but a row knows a task."""

import ast

import pytest

from bert_tf.errors import InputError
from bert_tf.tasks.answers import CHOOSE, CLASSIFY, MULTILABEL, REGRESS, TAG
from bert_tf.tasks.spec import DEV, SPLITS, TEST, TRAIN, Columns, TableFile, TableSource, TaskSpec, file_of, role
from bert_tf.tasks.table import TASKS, find_task
from tests.conftest import ROOT


def plain(name):
    return name.lower().replace("-", "").replace("_", "")


@pytest.mark.parametrize(
    "typed, name",
    [("MRPC", "mrpc"), (" mrpc ", "mrpc"), ("MNLI", "mnli"), ("CoLA", "cola"), ("SST-2", "sst-2"), ("sst2", "sst-2"), ("sst_2", "sst-2")],
)
def test_a_task_is_found_however_it_is_written(typed, name):
    assert find_task(typed).name == name


@pytest.mark.parametrize("typed", ["imdb", "", "mrpc2"])
def test_an_unknown_task_is_refused_with_those_that_are_known(typed):
    with pytest.raises(InputError, match=f"^task_name is '{typed}'; give one of cola, .*, topic, or --kind and a name of your own$"):
        find_task(typed)


def test_label_orders_are_the_originals():
    assert find_task("mnli").labels == ("contradiction", "entailment", "neutral")
    assert find_task("xnli").labels == ("contradiction", "entailment", "neutral")
    assert [find_task(name).labels for name in ("mrpc", "cola", "sst-2")] == [("0", "1")] * 3


def test_every_row_is_complete():
    assert len({plain(task.name) for task in TASKS}) == len(TASKS)
    for task in TASKS:
        assert [task.sets(split)[0] for split in SPLITS] == list(SPLITS)
        assert {role(split) for split in task.table.files} == set(SPLITS)
        if task.kind == CLASSIFY:
            assert "accuracy" in task.metrics  # the original's eval_results.txt has it for every task
        assert set(task.leaderboard) <= set(task.sets(TEST))
        for file in task.leaderboard.values():
            assert file.majority is None or file.majority in task.labels
        if task.tfds is not None:
            assert set(task.tfds.splits) == set(task.table.files)
            assert set(task.tfds.elsewhere) <= set(task.tfds.splits)
            assert len(task.tfds.columns.texts) == task.num_texts
            assert set(task.tfds.columns.label_names.values()) in (set(), set(task.labels))


def test_the_leaderboards_files_and_their_rows():
    files = {file.name: file.num_rows for task in TASKS for file in task.leaderboard.values()}
    assert files == {
        "CoLA": 1063, "SST-2": 1821, "MRPC": 1725, "STS-B": 1379, "QQP": 390965, "MNLI-m": 9796, "MNLI-mm": 9847, "QNLI": 5463,
        "RTE": 3000, "WNLI": 146, "AX": 1104,
    }  # fmt: skip


@pytest.mark.parametrize("name, labels", [("qnli", 2), ("rte", 2), ("wnli", 2), ("qqp", 2), ("mnli", 3), ("cola", 2), ("sst2", 2)])
def test_glues_official_metrics(name, labels):
    task = find_task(name)
    assert len(task.labels) == labels
    assert task.metrics == {"qqp": ("f1", "accuracy"), "cola": ("matthews", "accuracy")}.get(name, ("accuracy",))
    assert find_task("sts-b").metrics == ("pearson", "spearman")


def test_a_language_is_filled_in():
    files = find_task("xnli").in_language("de").table.files
    assert files[TRAIN].names[0] == "multinli/multinli.train.de.tsv"
    assert files[DEV].only == files[TEST].only == {"language": "de"}
    assert find_task("mrpc").in_language("de") == find_task("mrpc")


def test_further_sets_and_their_files():
    task = find_task("mnli")
    assert task.sets(DEV) == ["dev", "dev_mismatched"]
    assert task.sets(TEST) == ["test", "test_mismatched", "test_ax"]
    assert [file_of("predictions.tsv", split) for split in task.sets(TEST)] == [
        "predictions.tsv",
        "predictions_mismatched.tsv",
        "predictions_ax.tsv",
    ]
    assert file_of("eval.tf_record", "dev_mismatched") == "eval_mismatched.tf_record"


def test_the_original_evaluates_mnli_on_the_matched_set():
    assert find_task("mnli").table.files[DEV].names == ("dev_matched.tsv",)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"kind": "guess"}, "kind is 'guess'; give one of classify"),
        ({"labels": ("0",)}, r"labels are \['0'\]; give two or more"),
        ({"labels": ("0", "1", "0")}, "give two or more, each once"),
        ({"labels": ("a", "b", "c"), "metrics": ("f1",)}, "metric f1 is for 2 labels, not 3"),
        ({"metrics": ("bleu",)}, "metric 'bleu' is unknown; give one of accuracy, f1, matthews"),
        ({"metrics": ()}, "no metric"),
        ({"table": TableSource(Columns(("a", "b", "c")), {})}, "3 text columns; give one or two"),
        ({"kind": CHOOSE}, "0 columns of choices, 2 labels"),
        ({"table": TableSource(Columns(("a",), choices=("b", "c")), {})}, "2 columns of choices, 2 labels"),
        ({"kind": CHOOSE, "metrics": ("f1",)}, "0 columns of choices|metric 'f1' is unknown"),
        ({"kind": TAG, "labels": ("O", "I-X"), "metrics": ("entity_f1",)}, "without B-X"),
        ({"kind": REGRESS}, r"labels are \['0', '1'\], but the kind is regress"),
        ({"kind": REGRESS, "labels": ()}, "metric 'accuracy' is unknown; give one of pearson, spearman"),
        ({"kind": MULTILABEL, "thresholds": (0.1, 0.2, 0.3)}, "there are 3 thresholds for 2 labels"),
    ],
)
def test_a_row_that_cannot_work_is_refused(changes, message):
    tsv = TableSource(Columns(("a",)), {DEV: TableFile(("dev.tsv",))})
    good = dict(name="toy", kind=CLASSIFY, labels=("0", "1"), metrics=("accuracy",), table=tsv)
    TaskSpec(**good)
    with pytest.raises(InputError, match=message):
        TaskSpec(**(good | changes))


def task_names_asked_for(source):
    """Returns each place where code compares with a task's name, looks one up, or matches one."""
    known = {plain(task.name) for task in TASKS}
    found = []
    for node in ast.walk(ast.parse(source)):
        asked = []
        if isinstance(node, ast.Compare):
            asked = [node.left, *node.comparators]
        elif isinstance(node, ast.Dict):
            asked = [key for key in node.keys if key is not None]
        elif isinstance(node, ast.Subscript):
            asked = [node.slice]
        elif isinstance(node, ast.MatchValue):
            asked = [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("startswith", "endswith", "get"):
            asked = node.args
        strings = [
            part for expression in asked for part in ast.walk(expression) if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        found += [f"line {part.lineno}: {part.value!r}" for part in strings if plain(part.value).removeprefix("glue/") in known]
    return found


@pytest.mark.parametrize(
    "source",
    [
        "if spec.name == 'mrpc': pass",
        "if task_name.lower() in ('x', 'SST-2'): pass",
        "HEADS = {'cola': 1}",
        "heads['mnli']",
        "heads.get('mnli')",
        "match name:\n  case 'sst2' | 'x': pass",
        "tfds_name.startswith('glue/mrpc')",
    ],
)
def test_the_check_below_sees_a_task_name(source):
    assert len(task_names_asked_for(source)) == 1


def test_no_other_file_asks_for_a_task_by_name():
    files = [path for path in sorted((ROOT / "bert_tf").rglob("*.py")) if path.name != "table.py"]
    assert len(files) > 20
    found = [f"{path.relative_to(ROOT)}, {place}" for path in files for place in task_names_asked_for(path.read_text(encoding="utf-8"))]
    assert not found
