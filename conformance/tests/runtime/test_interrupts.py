"""Exceptions from outside, between any two steps: what `with` statements put in force ends with them."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
from interrupts_kit import Program, at_random, everywhere, unraised

import adstack as qd
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
    settle()
    assert GUARD[ASKING] == 0


def test_interrupts_at_random_moments() -> None:
    program = Program("cpu")
    program.x.fill(3.0)

    def work() -> None:
        program.x.fill(3.0)
        program.tape()

    with unraised():
        raised = [interrupted for interrupted in at_random(work, 1500) if program.check() is None]
    assert any(raised)


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
