"""Launches that write what others' gradients need: Python announces them, and machine code makes them."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack import inspection
from adstack.errors import AdstackDataAccessError
from adstack.runtime import plans

ARCHES = [
    arch
    for arch in inspection.ARCHES
    if arch != "reference" and not isinstance(inspection.probe(arch), inspection.Unavailable)
]


@pytest.fixture(params=ARCHES, autouse=True)
def arch(request: Any) -> str:
    qd.init(arch=request.param)
    name: str = request.param
    return name


@qd.data_oriented
class Steps:
    """A history, and a grid that every step computes anew."""

    def __init__(self, count: int = 4) -> None:
        self.count, self.rate = count, 2.0
        self.x = qd.field(qd.f32, shape=(count + 1, 8), needs_grad=True)
        self.grid = qd.field(qd.f32, shape=8, needs_grad=True)

    @qd.kernel
    def fill(self, t: qd.i32) -> None:
        for i in range(8):
            self.grid[i] = self.rate * self.x[t, i] * self.x[t, i]

    @qd.kernel
    def move(self, t: qd.i32) -> None:
        for i in range(8):
            self.x[t + 1, i] = 0.25 * self.grid[i] * self.grid[i]

    @qd.kernel
    def scale(self, by: qd.f32) -> None:
        for i in range(8):
            self.grid[i] = self.grid[i] * by

    def forward(self) -> None:
        for t in range(self.count):
            self.fill(t)
            self.move(t)


@pytest.fixture
def by_machine(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each launch that Python announces: whether machine code has made it."""
    made: list[bool] = []
    usual = plans.launched

    def launched(machine_code: Callable[..., object], args: tuple[object, ...]) -> object:
        result = usual(machine_code, args)
        made.append(result is not plans.refuse())
        return result

    monkeypatch.setattr(plans, "launched", launched)
    return made


def settled() -> Steps:
    steps = Steps()
    steps.x.from_numpy(np.full((5, 8), 0.5, np.float32))
    for _ in range(3):
        steps.forward()
    return steps


def functions(work: Callable[[], object]) -> int:
    """How many functions of Python it calls."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def test_machine_code_makes_them_and_few_functions_of_python_run(arch: str, by_machine: list[bool]) -> None:
    steps = settled()
    by_machine.clear()
    assert functions(steps.forward) < 8 * (60 if arch == "cpu" else 110)  # devices make copies
    assert by_machine == [True] * 8


def test_what_they_overwrite_is_known(by_machine: list[bool]) -> None:
    steps = settled()
    steps.fill(0)
    steps.move(0)
    steps.fill(1)
    steps.move.grad(1)  # of the grid of now
    with pytest.raises(AdstackDataAccessError, match=r"\[0\] as the launch found it"):
        steps.move.grad(0)
    steps.fill(0)
    steps.move.grad(0)  # the same launch has computed it again
    steps.x[0, 3] = 0.75
    steps.fill(0)
    with pytest.raises(AdstackDataAccessError, match=r"\[3\] as the launch found it"):
        steps.move.grad(0)
    assert by_machine
    assert all(by_machine)


def test_what_machine_code_refuses_python_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    steps, other = settled(), settled()
    with monkeypatch.context() as patched:
        patched.setattr(plans, "launched", lambda machine_code, args: plans.refuse())
        steps.forward()
        steps.fill(2)
    other.forward()
    other.fill(2)
    assert (steps.x.to_numpy() == other.x.to_numpy()).all()
    assert (steps.grid.to_numpy() == other.grid.to_numpy()).all()
    for one in (steps, other):
        one.x.grad.fill(1.0)
        one.move.grad(2)
        with pytest.raises(AdstackDataAccessError, match="as the launch found it"):
            one.move.grad(3)
    assert (steps.grid.grad.to_numpy() == other.grid.grad.to_numpy()).all()


def test_a_write_that_was_announced_and_not_made_is_not_taken_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = settled()
    steps.fill(0)
    steps.grid.buffer.write(np.full(8, 3.0))  # what the next launch finds, fill(0) has not computed

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(plans, "launched", interrupted)
        with pytest.raises(KeyboardInterrupt):
            steps.fill(0)
    steps.move(0)
    steps.fill(0)
    with pytest.raises(AdstackDataAccessError, match=r"\[0\] as the launch found it, 3"):
        steps.move.grad(0)


def test_attributes_may_change(by_machine: list[bool]) -> None:
    steps = settled()
    for rate in (2.0, 3.0, 2.0, 5.0):
        steps.rate = rate
        for _ in range(3):
            steps.x[0, 0] = 1.0
            steps.fill(0)
            assert steps.grid[0] == rate
    assert sum(by_machine) > 4


def test_numbers_are_told_apart_by_their_bits_and_types() -> None:
    steps = settled()
    for _ in range(3):
        steps.scale(1.0)
    for number in (0.0, -0.0, 2, True, np.float32(3.0), 0.0):
        steps.grid.fill(1.0)
        steps.scale(number)
        assert str(steps.grid[0]) == str(float(np.float32(number)))
    with pytest.raises(qd.AdstackError, match="argument t"):
        steps.fill(1.5)
    steps.fill(t=1)
    steps.fill(np.int32(1))


def test_objects_are_not_kept(by_machine: list[bool]) -> None:
    steps = settled()
    assert all(by_machine[-8:])
    gone = weakref.ref(steps)
    del steps
    gc.collect()
    assert gone() is None
    again = settled()
    again.forward()
    assert all(by_machine[-8:])


def test_memory_that_was_dropped_is_refused() -> None:
    tree = qd.FieldsBuilder()
    x, y = (qd.field(qd.f32, needs_grad=True) for _ in range(2))
    tree.dense(qd.i, 4).place(x, y, x.grad, y.grad)
    built = tree.finalize()

    @qd.kernel
    def there(t: qd.i32) -> None:
        for i in range(4):
            y[i] = x[i] * x[i] + t

    @qd.kernel
    def back() -> None:
        for i in range(4):
            x[i] = y[i]

    for _ in range(4):
        there(0)
        back()
    built.destroy()
    for kernel, args in ((there, (0,)), (back, ())):
        with pytest.raises(qd.AdstackError, match="destroyed"):
            kernel(*args)
