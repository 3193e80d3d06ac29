"""A sweep's runs as one table: mean and standard deviation of each setting, the best, and the paper's figures beside it."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol


class _Outcome(Protocol):
    """What became of a run: see `workflows/sweep_record.py`."""

    setting: Mapping[str, Any]
    state: str

    def figure(self, metric: str) -> float:
        """Returns a figure, nan where there is none."""


# Figures that are no scores.
_NO_SCORES = ("global_step", "loss")


def figures_of_settings(metric: str, outcomes: Sequence[_Outcome]) -> list[dict[str, Any]]:
    """Returns for each setting how many runs it has by state, and of their figures mean, standard deviation (n - 1), lowest and highest.

    The figures are those of all runs that have one, collapsed ones too; how many they are is `measured`.

    Args:
      metric: The figure.
      outcomes: What became of the runs.
    """
    groups: dict[str, list[_Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(repr(outcome.setting), []).append(outcome)
    rows = []
    for group in groups.values():
        figures = [figure for outcome in group if math.isfinite(figure := outcome.figure(metric))]
        states = [outcome.state for outcome in group]
        rows.append(
            {
                "setting": dict(group[0].setting),
                **{"runs": len(group), "measured": len(figures), "collapsed": states.count("collapsed"), "failed": states.count("failed")},
                "mean": statistics.fmean(figures) if figures else math.nan,
                "standard_deviation": statistics.stdev(figures) if len(figures) > 1 else math.nan,
                "lowest": min(figures, default=math.nan),
                "highest": max(figures, default=math.nan),
            }
        )
    return rows


def markdown(content: Mapping[str, Any]) -> str:
    """Returns the tables of a sweep as text.

    Args:
      content: What sweep.json holds.
    """
    metric, runs = content["metric"], content["runs"]
    scores = list(dict.fromkeys(name for run in runs for name in run["results"] if name not in _NO_SCORES))
    scores = [name for name in scores if name == metric] + [name for name in scores if name != metric]
    names = list(dict.fromkeys(name for run in runs for name in run["setting"]))
    state = [
        run["state"] + (", the best" if run["name"] == content["best"] else "") + (f": {run['note']}" if run["note"] else "")
        for run in runs
    ]
    lines = [f"# {content['task']}: {content['script']}, {len(runs)} runs", ""]
    lines += _table(
        ["run", *names, "random_seed", *scores, "state"],
        (
            [run["name"].partition("_")[0], *(run["setting"][name] for name in names), run["random_seed"]]
            + [_short(run["results"][name]) if name in run["results"] else "" for name in scores]
            + [told]
            for run, told in zip(runs, state)
        ),
    )
    if content["missing"]:
        lines += ["", f"{len(content['missing'])} runs are still to be done."]
    lines += ["", f"## {metric} by setting", ""]
    lines += _table(
        [*names, "runs", "mean", "standard deviation", "lowest", "highest", "collapsed", "failed"],
        (
            [*row["setting"].values(), row["runs"]]
            + [_short(row[name]) for name in ("mean", "standard_deviation", "lowest", "highest")]
            + [row["collapsed"], row["failed"]]
            for row in content["settings"]
        ),
    )
    return "\n".join([*lines, *_best(content), *_paper(content)]) + "\n"


def _best(content: Mapping[str, Any]) -> list[str]:
    best = next((run for run in content["runs"] if run["name"] == content["best"]), None)
    if best is None:
        return ["", "No run has a figure."]
    collapsed = ", though all that have a figure collapsed" if best["state"] == "collapsed" else ""
    metric = content["metric"]
    return ["", f"Best on dev: {metric} {_short(best['results'][metric])} in `{best['name']}`{collapsed}. Its checkpoint is kept."]


def _paper(content: Mapping[str, Any]) -> list[str]:
    if not content["paper"]:
        return []
    rows = (
        [figure["model"], figure["measured_on"], figure["metric"], f"{figure['percent']:.1f}", figure["source"]]
        for figure in content["paper"]
    )
    return ["", "## The paper, in percent", "", *_table(["model", "set", "metric", "reached", "source"], rows)]


def _table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    cells = [list(header), ["---"] * len(header), *([str(cell).replace("|", "\\|") for cell in row] for row in rows)]
    return [f"| {' | '.join(row)} |" for row in cells]


def _short(figure: float | None) -> str:
    return "undefined" if figure is None else f"{figure:.4g}"
