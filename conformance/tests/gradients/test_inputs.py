"""Real elements that change between a launch and its `.grad()`: found by their elements, whoever changed them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from calls_kit import warm

import adstack as qd
from adstack.runtime.threads.guards import invalidate

pytestmark = pytest.mark.usefixtures("arch")


class World:
    """y is the sum of the squares of x, or of some of them."""

    def __init__(self) -> None:
        self.x = qd.field(qd.f64, shape=6, needs_grad=True, name="x")
        self.y = qd.field(qd.f64, shape=(), needs_grad=True, name="y")
        self.which = qd.field(qd.i32, shape=2, name="which")
        self.start = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        self.x.from_numpy(self.start)
        self.y.grad[None] = 1.0
        self.which.from_numpy(np.array([1, 4], np.int32))
        self._readers()
        self._writers()

    def _readers(self) -> None:
        x, y, which = self.x, self.y, self.which

        @qd.kernel
        def squares():
            for i in x:
                y[None] += x[i] * x[i]

        @qd.kernel
        def some(first: qd.i32, last: qd.i32):
            for i in range(first, last):
                y[None] += x[i] * x[i]

        @qd.kernel
        def gather():
            for i in which:
                y[None] += x[which[i]] * x[which[i]]

        self.squares, self.some, self.gather = squares, some, gather

    def _writers(self) -> None:
        x = self.x

        @qd.kernel
        def scale(a: qd.f64):
            for i in x:
                x[i] = a * x[i]

        @qd.kernel
        def put(i: qd.i32, a: qd.f64):
            x[i] = a

        @qd.kernel
        def maybe():
            for i in x:
                if x[i] > 100.0:
                    x[i] = 0.0

        self.scale, self.put, self.maybe = scale, put, maybe

    def gradient(self, run: Callable[..., Any], *args: Any) -> list[float]:
        self.x.grad.fill(0.0)
        run.grad(*args)  # type: ignore[attr-defined]
        values: list[float] = self.x.grad.to_numpy().tolist()
        return values

    def stale(self, run: Callable[..., Any], *args: Any, match: str) -> None:
        """The gradient is refused, and nothing came of it."""
        self.x.grad.fill(0.0)
        with pytest.raises(qd.AdstackDataAccessError, match=match):
            run.grad(*args)  # type: ignore[attr-defined]
        assert self.x.grad.to_numpy().tolist() == [0.0] * 6


RIGHT = [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]


@pytest.mark.parametrize(
    ("change", "element"),
    [
        (lambda world: world.x.fill(9.0), "x[0] as the launch found it, 1.0; it was changed to 9.0 since by the host"),
        (lambda world: world.x.from_numpy(world.start + np.eye(6)[2]), "x[2] as the launch found it, 3.0; it"),
        (lambda world: world.x.__setitem__(3, 0.0), "x[3] as the launch found it, 4.0; it was changed to 0.0"),
    ],
    ids=["fill", "from_numpy", "element"],
)
def test_what_the_host_changed_is_refused(change: Callable[[World], None], element: str) -> None:
    world = World()
    warm(world.squares)
    assert world.gradient(world.squares) == RIGHT
    change(world)
    world.stale(world.squares, match=r"squares.grad\(\) needs " + element.replace("[", r"\[").replace("]", r"\]"))
    warm(world.squares)
    assert world.gradient(world.squares) == (2 * world.x.to_numpy()).tolist()


def test_what_the_host_writes_again_is_no_change() -> None:
    world = World()
    warm(world.squares)
    world.x[1] = 7.0
    world.x.fill(3.0)
    world.x[0] = 8.0
    world.x.from_numpy(world.start)
    assert world.gradient(world.squares) == RIGHT


def test_what_the_launch_did_not_read_may_change() -> None:
    world = World()
    warm(world.gather)
    world.x[0] = world.x[5] = 9.0
    assert world.gradient(world.gather) == [0.0, 4.0, 0.0, 0.0, 10.0, 0.0]
    world.x[4] = 9.0
    world.stale(world.gather, match=r"x\[4\]")


def test_what_a_kernel_has_certainly_overwritten_is_refused() -> None:
    world = World()
    warm(world.squares)
    warm(world.scale, 2.0)
    line = world.scale.function.__code__.co_firstlineno + 3
    message = r"squares.grad\(\) needs x\[0\] as the launch found it, 1.0; it was changed to 8.0 since by scale"
    world.stale(world.squares, match=rf"{message} \({__file__}:{line}")
    world.squares()
    assert world.gradient(world.squares) == [16 * v for v in world.start]


def test_every_launch_of_another_kernel_counts_not_only_the_last() -> None:
    world = World()
    warm(world.squares)
    for k in (3, 5):
        world.put(k, 9.0)
    world.put(3, 4.0)
    world.stale(world.squares, match=r"needs x\[5\] as the launch found it, 6.0; it was changed to 9.0 since by put")
    world.put(5, 6.0)
    assert world.gradient(world.squares) == RIGHT


def test_conditional_and_atomic_writes_of_kernels_count() -> None:
    world = World()
    x = world.x

    @qd.kernel
    def some_of_them():
        for i in x:
            if x[i] > 3.5:
                x[i] += 1.0

    warm(world.squares)
    warm(some_of_them)
    world.stale(world.squares, match=r"x\[3\] as the launch found it, 4.0; it was changed to 7.0 since by some_of_them")


def test_what_a_kernel_may_have_overwritten_is_not_refused() -> None:
    world = World()
    warm(world.squares)
    warm(world.maybe)
    assert world.gradient(world.squares) == RIGHT
    warm(world.gather)
    warm(world.put, 3, 9.0)
    assert world.gradient(world.gather) == [0.0, 4.0, 0.0, 0.0, 10.0, 0.0]


def test_launches_with_arguments_that_may_be_others_are_not_refused() -> None:
    """Somebody who puts memory back by hand, step by step, is right."""
    world = World()
    kept = {}
    for t in range(3):
        kept[t] = world.x.to_numpy()
        world.some(0, t + 1)
        world.scale(2.0)
    for t in reversed(range(3)):
        world.x.from_numpy(kept[t])
        assert world.gradient(world.some, 0, t + 1) == [*(2 * kept[t][: t + 1]).tolist(), *[0.0] * (5 - t)]


def test_a_single_launch_with_arguments_is_known() -> None:
    world = World()
    world.some(0, 4)
    warm(world.put, 5, 9.0)
    assert world.gradient(world.some, 0, 4) == [*RIGHT[:4], 0.0, 0.0]
    warm(world.put, 2, 9.0)
    world.stale(world.some, 0, 4, match=r"x\[2\] as the launch found it, 3.0; it was changed to 9.0 since by put")


def test_histories_are_left_alone() -> None:
    steps, n = 5, 3
    x = qd.field(qd.f64, shape=(steps + 1, n), needs_grad=True, name="x")

    @qd.kernel
    def step(t: qd.i32):
        for i in range(n):
            x[t + 1, i] = x[t, i] * x[t, i]

    start = [0.5, 1.5, -1.0]  # with so few bits nothing is rounded anywhere
    for i in range(n):
        x[0, i] = start[i]
    for t in range(steps):
        step(t)
    for i in range(n):
        x.grad[steps, i] = 1.0
    for t in reversed(range(steps)):
        step.grad(t)
    assert x.grad.to_numpy()[0].tolist() == [32 * v**31 for v in start]


def test_launches_keep_their_way_through_machine_code_until_something_they_need_is_overwritten(arch: str) -> None:
    world = World()
    for _ in range(3):
        warm(world.squares)
        warm(world.some, 0, 4)
    for kernel in (world.squares, world.some):
        assert (kernel.__call__ != kernel.serve) == (arch == "cpu")
    world.x[0] = 9.0
    warm(world.some, 0, 4)
    warm(world.squares)
    assert world.some.__call__ == world.some.serve  # its launches have to be told apart
    assert (world.squares.__call__ != world.squares.serve) == (arch == "cpu")


def test_old_contents_are_not_kept_for_longer_than_needed() -> None:
    world = World()
    for k in range(20):
        world.squares()
        world.some(0, 3)
        world.x[k % 6] = k
        world.x[0] = k
    assert len(world.x.buffer.watch.saved) <= 8


def test_launches_that_machine_code_served_are_not_forgotten_when_python_serves_one() -> None:
    world = World()
    for first in (0, 0, 1):
        world.some(first, 4)
    invalidate()  # so that Python is asked
    world.some(2, 4)
    world.x[3] = 9.0
    world.stale(world.some, 1, 4, match=r"x\[3\] as the launch found it, 4.0")
    world.stale(world.some, 2, 4, match=r"x\[3\] as the launch found it, 4.0")
