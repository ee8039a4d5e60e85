"""`adstack bench FILE:KERNEL`: the kernel of a user's program is measured as the rows are."""

from __future__ import annotations

from pathlib import Path

import pytest
from click import ClickException
from click.testing import CliRunner

from adstack.tools.bench import plot, subjects
from adstack.tools.bench.command import bench
from adstack.tools.bench.measure import Samples
from adstack.tools.bench.report import Run
from adstack.tools.bench.rows import OF_KERNELS, Row, of_kernel
from adstack.tools.bench.runners import language
from adstack.tools.bench.subjects import Subject
from adstack.tools.bench.workers import Worker

KERNEL = """
import adstack as qd

qd.init(arch=qd.cpu, default_fp=qd.f64)
x, y = (qd.field(float, shape=8, needs_grad=True) for _ in range(2))


class Solver:
    @qd.kernel
    def step(self, k: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(k):
                v = qd.sin(v)
            y[i] = v


solver, many = qd.data_oriented(Solver)(), 3
if __name__ == "__main__":
    raise SystemExit("not for benchmarks")
"""


@pytest.mark.parametrize("row", ["call", "first-gradient"])
def test_a_kernel_of_a_users_program_runs_where_it_is_measured(row: str, tmp_path: Path):
    (tmp_path / "program.py").write_text(KERNEL)
    target = {"target": f"{tmp_path / 'program.py'}:solver.step", "arguments": "many"}
    with Worker(subjects.mine("reference").command) as worker:
        kind = "cold" if row.startswith("first") else "steady"
        answer = worker.ask({"row": row, "kind": kind, "calls": 0, "cache": "", **target})
    assert answer["wall"] > 0
    kept = {"adstacks": 1, "bytes per thread": 3 * 8}  # the options of the program's own `init` are kept
    assert answer.get("outcome", kept) == kept
    assert ("outcome" in answer) == (row == "first-gradient")


def test_so_many_calls_are_timed_together_as_take_a_while(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(language, "timed", lambda work, sync, calls: {"wall": 1e-3})
    assert language.enough(lambda: None, lambda: None) == 8


def test_rows_of_a_kernel_name_it():
    rows = of_kernel("a.py:k", "3", [])
    assert [row.name for row in rows] == list(OF_KERNELS)
    assert {(row.target, row.arguments) for row in rows} == {("a.py:k", "3")}
    assert [row.name for row in of_kernel("a.py:k", "", ["first"])] == ["first"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.py:k"], "not FILE:KERNEL"),
        ([__file__], "not FILE:KERNEL"),
        ([f"{__file__}:k", "--rows", "nop"], "no row nop of kernels"),
        ([f"{__file__}:k", "--against", "jax"], "JAX has no kernels"),
        (["--rows", "call"], "no row call without a kernel"),
    ],
)
def test_what_the_command_cannot_measure_is_wrong_usage(arguments: list[str], words: str):
    done = CliRunner().invoke(bench, arguments)
    assert done.exit_code == 2
    assert words in done.output


def test_a_picture_shows_the_ratios_that_there_are(tmp_path: Path):
    ours, theirs = (Subject(name, "cpu", ()) for name in ("adstack", "quadrants"))
    samples = {("call", ours): Samples([1.0]), ("call", theirs): Samples([4.0])}
    samples |= {("first", ours): Samples([1.0]), ("first", theirs): Samples(problem="no")}
    (one,) = plot.ratios(Run("cpu", [Row("call", ""), Row("first", "")], [ours, theirs], samples))
    assert (one.row, one.peer, one.times) == ("call", "quadrants", 4.0)
    with pytest.raises(ClickException, match="--against"):
        plot.draw(tmp_path / "picture", [])
