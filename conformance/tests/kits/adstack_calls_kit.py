"""What tests of calls with adstacks share.

Kernels whose gradients tell how deep adstacks were, steps of programs, and the tests that are the same on all backends
whose calls machine code serves.
"""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any, ClassVar

import pytest
from graph_kit import slowly_falling, squaring
from hypothesis import given, settings
from hypothesis import strategies as st

import adstack as qd
from adstack.errors import AdstackOverflowError

ARRAY = qd.types.ndarray(dtype=qd.f32, ndim=1)


class Powers:
    """Kernels whose gradient is 2 to the number of turns, everywhere.

    Args:
        launching: has a function called with the name of each program that Python launches.

    Attributes:
        asked: reverse modes that Python had to launch.
    """

    def __init__(self, launching: Callable[[Callable[[str], None]], None]) -> None:
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
        launching(self.note)

    def note(self, name: str) -> None:
        """Python launches a program."""
        if name.endswith(".grad"):
            self.asked.append(name)

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


class AdstackCalls:
    """The tests that a backend inherits.

    There must be a fixture `powers`, the kernels served by machine code, and the language must have been initialised.

    Attributes:
        arch: of the backend.
        at_once: whether a launch that overflows raises; if not, the next one that waits does.
    """

    arch: ClassVar[str]
    at_once: ClassVar[bool]

    def test_python_is_not_asked_while_depths_and_iterations_are_the_same(self, powers: Powers) -> None:
        for _ in range(3):
            powers.check(1, (powers.by_argument, 3), 3)
            powers.check(1, (powers.by_memory,), 3)
        assert powers.asked == []

    def test_python_lays_out_what_has_changed_once(self, powers: Powers) -> None:
        for n in (9, 4):
            powers.check(1, (powers.by_argument, n), n)
            powers.check(1, (powers.by_argument, n), n)
        assert len(powers.asked) == 2
        powers.check(2, (powers.by_argument, 4), 4)
        powers.check(2, (powers.by_argument, 4), 4)
        assert len(powers.asked) == 3

    def test_a_heap_that_another_kernel_made_grow_is_found(self, powers: Powers) -> None:
        powers.check(2, (powers.by_argument, 60), 60)
        powers.asked.clear()
        for _ in range(2):
            powers.check(1, (powers.by_memory,), 3)
            assert len(powers.asked) == 1

    def test_gradients_are_right_whatever_comes_in_between(self, powers: Powers) -> None:

        @given(STEPS)
        @settings(max_examples=25)
        def check(steps: list[tuple[str, int, int]]) -> None:
            for step in steps:
                do(powers, *step)

        check()

    def test_an_overflow_is_reported(self) -> None:
        qd.init(arch=self.arch, ad_stack_size=4)
        x, y, power = squaring(qd.f32, 8)
        x.fill(1)
        for _ in range(3):
            power(4)
            power.grad(4)
        assert isinstance(power.grad.__call__, BuiltinFunctionType)
        power(6)
        if not self.at_once:
            power.grad(6)
        with pytest.raises(AdstackOverflowError, match=r"capacity 4[\s\S]*6"):
            power.grad(6) if self.at_once else qd.sync()
        qd.sync()
        x.grad.fill(0)
        y.grad.fill(1)
        power(4)
        power.grad(4)
        assert x.grad.to_numpy().tolist() == [2.0**4] * 8

    def test_where_one_thread_has_no_room_checkpoints_are_used(self) -> None:
        qd.init(arch=self.arch, ad_stack_heap_limit=4096)
        x, y, slow = slowly_falling(qd.f32, 8)

        def gradient(n: int) -> list[float]:
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

    def test_depths_are_those_of_the_numbers_that_the_last_launch_had_whoever_made_it(self) -> None:
        qd.init(arch=self.arch, ad_stack_heap_limit=4096)
        x, y, slow = slowly_falling(qd.f32, 8)
        gradients = []
        for n in (3000, 20, 3000, 20):
            x.grad.fill(0)
            y.grad.fill(1)
            slow.grad(n)
            gradients.append(x.grad.to_numpy().tolist())
        assert gradients[:2] == gradients[2:]
