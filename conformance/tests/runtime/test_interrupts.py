"""Exceptions from outside, between any two steps: what `with` statements put in force ends with them."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from interrupts_kit import Program, everywhere, unraised
from process_kit import unmeasured

import adstack as qd
from adstack.conformance.fuzz import interrupts
from adstack.runtime.threads.guards import ASKING, GUARD
from adstack.runtime.threads.scopes import settle

KINDS = pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError])


@KINDS
@pytest.mark.parametrize("what", ["tape", "without", "forward", "graph"])
@pytest.mark.parametrize(("arch", "step"), [("cpu", 3), ("reference", 11)])
def test_an_exception_at_any_point_leaves_nothing_in_force(
    arch: str, step: int, what: str, kind: type[BaseException]
) -> None:
    """interrupts.state"""
    program = Program(arch)
    work: Callable[[], None] = getattr(program, what)
    for _ in range(2):
        program.x.fill(3.0)
        work()
        program.check()
    with unraised():
        points = [number for number in everywhere(work, kind, step) if program.check() is None]
    assert len(points) > 20
    watch = program.x.buffer.watch
    assert (
        watch is None or len(watch.savers) <= 1
    )  # the logs of tapes that were broken off are told of nothing any more
    settle()
    assert GUARD[ASKING] == 0


def test_interrupts_at_random_moments(tmp_path: Path) -> None:
    """In a process of its own, in which all code that is interrupted is adstack's."""
    module, file = "adstack.conformance.fuzz.interrupts", tmp_path / "interrupts.json"
    command = [sys.executable, "-m", module, "cpu", "--count", "300", "--json", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False, env=unmeasured())
    assert done.returncode == 0, done.stdout + done.stderr
    counts = json.loads(file.read_text())["runs"][0]["backends"]["cpu"]
    assert (counts["interrupts"], counts["wrong"]) == (300, 0)
    assert counts["raised"] > 150
    assert min(counts[kind] for kind in ("tape", "forward", "graph", "compile")) > 5


def test_what_is_wrong_after_an_interrupt_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "_interrupted", lambda work, after: True)
    monkeypatch.setattr(interrupts.Program, "tape", interrupts.Program.without)
    result = CliRunner().invoke(interrupts.main, ["reference", "--count", "2"])
    assert result.exit_code == 1
    assert "2 raised, 2 wrong" in result.output
    assert "AssertionError: x.grad is [0.0, 0.0, 0.0, 0.0], and x [9.0" in result.output


def test_a_compilation_that_is_broken_off_can_be_done_again() -> None:
    qd.init(arch=qd.reference)
    x = qd.field(qd.f32, 4)

    @qd.kernel
    def fill(value: qd.f32):
        for i in x:
            x[i] = value

    def compiled() -> None:
        fill.drop()
        fill(2.0)

    compiled()
    with unraised():
        for number in everywhere(compiled, KeyboardInterrupt, 409):
            fill(float(number))
            assert x[3] == number
            assert gc.isenabled()


def test_a_tape_that_goes_on_after_a_broken_launch_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """interrupts.launch"""
    program = Program("reference")
    program.tape()

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    def goes_on() -> None:
        with qd.ad.Tape(program.loss), monkeypatch.context() as patch:
            patch.setattr("adstack.interpreter.run", interrupted)
            with pytest.raises(KeyboardInterrupt):
                program.square()

    with pytest.raises(qd.AdstackRuntimeError, match="the launch of square did not come to its end"):
        goes_on()
    program.x.fill(3.0)
    program.check()


def test_what_an_exit_stack_keeps_stays_in_force_until_it_is_left() -> None:
    from contextlib import ExitStack

    program = Program("reference")
    program.x.fill(3.0)
    with ExitStack() as stack:
        stack.enter_context(qd.ad.Tape(program.loss))
        gc.collect()
        program.square()
        program.total()
    assert program.x.grad.to_numpy().tolist() == [108.0] * 4
    program.x.fill(3.0)
    program.check()
