"""Goals: each is judged by the newest run that has all it needs, and none is missed without a word why."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from adstack.tools.bench import command, judged
from adstack.tools.bench.asv.catalogue import catalogue
from adstack.tools.bench.command import bench
from adstack.tools.bench.goals import GOALS, ROWS_OF_GOALS, Goal, Term
from adstack.tools.bench.judged import Judged, Source, markdown, sources
from adstack.tools.bench.rows import ROWS
from adstack.tools.bench.subjects import Subject

ONE: Term = "a.B.track_c", ("'cpu'",)
TWO: Term = "a.B.track_c", ("'cuda'",)
GOAL = Goal("targets", "one over two", 0.5, (ONE, TWO), lambda values: values[0] / values[1])


def test_every_goal_that_is_not_met_says_why():
    goals = judged.judged(sources())
    assert [one.goal.what for one in goals if one.state != "met" and not one.record()["cause"]] == []
    assert {one.goal.table for one in goals} == {"targets", "launches", "adjoints"}


def test_goals_are_about_benchmarks_and_rows_that_there_are():
    benchmarks = catalogue()
    settings = {name: set(benchmark.settings()) for name, benchmark in benchmarks.items()}
    assert [term for goal in GOALS for term in goal.terms if term[1] not in settings[term[0]]] == []
    assert set(ROWS_OF_GOALS) <= set(ROWS)


@pytest.mark.parametrize(
    ("runs", "value", "source"),
    [
        ([{ONE: 1.0, TWO: 4.0}, {ONE: 1.0, TWO: 2.0}], 0.25, "run 0"),
        ([{ONE: 1.0}, {ONE: 3.0, TWO: 4.0}], 0.75, "run 1"),
        ([{ONE: 1.0}, {TWO: 2.0}], None, ""),
    ],
)
def test_a_goal_is_judged_by_the_newest_run_that_has_all_its_figures(
    runs: list[dict[Term, float]], value: float | None, source: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(judged, "GOALS", (GOAL,))
    (one,) = judged.judged([Source(f"run {place}", -place, values) for place, values in enumerate(runs)])
    assert (one.value, one.source) == (value, source)


@pytest.mark.parametrize(("value", "state"), [(0.5, "met"), (0.51, "missed"), (None, "not measured")])
def test_a_goal_is_met_up_to_its_limit(value: float | None, state: str):
    one = Judged(GOAL, value, "run")
    assert one.state == state
    assert f"| {state} |" in markdown([one])


def test_a_new_run_comes_before_those_that_are_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    worker = 'import sys\nfor line in sys.stdin: print(\'{"wall": 0.5, "cpu": 0.5}\', flush=True)'
    monkeypatch.setattr(command, "compiled_backends", lambda: ["cpu"])
    monkeypatch.setattr(command, "mine", lambda arch: Subject("adstack", arch, (sys.executable, "-c", worker), "1"))
    file = tmp_path / "goals.json"
    done = CliRunner().invoke(bench, ["--rows", "nop", "--rounds", "1", "--tables", str(file)])
    assert done.exit_code == 0, done.output
    goals = {one["what"]: one for one in json.loads(file.read_text())}
    nop = goals["nop, cpu"]
    assert (nop["value"], nop["source"], nop["state"]) == (0.5, "this run", "missed")
    assert goals["nop, cuda"]["source"].startswith("nvidia-")
