"""`adstack locate`: emitters that are wrong on purpose are found, at the lane, the iteration and the line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from adstack.backends.codegen_llvm.text.scalar_ops import EMITTERS, Site
from adstack.conformance.harness.loading import collect
from adstack.inspection import Departure
from adstack.ir.ops import TABLE
from adstack.tools.commands import cli
from adstack.tools.loading.programs import ProgramError
from adstack.tools.locate import located

CASE = """
from adstack.conformance.case import Gradient, Run, case

@case(rules=["arith.floor"], modes=("forward", "reverse"))
def steps_down(qd):
    x, y = (qd.field(qd.f32, shape=2, needs_grad=True) for _ in range(2))

    @qd.kernel
    def k():
        for i in x:
            s = x[i]
            for j in range(6):
                s = s / 1.5
                y[i] += qd.floor(s - 0.25 * j)
            y[i] += 1.0 / s

    return Run(k, given={x: [3.0, 1.0]}, expect={}, gradient=Gradient(seed={y: 1.0}, expect={}))
"""


def found(tmp_path: Path, mode: str, backend: str = "cpu") -> list[Departure]:
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "one.py").write_text(CASE)
    (entry,) = collect(tmp_path)
    return located(entry, backend, mode, root=tmp_path)


def wrong(monkeypatch: pytest.MonkeyPatch, name: str, text: Callable[[Site], str]) -> None:
    """Break the emitter of an operation on floats."""
    right = EMITTERS[TABLE[name]]
    monkeypatch.setitem(EMITTERS, TABLE[name], lambda site: text(site) if site.to.is_float else right(site))


def test_a_wrong_value_is_found_where_it_first_makes_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong(monkeypatch, "floor", lambda site: site.call("trunc"))
    departure, *_ = found(tmp_path, "forward")
    # lane 1 has 0.67, 0.19, -0.20; lane 0 stays above 0 for longer
    assert (departure.op, departure.lane, departure.iteration) == ("floor", 1, 2)
    assert (departure.expected, departure.got) == (-1.0, 0.0)
    assert (departure.loc.file, departure.loc.line) == (str(tmp_path / "made" / "one.py"), 14)
    assert "made/one.py:14:" in str(departure)
    assert "lane 1, iteration 2: the reference has -1.0, the backend -0.0" in str(departure)


def test_a_value_that_only_reverse_mode_computes_is_found_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong(monkeypatch, "neg", lambda site: site.args[0])
    (departure,) = found(tmp_path, "reverse")
    assert (departure.program, departure.op, departure.lane, departure.iteration) == ("k.grad", "neg", 0, 0)
    assert (departure.loc.line, departure.got) == (15, -departure.expected)


def test_backends_that_are_right_do_not_depart(tmp_path: Path) -> None:
    before = [os.fstat(descriptor).st_ino for descriptor in (1, 2)]
    assert found(tmp_path, "reverse") == []
    assert [os.fstat(descriptor).st_ino for descriptor in (1, 2)] == before


def test_the_command_says_what_it_has_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = CliRunner()
    monkeypatch.setattr("adstack.tools.locate.CASES", tmp_path)
    assert found(tmp_path, "forward") == []
    fine = runner.invoke(cli, ["locate", "made/steps-down", "-b", "cpu", "--mode", "forward"])
    assert (fine.exit_code, fine.output) == (0, "made/steps-down, forward: no departure\n")
    wrong(monkeypatch, "div", lambda site: site.args[0])
    bad = runner.invoke(cli, ["locate", "made/steps-down", "-b", "cpu"])
    assert bad.exit_code == 1
    assert "made/steps-down, forward: first departure\n" in bad.output
    assert "made/steps-down, reverse: first departure, of 2 launches that depart\n" in bad.output
    assert ": div in " in bad.output
    assert isinstance(runner.invoke(cli, ["locate", "made/another", "-b", "cpu"]).exception, ProgramError)
