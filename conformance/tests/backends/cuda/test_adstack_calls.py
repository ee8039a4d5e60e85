"""Reverse modes with adstacks that machine code queues, with the host playing the device."""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

import pytest
from adstack_calls_kit import STEPS, Powers, do
from hypothesis import given, settings

import adstack as qd
from adstack.backends.cuda.executable import Executable
from adstack.errors import AdstackOverflowError


@pytest.fixture(autouse=True)
def runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    qd.init(arch=qd.cuda)


@pytest.fixture
def powers(monkeypatch: pytest.MonkeyPatch) -> Powers:
    """The kernels, served by machine code."""
    run = Executable.run

    def launching(note: Callable[[str], None]) -> None:
        def noted(executable: Executable, *rest: Any, **more: Any) -> None:
            note(executable.name)
            run(executable, *rest, **more)

        monkeypatch.setattr(Executable, "run", noted)

    made = Powers(launching)
    made.settled()
    return made


def test_python_is_not_asked_while_depths_and_iterations_are_the_same(powers: Powers) -> None:
    for _ in range(3):
        powers.check(1, (powers.by_argument, 3), 3)
        powers.check(1, (powers.by_memory,), 3)
    assert powers.asked == []


def test_python_lays_out_what_has_changed_once(powers: Powers) -> None:
    for n in (9, 4):
        powers.check(1, (powers.by_argument, n), n)
        powers.check(1, (powers.by_argument, n), n)
    assert len(powers.asked) == 2
    powers.check(2, (powers.by_argument, 4), 4)
    powers.check(2, (powers.by_argument, 4), 4)
    assert len(powers.asked) == 3


def test_a_heap_that_another_kernel_made_grow_is_found(powers: Powers) -> None:
    powers.check(2, (powers.by_argument, 60), 60)
    powers.asked.clear()
    for _ in range(2):
        powers.check(1, (powers.by_memory,), 3)
        assert len(powers.asked) == 1


def test_gradients_are_right_whatever_comes_in_between(powers: Powers) -> None:

    @given(STEPS)
    @settings(max_examples=25)
    def check(steps: list[tuple[str, int, int]]) -> None:
        for step in steps:
            do(powers, *step)

    check()


def test_an_overflow_is_reported_by_what_comes_next() -> None:
    qd.init(arch=qd.cuda, ad_stack_size=4)
    x, y = (qd.field(qd.f32, 8, needs_grad=True) for _ in range(2))

    @qd.kernel
    def power(n: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(n):
                v = v * v
            y[i] = v

    x.fill(1)
    for _ in range(3):
        power(4)
        power.grad(4)
    assert isinstance(power.grad.__call__, BuiltinFunctionType)
    power(6)
    with pytest.raises(AdstackOverflowError, match=r"capacity 4[\s\S]*6"):
        power.grad(6)  # the host is a device that has finished by then
    qd.sync()
    x.grad.fill(0)
    y.grad.fill(1)
    power(4)
    power.grad(4)
    assert x.grad.to_numpy().tolist() == [2.0**4] * 8


def test_where_one_thread_has_no_room_checkpoints_are_used() -> None:
    qd.init(arch=qd.cuda, ad_stack_heap_limit=4096)
    x, y = (qd.field(qd.f32, 8, needs_grad=True) for _ in range(2))

    @qd.kernel
    def slow(n: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(n):
                v = v - 0.0005 * v * v
            y[i] = v

    def gradient(n: int) -> list[float]:
        x.fill(0.5)
        x.grad.fill(0)
        y.grad.fill(1)
        slow(n)
        slow.grad(n)
        return x.grad.to_numpy().tolist()

    few = gradient(20)
    for _ in range(3):
        assert gradient(20) == few
    before = qd.stats()["checkpointed"]
    many = gradient(3000)
    assert qd.stats()["checkpointed"] > before
    assert gradient(20) == few
    assert gradient(3000) == many
