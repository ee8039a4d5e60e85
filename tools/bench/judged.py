"""Which goals are met: the tables, as Markdown or as data, out of asv's results and of new runs."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from adstack.conformance.harness.records import Record

from .asv.catalogue import RESULTS, Setting
from .asv.recorded import of_run
from .goals import GOALS, Goal, Term

__all__ = ["Judged", "Source", "judged", "main", "markdown", "of_runs", "sources", "write"]

_TITLES: Final = {
    "targets": "What is measured, and the goal",
    "launches": "Launches and tapes",
    "adjoints": "Where adjoints are added up",
}
_NOT_MEASURED: Final = "not measured"


@dataclass(frozen=True)
class Source:
    """One run: where it was made, when its commit was, and its figures.

    Attributes:
        name: machine and commit.
        date: of the commit, in milliseconds since 1970.
    """

    name: str
    date: float
    values: Mapping[Term, float]


@dataclass(frozen=True)
class Judged:
    """A goal and what it has come to.

    Attributes:
        value: None if no run has what it needs.
        source: the run.
    """

    goal: Goal
    value: float | None
    source: str

    @property
    def state(self) -> str:
        """What the goal has come to: "met", "missed" or "not measured"."""
        if self.value is None:
            return _NOT_MEASURED
        return "met" if self.value <= self.goal.limit else "missed"

    def record(self) -> Record:
        """As plain data."""
        goal = self.goal
        about = {"table": goal.table, "what": goal.what, "unit": goal.unit, "goal": goal.limit, "value": self.value}
        cause = "" if self.state == "met" else goal.gap
        return {**about, "state": self.state, "source": self.source, "cause": cause}


def sources(folder: Path = RESULTS) -> list[Source]:
    """The runs of a folder of asv's results, the newest first."""
    runs = []
    for path in folder.glob("*/*-*.json"):
        run = json.loads(path.read_text("utf-8"))
        if not run["env_vars"]:  # what it was measured with is what users have
            name = f"{run['params']['machine']}, {run['commit_hash'][:8]}"
            runs.append(Source(name, run["date"], dict(_values(run))))
    return sorted(runs, key=lambda one: (-one.date, one.name))


def of_runs(runs: Sequence[Record]) -> Source:
    """Runs of `adstack bench` that have just been made."""
    tables = [of_run(run) for run in runs]
    values = {
        (name, setting): point.value
        for table in tables
        for name, points in table.items()
        for setting, point in points.items()
    }
    return Source("this run", math.inf, values)


def _values(run: Record) -> Iterator[tuple[Term, float]]:
    for name, columns in run["results"].items():
        row = dict(zip(run["result_columns"], columns, strict=False))
        settings: Iterator[Setting] = itertools.product(*row["params"])
        for setting, value in zip(settings, row["result"] or (), strict=False):
            if value is not None and not math.isnan(value):
                yield (name, tuple(setting)), float(value)


def judged(runs: Sequence[Source]) -> list[Judged]:
    """All goals, each by the first run that has every figure it needs."""
    return [_judge(goal, runs) for goal in GOALS]


def _judge(goal: Goal, runs: Sequence[Source]) -> Judged:
    for run in runs:
        if all(term in run.values for term in goal.terms):
            return Judged(goal, goal.of([run.values[term] for term in goal.terms]), run.name)
    return Judged(goal, None, "")


def markdown(goals: Sequence[Judged]) -> str:
    """A table of each kind, each goal with its state, and why where it is not met."""
    parts = []
    for name, title in _TITLES.items():
        mine = [one for one in goals if one.goal.table == name]
        met = sum(one.state == "met" for one in mine)
        lines = ["| what | measured | goal | state | run | cause |", "| --- | --- | --- | --- | --- | --- |"]
        parts += [f"## {title}", f"{met} of {len(mine)} goals are met.", "\n".join([*lines, *map(_line, mine)])]
    return "\n\n".join(parts) + "\n"


def _line(one: Judged) -> str:
    value = "-" if one.value is None else _shown(one.value, one.goal.unit)
    limit = f"at most {_shown(one.goal.limit, one.goal.unit)}"
    return (
        f"| {' | '.join((one.goal.what, value, limit, one.state, one.source or '-', one.record()['cause'] or '-'))} |"
    )


def _shown(value: float, unit: str) -> str:
    if unit != "s":
        return f"{value:.3g} {unit}"
    return f"{value * 1e6:.3g} us" if value < 1e-3 else f"{value * 1e3:.3g} ms"


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def main(file: Path) -> None:
    """Write the tables of the runs that are committed, into FILE: as data if it ends with .json, else as Markdown."""
    write(file, judged(sources()))


def write(file: Path, goals: Sequence[Judged]) -> None:
    """Write the tables: as JSON if the file is called so, else as Markdown."""
    data = json.dumps([one.record() for one in goals], indent=1) + "\n"
    file.write_text(data if file.suffix == ".json" else markdown(goals), "utf-8")


if __name__ == "__main__":
    main()
