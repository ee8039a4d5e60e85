"""Launches on ndarrays that gradients need: Python announces what they write, and machine code makes them."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.errors import AdstackDataAccessError
from adstack.runtime import plans


@pytest.fixture(autouse=True)
def arch(compiled_arch: str) -> str:
    qd.init(arch=compiled_arch)
    return compiled_arch


@qd.kernel
def step(a: qd.types.ndarray(), b: qd.types.ndarray(), s: qd.f32):
    for i in a:
        b[i] = s * a[i] * a[i]


@qd.kernel
def repeat(a: qd.types.ndarray(), n: qd.types.ndarray(), b: qd.types.ndarray()):
    for i in a:
        v = a[i]
        for _ in range(n[i]):
            v = v * a[i]
        b[i] = v


def array(*values: float) -> Any:
    one = qd.ndarray(qd.f32, len(values), needs_grad=True)
    one.from_numpy(np.array(values, np.float32))
    return one


class History:
    """x[t + 1] = x[t] ** 2 / 2, four times."""

    def __init__(self, *values: float) -> None:
        self.x = [array(*values) for _ in range(5)]

    def forward(self) -> None:
        for t in range(4):
            step(self.x[t], self.x[t + 1], 0.5)

    def gradient(self) -> list[float]:
        self.forward()
        for one in self.x:
            one.grad.fill(0.0)
        self.x[4].grad.fill(1.0)
        for t in reversed(range(4)):
            step.grad(self.x[t], self.x[t + 1], 0.5)
        slopes: list[float] = self.x[0].grad.to_numpy().tolist()
        return slopes


def by_python(work: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> object:
    with monkeypatch.context() as patched:
        patched.setattr(plans, "launched", lambda machine_code, args: plans.refuse())
        return work()


def test_machine_code_makes_launches_and_gradients(by_machine: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    history = History(1.0, 2.0)
    right = [16 * 0.5**15, 16 * 0.5**15 * 2.0**15]  # the last one is x^16 / 2^15
    for _ in range(4):
        assert history.gradient() == right
    by_machine.clear()
    assert history.gradient() == right
    assert len(by_machine) >= 7  # nothing has to be announced where nobody needs what is written
    assert all(by_machine)
    assert by_python(history.gradient, monkeypatch) == right


def test_what_launches_overwrite_is_known(by_machine: list[bool]) -> None:
    history = History(1.0, 2.0)
    for _ in range(3):
        history.gradient()
    by_machine.clear()
    step(history.x[0], history.x[1], 0.5)
    step(history.x[1], history.x[2], 0.5)
    step(history.x[0], history.x[1], 0.25)
    assert by_machine == [True] * 3
    with pytest.raises(AdstackDataAccessError, match="as the launch found it"):
        step.grad(history.x[1], history.x[2], 0.5)
    step(history.x[0], history.x[1], 0.5)  # the same launch has computed it again
    step.grad(history.x[1], history.x[2], 0.5)
    for one in history.x[1:4]:  # what machine code has written was announced: where it comes from is known
        assert one.buffer.watch is not None
        assert one.buffer.watch.history.unseen == one.buffer.written > 0


def test_arrays_of_other_shapes_and_types_are_other_arguments(by_machine: list[bool]) -> None:
    histories = [History(1.0, 2.0), History(*np.linspace(0.0, 2.0, 17).tolist()), History(2.0)]
    for _ in range(4):
        slopes = [history.gradient()[-1] for history in histories]
        assert slopes == [16 * 0.5**15 * 2.0**15] * 3
    assert all(by_machine[-24:])
    doubles = [qd.ndarray(qd.f64, 2, needs_grad=True) for _ in range(2)]
    doubles[0].fill(3.0)
    step(*doubles, 0.5)
    assert doubles[1].to_numpy().tolist() == [4.5, 4.5]
    with pytest.raises(qd.AdstackError, match="argument a"):
        step(1.0, histories[0].x[0], 0.5)


def test_numbers_are_told_apart_by_their_bits(by_machine: list[bool]) -> None:
    a, b = array(1.0), array(0.0)
    for _ in range(3):
        step(a, b, 1.0)
        step(b, a, 1.0)
    for number in (0.0, -0.0, 0.0, -0.0):
        a.fill(1.0)
        step(a, b, number)
        assert str(b[0]) == str(number)
    assert all(by_machine[-4:])
    a.fill(1.0)
    step(a, b, 0.0)
    a.fill(2.0)
    with pytest.raises(AdstackDataAccessError, match="as the launch found it"):
        step.grad(a, b, 0.0)
    step(a, b, -0.0)
    b.grad.fill(1.0)
    step.grad(a, b, -0.0)
    assert str(a.grad[0]) == "0.0"
    with pytest.raises(AdstackDataAccessError, match="as the launch found it"):
        step.grad(a, b, 0.0)


def test_another_gradient_may_come_to_belong_to_an_array(by_machine: list[bool]) -> None:
    history = History(1.0, 2.0)
    for _ in range(4):
        history.gradient()
    old, history.x[1].grad = history.x[1].grad, array(0.0, 0.0)
    history.forward()
    kept = old.to_numpy().tolist()
    history.x[2].grad.fill(1.0)
    step.grad(history.x[1], history.x[2], 0.5)
    assert history.x[1].grad.to_numpy().tolist() == history.x[1].to_numpy().tolist()
    assert old.to_numpy().tolist() == kept
    assert history.gradient() == [16 * 0.5**15, 16.0]


def test_arrays_are_not_kept(by_machine: list[bool]) -> None:
    history = History(1.0, 2.0)
    for _ in range(4):
        history.gradient()
    assert all(by_machine[-8:])
    gone = [weakref.ref(one.buffer) for one in history.x]
    del history
    gc.collect()
    assert [one() for one in gone] == [None] * 5
    again = History(1.0, 2.0)
    for _ in range(4):
        assert again.gradient()[1] == 16.0


def test_an_array_that_takes_the_place_of_another_is_another_one() -> None:
    a, kept = array(1.0, 2.0), array(0.0, 0.0)
    for number in range(12):
        b = array(0.0, 0.0)  # in the memory of the one before, and maybe at its address in Python
        step(a, b, 1.0)
        step(b, kept, 1.0)
        kept.grad.fill(1.0)
        b.grad.fill(0.0)
        step.grad(b, kept, 1.0)
        assert b.grad.to_numpy().tolist() == [2.0, 8.0], number
        b.fill(3.0)
        with pytest.raises(AdstackDataAccessError, match="as the launch found it"):
            step.grad(b, kept, 1.0)
        b.fill(0.0)


def test_one_array_passed_twice_is_refused_in_reverse(by_machine: list[bool]) -> None:
    history = History(1.0, 2.0)
    for _ in range(4):
        history.gradient()
    one = history.x[0]
    for _ in range(3):
        one.fill(2.0)
        step(one, one, 0.5)
        assert one.to_numpy().tolist() == [2.0, 2.0]
        with pytest.raises(AdstackDataAccessError, match="share memory"):
            step.grad(one, one, 0.5)
    assert any(by_machine)


def test_writes_through_a_view_of_numpy_are_noticed() -> None:
    qd.init(arch=qd.cpu)  # numpy has no view of a device's memory
    history = History(1.0, 2.0)
    for _ in range(4):
        history.gradient()
    view = history.x[1].to_numpy(copy=False)
    history.forward()
    view[1] = 5.0
    with pytest.raises(AdstackDataAccessError, match="as the launch found it"):
        step.grad(history.x[1], history.x[2], 0.5)
    history.forward()
    step.grad(history.x[1], history.x[2], 0.5)


def test_loops_as_long_as_arrays_say(by_machine: list[bool]) -> None:
    a, b, back = array(2.0, 2.0), array(0.0, 0.0), array(0.0, 0.0)
    n = qd.ndarray(qd.i32, 2)
    for trips in ([1, 2], [3, 0], [2, 5], [1, 2]) * 2:
        n.from_numpy(np.array(trips, np.int32))
        for _ in range(2):
            repeat(a, n, b)
            step(b, back, 1.0)
            a.grad.fill(0.0)
            b.grad.fill(1.0)
            repeat.grad(a, n, b)
            assert a.grad.to_numpy().tolist() == [(k + 1) * 2.0**k for k in trips]
    assert any(by_machine)
