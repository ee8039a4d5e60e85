"""Loop bounds that change between a launch and its `.grad()`: found by their elements, at no cost to launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from calls_kit import warm

import adstack as qd

DIRECT = ["reference", "cpu"]
"""Where launches work on the host's own memory."""


@pytest.fixture(params=[*DIRECT, "vulkan"], autouse=True)
def arch(request: Any) -> str:
    qd.init(arch=request.param, default_fp=qd.f64)
    name: str = request.param
    return name


class World:
    """y is the sum of x[i] ** n[i]."""

    def __init__(self) -> None:
        x = self.x = qd.field(qd.f64, shape=4, needs_grad=True, name="x")
        y = self.y = qd.field(qd.f64, shape=(), needs_grad=True, name="y")
        n = self.n = qd.field(qd.i32, shape=4, name="n")
        x.from_numpy(np.array([1.0, 2.0, 3.0, 0.5]))
        n.from_numpy(np.array([3, 2, 1, 0], np.int32))
        y.grad[None] = 1.0

        @qd.kernel
        def power():
            for i in x:
                a = 1.0
                for _ in range(n[i]):
                    a *= x[i]
                y[None] += a

        @qd.kernel
        def some(first: qd.i32, last: qd.i32):
            for i in range(first, last):
                a = 1.0
                for _ in range(n[i]):
                    a *= x[i]
                y[None] += a

        @qd.kernel
        def more(i: qd.i32):
            n[i] += 1

        self.power, self.some, self.more = power, some, more

    def gradient(self, run: Callable[..., Any], *args: Any) -> list[float]:
        self.x.grad.fill(0.0)
        run.grad(*args)  # type: ignore[attr-defined]
        values: list[float] = self.x.grad.to_numpy().tolist()
        return values

    def stale(self, run: Callable[..., Any], *args: Any, match: str = "") -> None:
        """The gradient is refused, and nothing came of it."""
        self.x.grad.fill(0.0)
        with pytest.raises(qd.AdstackStaleBoundError, match=match):
            run.grad(*args)  # type: ignore[attr-defined]
        assert self.x.grad.to_numpy().tolist() == [0.0] * 4


RIGHT = [3.0, 4.0, 1.0, 0.0]


@pytest.mark.parametrize(
    "change",
    [
        lambda world: world.n.fill(2),
        lambda world: world.n.from_numpy(np.array([3, 2, 2, 0], np.int32)),
        lambda world: world.n.__setitem__(2, 2),
        lambda world: warm(world.more, 2),
    ],
    ids=["fill", "from_numpy", "element", "kernel"],
)
def test_a_bound_that_changed_is_an_error(change: Callable[[World], None]) -> None:
    world = World()
    warm(world.power)
    assert world.gradient(world.power) == RIGHT
    change(world)
    world.stale(world.power, match=r"needs bound n\[\d\] as the launch found it, \d; it was changed to \d since by ")
    world.power()
    assert world.gradient(world.power) != RIGHT


def test_the_error_names_element_line_and_who_it_was() -> None:
    world = World()
    warm(world.power)
    warm(world.more, 2)
    with pytest.raises(
        qd.AdstackStaleBoundError, match=r"n\[2\] as the launch found it, 1; .* to 4 since by more"
    ) as error:
        world.power.grad()
    assert error.value.loc.line == world.power.function.__code__.co_firstlineno + 4


def test_a_kernel_that_machine_code_served_before_anybody_watched_is_seen() -> None:
    world = World()
    world.n.fill(0)
    warm(world.more, 1)
    world.n.from_numpy(np.array([3, 2, 1, 0], np.int32))
    warm(world.power)
    world.more(1)
    world.stale(world.power, match=r"n\[1\]")


def test_the_same_elements_written_again_are_no_change() -> None:
    world = World()
    warm(world.power)
    world.n.fill(9)
    world.n.from_numpy(np.array([3, 2, 1, 0], np.int32))
    assert world.gradient(world.power) == RIGHT


def test_elements_that_the_launch_does_not_read_may_change() -> None:
    world = World()
    warm(world.some, 0, 2)
    world.n[3] = 7
    world.n[2] = 7
    assert world.gradient(world.some, 0, 2) == [3.0, 4.0, 0.0, 0.0]
    world.n[1] = 7
    world.stale(world.some, 0, 2, match=r"n\[1\]")


def test_launches_with_other_arguments_are_told_apart() -> None:
    world = World()
    warm(world.some, 0, 4)
    world.n[0] = 1
    for _ in range(3):
        world.some(0, 2)
    assert world.gradient(world.some, 0, 2) == [1.0, 4.0, 0.0, 0.0]
    world.stale(world.some, 0, 4, match=r"n\[0\] as the launch found it, 3")
    world.n[0] = 3
    assert world.gradient(world.some, 0, 4) == RIGHT
    world.stale(world.some, 0, 2, match=r"n\[0\] as the launch found it, 1")


