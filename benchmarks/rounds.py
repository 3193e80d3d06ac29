"""Runs implementations in turn, each in a process of its own, and puts their speeds side by side.

Machines are noisy, so no figure stands alone: every side runs a short round, then every side the next one, and what is reported is
the median of each side's rounds and its ratio to the others'.
"""

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Side:
    """An implementation that runs rounds.

    Attributes:
      name: What the table calls it.
      module: The module in benchmarks.sides.
      options: What the module is told, as JSON.
      python: The interpreter of its environment.
      rounds: What each round measured.
    """

    name: str
    module: str
    options: dict[str, Any]
    python: str = sys.executable
    rounds: list[dict[str, float]] = field(default_factory=list)
    _process: subprocess.Popen | None = None

    def start(self) -> None:
        """Starts the process and waits until it has warmed up."""
        command = [self.python, "-m", f"benchmarks.sides.{self.module}", json.dumps(self.options)]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._answer()

    def run(self) -> dict[str, float]:
        """Runs one round and returns what it measured."""
        self._process.stdin.write("round\n")
        self._process.stdin.flush()
        self.rounds.append(self._answer())
        return self.rounds[-1]

    def stop(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.stdin.close()
            self._process.wait()

    def _answer(self) -> dict[str, float]:
        for line in self._process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise SystemExit(f"{self.name}: ended with exit code {self._process.wait()}")


def serve(warm_up, run) -> None:
    """What a side's process does: warms up, then runs a round for each line that it is sent. Both functions return figures."""
    print(json.dumps(warm_up() or {}), flush=True)
    for _ in sys.stdin:
        print(json.dumps(run()), flush=True)


def alternate(sides: list[Side], num_rounds: int) -> None:
    """Runs all sides in turn, `num_rounds` times."""
    for side in sides:
        side.start()
    try:
        for number in range(num_rounds):
            for side in sides:
                figures = ", ".join(f"{name} {value:.4g}" for name, value in side.run().items())
                print(f"round {number + 1}, {side.name}: {figures}", file=sys.stderr, flush=True)
    finally:
        for side in sides:
            side.stop()


def report(sides: list[Side], figure: str, reference: str, more: dict[str, Any]) -> dict[str, Any]:
    """Returns the medians of `figure`, and each side's ratio to the one called `reference`."""
    medians = {side.name: statistics.median(each[figure] for each in side.rounds) for side in sides}
    ratios = {name: value / medians[reference] for name, value in medians.items()}
    return {"figure": figure, "medians": medians, f"ratio_to_{reference}": ratios, "rounds": {s.name: s.rounds for s in sides}} | more
