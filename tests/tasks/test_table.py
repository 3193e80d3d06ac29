"""The rows themselves, and that nothing but a row knows a task."""

import ast

import pytest

from bert_tf.errors import InputError
from bert_tf.tasks.spec import CLASSIFY, DEV, SPLITS, Columns, TaskSpec, TsvFile, TsvSource
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
    with pytest.raises(InputError, match=f"^task_name is '{typed}'; give one of cola, mnli, mrpc, sst-2, topic$"):
        find_task(typed)


def test_label_orders_are_the_originals():
    assert find_task("mnli").labels == ("contradiction", "entailment", "neutral")
    assert [find_task(name).labels for name in ("mrpc", "cola", "sst-2")] == [("0", "1")] * 3


def test_every_row_is_complete():
    assert len({plain(task.name) for task in TASKS}) == len(TASKS)
    for task in TASKS:
        assert set(task.tsv.files) == set(SPLITS)
        assert "accuracy" in task.metrics  # the original's eval_results.txt has it for every task
        if task.tfds is not None:
            assert set(task.tfds.splits) == set(SPLITS)
            assert len(task.tfds.columns.texts) == task.num_texts
            assert set(task.tfds.columns.label_names.values()) in (set(), set(task.labels))


def test_the_original_evaluates_mnli_on_the_matched_set():
    assert find_task("mnli").tsv.files[DEV].names == ("dev_matched.tsv",)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"kind": "guess"}, "kind is 'guess'; give one of classify"),
        ({"labels": ("0",)}, r"labels are \['0'\]; give two or more"),
        ({"labels": ("0", "1", "0")}, "give two or more, each once"),
        ({"labels": ("a", "b", "c"), "metrics": ("f1",)}, "metric f1 is for 2 labels, not 3"),
        ({"metrics": ("bleu",)}, "metric 'bleu' is unknown; give one of accuracy, f1, matthews"),
        ({"metrics": ()}, "no metric"),
        ({"tsv": TsvSource(Columns(("a", "b", "c")), {})}, "3 text columns; give one or two"),
    ],
)
def test_a_row_that_cannot_work_is_refused(changes, message):
    tsv = TsvSource(Columns(("a",)), {DEV: TsvFile(("dev.tsv",))})
    good = dict(name="toy", kind=CLASSIFY, labels=("0", "1"), metrics=("accuracy",), tsv=tsv)
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
