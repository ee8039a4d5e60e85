"""Launches that log what they overwrite: they do what they did, once, and nothing is refused under a Tape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adstack as qd

pytestmark = pytest.mark.usefixtures("arch")


class World:
    """Fields, and trip counts that a kernel changes."""

    def __init__(self) -> None:
        self.x = qd.field(qd.f64, shape=4, needs_grad=True, name="x")
        self.y = qd.field(qd.f64, shape=(), needs_grad=True, name="y")
        self.n = qd.field(qd.i32, shape=4, name="n")
        self.x.from_numpy(np.array([1.5, -0.5, 2.0, 0.25]))
        self.n.from_numpy(np.array([2, 3, 1, 0], np.int32))


def counting_down(world: World) -> Any:
    x, y, n = world.x, world.y, world.n

    @qd.kernel
    def down():
        for i in x:
            for _ in range(n[i]):
                x[i] = x[i] * x[i]
                n[i] = n[i] - 1
            y[None] += x[i]

    return down


def test_trip_counts_may_be_overwritten() -> None:
    world = World()
    down = counting_down(world)
    with qd.ad.Tape(world.y) as tape:
        down()
    # x ** 4, x ** 8, x ** 2, x
    assert world.x.grad.to_numpy().tolist() == [4 * 1.5**3, -8 * 0.5**7, 4.0, 1.0]
    assert world.n.to_numpy().tolist() == [0] * 4
    lines = [(entry.event, entry.place.partition(" (")[0], entry.elements) for entry in tape.report().entries]
    assert lines == [("launch 0: down", "values of n", 4), ("launch 0: down", "values of x", 12)]


def test_launches_of_any_size_find_room() -> None:
    world = World()
    down = counting_down(world)
    with qd.ad.Tape(world.y):
        down()
        world.n.fill(1)
        down()
        world.n.from_numpy(np.array([0, 0, 0, 4], np.int32))
        down()
    x = np.array([1.5, -0.5, 2.0, 0.25])
    first, powers = np.array([4, 8, 2, 1]), np.array([8, 16, 4, 2])
    last = powers * np.array([1, 1, 1, 16])
    expected = first * x ** (first - 1) + powers * x ** (powers - 1) + last * x ** (last - 1)
    assert world.x.grad.to_numpy().tolist() == expected.tolist()


def test_snapshots_log_too(arch: str) -> None:
    qd.init(arch=arch, default_fp=qd.f64, ad_snapshot=True)
    world = World()
    down = counting_down(world)
    down()
    world.y.grad[None] = 1.0
    for _ in range(2):
        world.x.grad.fill(0.0)
        down.grad()
        assert world.x.grad.to_numpy().tolist() == [4 * 1.5**3, -8 * 0.5**7, 4.0, 1.0]


def test_what_is_printed_is_printed_once(capfd: Any) -> None:
    world = World()
    x, y, n = world.x, world.y, world.n

    @qd.kernel
    def down():
        for i in x:
            for _ in range(n[i]):
                x[i] = x[i] * x[i]
                n[i] = n[i] - 1
            print("iteration", i)
            y[None] += x[i]

    with qd.ad.Tape(world.y):
        down()
        n.fill(2)
        down()
    assert sorted(capfd.readouterr().out.split("\n")) == ["", *sorted([f"iteration {i}" for i in range(4)] * 2)]


def test_the_value_that_the_kernel_returns_comes_back() -> None:
    world = World()
    x, y = world.x, world.y

    @qd.kernel
    def run() -> qd.f64:
        for i in x:
            x[i] = x[i] * x[i]
        last = x[3]
        for i in x:
            x[i] = x[i] * last
            y[None] += x[i]
        return last

    with qd.ad.Tape(world.y):
        assert run() == 0.0625
    # y = (sum of squares) * x3 ** 2
    total = 1.5**2 + 0.5**2 + 2.0**2 + 0.25**2
    assert world.x.grad.to_numpy().tolist() == [
        2 * 1.5 * 0.0625,
        -2 * 0.5 * 0.0625,
        2 * 2.0 * 0.0625,
        2 * 0.25 * 0.0625 + total * 2 * 0.25,
    ]


def test_the_winner_of_a_maximum_is_found_where_it_was_reset_before() -> None:
    world = World()
    x, y = world.x, world.y
    top = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def run():
        s = 0.0
        top[None] = -10.0
        for i in x:
            qd.atomic_max(top[None], x[i])
        s = top[None]
        for i in x:
            x[i] = x[i] * s
            y[None] += x[i]

    with qd.ad.Tape(y):
        run()
    assert world.x.grad.to_numpy().tolist() == [2.0, 2.0, 2.0 + 3.25, 2.0]


def test_random_numbers_are_those_of_the_launch() -> None:
    world = World()
    x, y = world.x, world.y

    @qd.kernel
    def run():
        for i in x:
            x[i] = x[i] * qd.random()
            y[None] += x[i]

    before = x.to_numpy()
    with qd.ad.Tape(y):
        run()
    assert (x.grad.to_numpy() * before).tolist() == x.to_numpy().tolist()


def test_a_failed_launch_leaves_no_logs_behind() -> None:
    qd.init(arch=qd.reference, default_fp=qd.f64, debug=True)
    world = World()
    x, y, n = world.x, world.y, world.n

    @qd.kernel
    def down():
        for i in x:
            for _ in range(n[i]):
                x[i] = x[i] * x[i]
                n[i] = n[i] - 1
            assert x[i] < 4.0, "too large"
            y[None] += x[i]

    with pytest.raises(qd.AdstackAssertionError, match="too large"), qd.ad.Tape(world.y):
        down()
    assert x.to_numpy()[0] == 1.5**4


def test_a_while_before_a_parallel_loop_is_differentiated() -> None:
    world = World()
    x, y, n = world.x, world.y, world.n

    @qd.kernel
    def run():
        s = x[0]
        k = 0
        while k < n[0]:
            s = s * s
            k += 1
        for i in x:
            y[None] += s * x[i]

    run()
    y.grad[None] = 1.0
    run.grad()
    assert x.grad.to_numpy().tolist() == [4 * 1.5**3 * 3.25 + 1.5**4, 1.5**4, 1.5**4, 1.5**4]
