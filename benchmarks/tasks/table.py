"""What the finished rows of the protocol reached: figures for programs, and one table of them. No TensorFlow."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.tasks.protocol import DEMANDS, SMOKE, SQUAD, Row
from bert_tf.tasks.paper import paper_figures

_SETTINGS = ("learning_rate", "train_batch_size", "max_seq_length", "num_train_epochs")


def content(found: Iterable[tuple[Row, Mapping[str, Any]]]) -> dict[str, Any]:
    """Returns for each row its settings, seeds, seconds and figures in percent, and whether transfer wins as much as it has to.

    Args:
      found: Rows, each with what its sweep.json holds and the `precision` that was computed in.
    """
    rows = [_told(row, sweep) for row, sweep in found]
    return {"rows": rows, "transfer": list(_transfer({row["name"]: row for row in rows}))}


def _told(row: Row, sweep: Mapping[str, Any]) -> dict[str, Any]:
    config, runs = sweep["config"], sweep["runs"]
    return {
        "name": row.name,
        "task": row.task,
        "from_random": row.from_random,
        "unlike": row.unlike,
        "settings": {name: config[name] for name in _SETTINGS} | {"precision": sweep["precision"]},
        "seeds": [run["random_seed"] for run in runs],
        "states": [run["state"] for run in runs],
        "seconds": [run["seconds"] for run in runs],
        "scores": {score: _figures(row, score, runs) for score in row.scores},
    }


def _figures(row: Row, score: str, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns a score's values in percent, mean and standard deviation (n - 1), the highest, and the paper's."""
    scale = 1 if row.script == SQUAD else 100
    values = [scale * value for run in runs if (value := run["results"].get(score)) is not None]
    # a smoke test and random weights are not to be set beside a trained model
    beside = () if row in SMOKE or row.from_random else paper_figures(row.task)
    told = [figure for figure in beside if figure.metric == score.removeprefix("eval_") and "BASE" in figure.model]
    return {
        "values": values,
        "mean": statistics.fmean(values) if values else None,
        "standard_deviation": statistics.stdev(values) if len(values) > 1 else None,
        "best": max(values, default=None),
        "paper": told[0]._asdict() if told else None,
    }


def _transfer(rows: Mapping[str, Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    for demand in DEMANDS:
        pair = [rows.get(name) for name in (demand.row, f"{demand.row}-random")]
        means = [row["scores"][demand.score]["mean"] for row in pair if row is not None]
        if len(means) == 2 and None not in means:
            won = means[0] - means[1]
            yield {"row": demand.row, "score": demand.score, "wins_by": won, "at_least": demand.points, "holds": won >= demand.points}


def markdown(told: Mapping[str, Any]) -> str:
    """Returns the table, a line a score, and a line for each win of transfer.

    Args:
      told: What `content` returns.
    """
    header = ["row", "rate", "batch", "length", "epochs", "precision", "seeds", "score, %", "mean", "deviation", "best"]
    header += ["BERT BASE in the paper", "s a run"]
    lines = [header, ["---"] * len(header)]
    for row in told["rows"]:
        start = f"{row['name']}{' (' + row['unlike'] + ')' if row['unlike'] else ''}"
        settings = [f"{row['settings'][name]:g}" for name in _SETTINGS]
        first = [start, *settings, row["settings"]["precision"], ", ".join(map(str, row["seeds"]))]
        seconds = f"{statistics.fmean(row['seconds']):.0f}"
        for score, figures in row["scores"].items():
            paper = figures["paper"]
            beside = "" if paper is None else f"{paper['percent']:.1f} ({paper['measured_on']})"
            cells = [score.removeprefix("eval_"), *(_short(figures[name]) for name in ("mean", "standard_deviation", "best")), beside]
            lines.append([*first, *cells, seconds])
            first, seconds = [""] * len(first), ""
    text = [f"| {' | '.join(line)} |" for line in lines]
    for won in told["transfer"]:
        verdict = "holds" if won["holds"] else "DOES NOT HOLD"
        score = won["score"].removeprefix("eval_")
        text.append(f"\n{won['row']}: transfer wins by {won['wins_by']:.1f} points of {score}; at least {won['at_least']:g}: {verdict}")
    for row in told["rows"]:
        others = [state for state in row["states"] if state != "finished"]
        if others:
            text.append(f"\n{row['name']}: {len(others)} of {len(row['states'])} runs {', '.join(sorted(set(others)))}")
    return "\n".join(text) + "\n"


def _short(figure: float | None) -> str:
    return "" if figure is None else f"{figure:.1f}"