def test_bounds_in_ndarrays_are_watched(arch: str) -> None:
    world = World()
    x, y = world.x, world.y
    m = qd.ndarray(qd.i32, shape=4)
    m.from_numpy(np.array([3, 2, 1, 0], np.int32))

    @qd.kernel
    def power(n: qd.types.ndarray()):
        for i in x:
            a = 1.0
            for _ in range(n[i]):
                a *= x[i]
            y[None] += a

    @qd.kernel
    def more(n: qd.types.ndarray()):
        n[0] += 1

    other = qd.ndarray(qd.i32, shape=4)
    warm(more, other)
    warm(more, m)
    m[0] = 3
    warm(power, m)
    warm(power, other)
    assert world.gradient(power, m) == RIGHT
    more(m)
    world.stale(power, m, match=r"n\[0\] as the launch found it, 3; it was changed to 4 since by more")
    assert world.gradient(power, other) == [3.0, 0.0, 0.0, 0.0]


def test_bounds_in_numpy_arrays_are_copied() -> None:
    world = World()
    x, y = world.x, world.y

    @qd.kernel
    def power(n: qd.types.ndarray()):
        for i in x:
            a = 1.0
            for _ in range(n[i]):
                a *= x[i]
            y[None] += a

    n = np.array([3, 2, 1, 0], np.int32)
    warm(power, n)
    assert world.gradient(power, n) == RIGHT
    n[1] = 1
    world.stale(power, n, match=r"n\[1\] as the launch found it, 2; it was changed to 1 since by the host")


@pytest.mark.parametrize("arch", DIRECT, indirect=True)
@pytest.mark.usefixtures("arch")
def test_bounds_in_a_field_that_shares_its_memory_are_copied() -> None:
    world = World()
    warm(world.power)
    shared = world.n.to_numpy(copy=False)
    shared[0] = 5
    world.stale(world.power, match=r"n\[0\] as the launch found it, 3")
    warm(world.power)
    shared[0] = 3
    world.stale(world.power, match=r"n\[0\] as the launch found it, 5")
    world.power()
    assert world.gradient(world.power) == RIGHT


def test_branches_are_decided_by_memory_too() -> None:
    world = World()
    x, y, n = world.x, world.y, world.n

    @qd.kernel
    def chosen():
        for i in x:
            if n[i] > 1:
                y[None] += x[i] * x[i]

    warm(chosen)
    assert world.gradient(chosen) == [2.0, 4.0, 0.0, 0.0]
    n[1] = 0
    world.stale(chosen, match=r"n\[1\] as the launch found it, 2")


def test_a_gradient_without_a_launch_is_that_of_now() -> None:
    world = World()
    world.n.fill(1)
    world.n.from_numpy(np.array([3, 2, 1, 0], np.int32))
    assert world.gradient(world.power) == RIGHT


def test_under_a_tape_bounds_are_rolled_back() -> None:
    world = World()
    with qd.ad.Tape(world.y):
        world.power()
        world.n.fill(0)
        world.power()
    assert world.x.grad.to_numpy().tolist() == RIGHT


def test_old_contents_are_kept_only_for_launches_that_may_be_asked_for() -> None:
    world = World()
    for k in range(20):
        world.power()
        world.n.fill(k)
    assert len(world.n.buffer.watch.saved) <= 4
    for k in range(20):
        world.some(0, k % 3)
        world.n.fill(k)
    assert len(world.n.buffer.watch.saved) <= 12  # twice those of power, of some before any change, of its arguments


def test_launches_keep_their_way_through_machine_code(arch: str) -> None:
    world = World()
    warm(world.power)
    warm(world.some, 0, 4)
    direct = arch != "reference"
    assert (world.power.__call__ != world.power.serve) == direct
    assert (world.some.__call__ != world.some.serve) == direct
    world.n[0] = 1
    warm(world.power)
    warm(world.some, 0, 4)
    assert (world.power.__call__ != world.power.serve) == direct
    assert world.some.__call__ == world.some.serve


@pytest.mark.parametrize("debug", [False, True])
def test_cells_that_were_made_inactive_since_are_named_with_what_to_do(arch: str, debug: bool) -> None:
    qd.init(arch=arch, default_fp=qd.f64, debug=debug)
    x, y = qd.field(qd.f64, needs_grad=True), qd.field(qd.f64, shape=(), needs_grad=True)
    level = qd.root.pointer(qd.i, 4)
    level.place(x, x.grad)

    @qd.kernel
    def add():
        for i in range(3):
            x[i] += i + 1.0

    @qd.kernel
    def squares():
        for i in x:
            y[None] += x[i] * x[i]

    add()
    squares()
    level.deactivate_all()
    with pytest.raises(qd.AdstackStaleBoundError, match=r"needs bound active\[0\]") as caught:
        squares.grad()
    assert "call squares.grad() before the change" in str(caught.value).partition("do: ")[2]
