"""Who may import whom: the rows of the house, and what must not reach below the scripts."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

# A room, or a module at the top, and its row. A module imports from rows below its own and from its own room.
ROWS = {
    "errors": -1,
    "startup": -1,
    "config": 0,
    "ablations": 0,
    "text": 1,
    "pretraining": 2,
    "tasks": 2,
    "squad": 2,
    "data": 3,
    "modeling": 4,
}
ROWS |= {"training": 5, "convert": 5, "serving": 6, "workflows": 7, "api": 8, "cli": 8}
# The model knows nothing of text or files: the two columns meet above it.
TEXT_AND_DATA = {"text", "pretraining", "tasks", "squad", "data"}
TENSORFLOW = {"tensorflow", "keras", "keras_hub", "tensorflow_text", "tensorflow_datasets"}
GRAPH_TOKENIZERS = {"bert_tf/text/wordpiece_graph.py", "bert_tf/text/wordpiece_fast.py"}

SCRIPTS = sorted(path.name for path in ROOT.glob("*.py"))
MODULES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "bert_tf").rglob("*.py") if path.name != "__init__.py")


def imports(path: str) -> Iterator[str]:
    """Yields every name imported, dotted, wherever in the file: `from a import b` gives a.b."""
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room(path: str) -> str:
    return Path(path).parts[1].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES)
def test_a_module_imports_from_rows_below_and_its_own_room(path):
    for name in (name for name in imports(path) if name.startswith("bert_tf.")):
        other = name.split(".")[1]
        assert other == room(path) or ROWS[other] < ROWS[room(path)], f"{path} imports {name}"
        assert not (room(path) == "modeling" and other in TEXT_AND_DATA), f"{path} imports {name}"


@pytest.mark.parametrize("path", MODULES + SCRIPTS)
def test_flags_and_the_command_line_are_read_in_scripts_only(path):
    if path.startswith("bert_tf/cli/"):
        return
    assert not [name for name in imports(path) if name.startswith(("absl.flags", "absl.app", "argparse", "sys.argv"))]
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "argv"], f"{path} reads sys.argv"


@pytest.mark.parametrize("path", SCRIPTS)
def test_a_script_at_the_top_needs_config_and_cli_only(path):
    assert {name.split(".")[1] for name in imports(path) if name.startswith("bert_tf.")} <= {"config", "cli"}


@pytest.mark.parametrize("path", [path for path in MODULES if ROWS[room(path)] <= 2 or room(path) == "cli"])
def test_no_tensorflow_in_the_low_rows_and_the_scripts(path):
    if path not in GRAPH_TOKENIZERS:
        assert not {name.split(".")[0] for name in imports(path)} & TENSORFLOW


def test_every_module_has_a_row():
    assert {room(path) for path in MODULES} <= ROWS.keys()


def run_python(code: str) -> str:
    """Returns what a fresh interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def test_importing_the_package_starts_no_tensorflow():
    low = [path.removesuffix(".py").replace("/", ".") for path in MODULES if ROWS[room(path)] <= 2 and path not in GRAPH_TOKENIZERS]
    assert "bert_tf.config.model" in low
    code = f"import sys, bert_tf, {', '.join(low)}; print(sorted(sys.modules.keys() & {TENSORFLOW!r}))"
    assert run_python(code).strip() == "[]"
