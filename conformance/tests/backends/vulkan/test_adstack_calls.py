"""Reverse modes with adstacks that machine code records: Python lays them out anew where something has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import pytest
from adstack_calls_kit import ARRAY, STEPS, Powers, do
from hypothesis import given, settings
from vulkan_kit import backend

import adstack as qd
from adstack.backends.vulkan.launches import Launches
from adstack.errors import AdstackOverflowError


@pytest.fixture
def powers(monkeypatch: pytest.MonkeyPatch) -> Powers:
    """The kernels, served by machine code."""

    def launching(note: Callable[[str], None]) -> None:
        for name in ("launch", "relaunch"):
            monkeypatch.setattr(Launches, name, _noted(getattr(Launches, name), note))

    made = Powers(launching)
    made.settled()
    return made


def _noted(launch: Callable[..., Any], note: Callable[[str], None]) -> Callable[..., Any]:
    def noted(own: Launches, executable: Any, *rest: Any) -> Any:
        note(executable.program.name)
        return launch(own, executable, *rest)

    return noted


@pytest.fixture(autouse=True)
def runtime() -> Iterator[None]:
    qd.init(arch=qd.vulkan)
    yield
    qd.reset()


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


def test_more_iterations_get_rows_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    @qd.kernel
    def power(x: ARRAY, y: ARRAY):
        for i in x:
            v = x[i]
            for _ in range(40):
                v = v * v * 0.5
            y[i] = v * x[i]

    def gradient(pair: tuple[Any, Any]) -> list[float]:
        x, y = pair
        x.grad.fill(0)
        y.grad.fill(1)
        power(x, y)
        power.grad(x, y)
        return x.grad.to_numpy().tolist()

    pairs = [tuple(qd.ndarray(qd.f32, n, needs_grad=True) for _ in range(2)) for n in (70, 200, 3, 200)]
    for x, _ in pairs:
        x.from_numpy(np.linspace(1.9, 2.1, x.shape[0], dtype=np.float32))
    wanted = [gradient(pair) for pair in pairs]
    lanes: list[int] = []
    relaunch = Launches.relaunch

    def noted(own: Launches, executable: Any, launcher: Any) -> None:
        relaunch(own, executable, launcher)
        lanes.extend(use.blocks for use in executable.layouts.uses.values())

    monkeypatch.setattr(Launches, "relaunch", noted)
    for _ in range(2):
        lanes.clear()
        assert [gradient(pair) for pair in pairs] == wanted
    assert lanes == [70, 200, 3, 200]


def test_a_heap_that_another_kernel_made_grow_is_found(powers: Powers) -> None:
    version = backend().common.heap.version.value
    powers.check(2, (powers.by_argument, 60), 60)
    assert backend().common.heap.version.value > version
    powers.asked.clear()
    powers.check(1, (powers.by_memory,), 3)
    assert len(powers.asked) == 1
    powers.check(1, (powers.by_memory,), 3)
    assert len(powers.asked) == 1


def test_gradients_are_right_whatever_comes_in_between(powers: Powers) -> None:

    @given(STEPS)
    @settings(max_examples=25)
    def check(steps: list[tuple[str, int, int]]) -> None:
        for step in steps:
            do(powers, *step)

    check()


def test_an_overflow_is_reported_when_somebody_waits() -> None:
    qd.init(arch=qd.vulkan, ad_stack_size=4)
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
    power.grad(6)
    with pytest.raises(AdstackOverflowError, match=r"capacity 4[\s\S]*6"):
        qd.sync()
    qd.sync()
    x.grad.fill(0)
    y.grad.fill(1)
    power(4)
    power.grad(4)
    assert x.grad.to_numpy().tolist() == [2.0**4] * 8


def test_where_one_thread_has_no_room_checkpoints_are_used() -> None:
    qd.init(arch=qd.vulkan, ad_stack_heap_limit=4096)
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
