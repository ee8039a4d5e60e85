"""Reverse modes with adstacks that machine code records: Python lays them out anew where something has changed."""

from __future__ import annotations

from collections.abc import Iterator
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vulkan_kit import backend

import adstack as qd
from adstack.backends.vulkan.launches import Launches
from adstack.errors import AdstackOverflowError


@pytest.fixture(autouse=True)
def runtime() -> Iterator[None]:
    qd.init(arch=qd.vulkan)
    yield
    qd.reset()


ARRAY = qd.types.ndarray(dtype=qd.f32, ndim=1)


class Powers:
    """Kernels whose gradient is 2 to the number of turns, everywhere.

    Attributes:
        asked: reverse modes that Python had to launch.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.turns = qd.field(qd.i32, ())
        self.turns[None] = 3
        self.by_memory, self.by_argument = self._kernels()
        self.arrays = {
            kernel: [tuple(qd.ndarray(qd.f32, n, needs_grad=True) for _ in range(2)) for n in (5, 70, 700)]
            for kernel in (self.by_memory, self.by_argument)
        }
        for x, _ in (pair for pairs in self.arrays.values() for pair in pairs):
            x.fill(1)
        self.asked: list[Any] = []
        launch = Launches.launch

        def noted(own: Launches, executable: Any, scalars: Any, bindings: Any) -> Any:
            self.note(executable)
            return launch(own, executable, scalars, bindings)

        relaunch = Launches.relaunch

        def again(own: Launches, executable: Any, launcher: Any) -> None:
            self.note(executable)
            relaunch(own, executable, launcher)

        monkeypatch.setattr(Launches, "launch", noted)
        monkeypatch.setattr(Launches, "relaunch", again)

    def note(self, executable: Any) -> None:
        if executable.context.heaps:
            self.asked.append(executable.program.name)

    def _kernels(self) -> tuple[Any, Any]:
        turns = self.turns

        @qd.kernel
        def by_memory(x: ARRAY, y: ARRAY):
            for i in x:
                v = x[i]
                for _ in range(turns[None]):
                    v = v * v
                y[i] = v

        @qd.kernel
        def by_argument(x: ARRAY, y: ARRAY, n: qd.i32):
            for i in x:
                v = x[i]
                for _ in range(n):
                    v = v * v
                y[i] = v

        return by_memory, by_argument

    def check(self, which: int, call: Any, n: int) -> None:
        """Call a kernel and its reverse mode, and look at the gradient."""
        kernel, *more = call
        x, y = self.arrays[kernel][which]
        x.grad.fill(0)
        y.grad.fill(1)
        kernel(x, y, *more)
        kernel.grad(x, y, *more)
        assert x.grad.to_numpy().tolist() == [2.0**n] * x.shape[0]

    def settled(self) -> None:
        """Have machine code serve the kernels."""
        for _ in range(3):
            self.check(1, (self.by_memory,), 3)
            self.check(1, (self.by_argument, 3), 3)
        assert isinstance(self.by_memory.grad.__call__, BuiltinFunctionType)
        assert isinstance(self.by_argument.grad.__call__, BuiltinFunctionType)
        self.asked.clear()


def test_python_is_not_asked_while_depths_and_iterations_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    powers = Powers(monkeypatch)
    powers.settled()
    for _ in range(3):
        powers.check(1, (powers.by_argument, 3), 3)
        powers.check(1, (powers.by_memory,), 3)
    assert powers.asked == []


def test_python_lays_out_what_has_changed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    powers = Powers(monkeypatch)
    powers.settled()
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


def test_a_heap_that_another_kernel_made_grow_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    powers = Powers(monkeypatch)
    powers.settled()
    version = backend().common.heap.version.value
    powers.check(2, (powers.by_argument, 60), 60)
    assert backend().common.heap.version.value > version
    powers.asked.clear()
    powers.check(1, (powers.by_memory,), 3)
    assert len(powers.asked) == 1
    powers.check(1, (powers.by_memory,), 3)
    assert len(powers.asked) == 1


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("memory"), st.integers(0, 2), st.integers(0, 2)),
        st.tuples(st.just("argument"), st.integers(0, 2), st.integers(-1, 40)),
        st.tuples(st.just("turns"), st.just(0), st.integers(0, 40)),
        st.tuples(st.just("graph"), st.integers(0, 2), st.just(0)),
        st.tuples(st.just("sync"), st.just(0), st.just(0)),
    ),
    min_size=4,
    max_size=20,
)


def in_graph(powers: Powers, which: int) -> None:
    """Call a kernel and its reverse mode in a graph, which is repeated."""
    x, y = powers.arrays[powers.by_memory][which]
    with qd.graph() as graph:
        powers.by_memory(x, y)
        powers.by_memory.grad(x, y)
    for _ in range(2):
        x.grad.fill(0)
        y.grad.fill(1)
        graph()
        assert x.grad.to_numpy().tolist() == [2.0 ** max(0, powers.turns[None])] * x.shape[0]


def do(powers: Powers, what: str, which: int, number: int) -> None:
    """One of the steps."""
    match what:
        case "memory":
            for _ in range(number + 1):
                powers.check(which, (powers.by_memory,), powers.turns[None])
        case "argument":
            powers.check(which, (powers.by_argument, number), max(0, number))
        case "turns":
            powers.turns[None] = number
        case "graph":
            in_graph(powers, which)
        case "sync":
            qd.sync()


def test_gradients_are_right_whatever_comes_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    powers = Powers(monkeypatch)
    powers.settled()

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
