"""`Tape`: what is recorded, and that gradients are those of every launch in the memory of its own time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adstack as qd

pytestmark = pytest.mark.usefixtures("arch")


class World:
    """A field that is squared in place, and its sum."""

    def __init__(self, start: Any = (1.0, 2.0, 3.0, 0.5)) -> None:
        self.start = np.array(start)
        x = self.x = qd.field(qd.f64, shape=len(self.start), needs_grad=True, name="x")
        y = self.y = qd.field(qd.f64, shape=(), needs_grad=True, name="y")
        x.from_numpy(self.start)

        @qd.kernel
        def square():
            for i in x:
                x[i] = x[i] * x[i]

        @qd.kernel
        def total():
            for i in x:
                y[None] += x[i]

        @qd.kernel
        def scale(a: qd.f64):
            for i in x:
                x[i] = a * x[i]

        self.square, self.total, self.scale = square, total, scale


def test_the_loss_and_the_gradients_start_from_zero() -> None:
    world = World()
    world.y[None], world.x.grad[0] = 7.0, 100.0
    with qd.ad.Tape(world.y):
        world.total()
    assert world.y[None] == world.start.sum()
    assert world.y.grad[None] == 1.0
    assert world.x.grad.to_numpy().tolist() == [1.0] * 4


def test_gradients_may_be_kept() -> None:
    world = World()
    for _ in range(2):
        with qd.ad.Tape(world.y, clear_gradients=False):
            world.total()
    assert world.x.grad.to_numpy().tolist() == [2.0] * 4


def test_launches_in_place_are_differentiated_in_the_memory_of_their_time() -> None:
    world = World()
    with qd.ad.Tape(world.y) as tape:
        for _ in range(3):
            world.square()
        world.total()
    assert world.x.grad.to_numpy().tolist() == (8 * world.start**7).tolist()
    assert world.x.to_numpy().tolist() == (world.start**8).tolist()
    assert world.y[None] == (world.start**8).sum()
    assert [call[0] for call in tape.calls] == [world.square] * 3 + [world.total]


def test_what_is_kept_is_linear_in_what_changed_and_is_reported() -> None:
    world = World(np.full(1000, 1.0))
    world.x[7] = 2.0
    with qd.ad.Tape(world.y) as tape:
        world.square()
        world.square()
        world.total()
    report = tape.report()
    assert [(e.event, e.place, e.elements) for e in report.entries] == [
        ("launch 0: square", "x", 1),
        ("launch 1: square", "x", 1),
    ]
    assert report.bytes == 2 * 16
    assert "launch 1: square: 1 elements of x (16 bytes)" in str(report)


def test_nothing_is_kept_where_nothing_needed_is_overwritten() -> None:
    world = World()
    with qd.ad.Tape(world.y) as tape:
        world.scale(2.0)
        world.scale(3.0)
        world.total()
    assert tape.report().entries == ()
    assert world.x.grad.to_numpy().tolist() == [6.0] * 4


def test_launches_that_are_not_in_place_find_their_inputs_again() -> None:
    n = 5
    a, b = (qd.field(qd.f64, shape=n, needs_grad=True) for _ in range(2))
    y = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def step(src: qd.template(), dst: qd.template()):
        for i in src:
            dst[i] = src[i] * src[i] + 0.5 * src[(i + 1) % n]

    @qd.kernel
    def total():
        for i in a:
            y[None] += a[i] * a[i]

    start = np.array([0.5, 1.0, -0.5, 1.5, -1.0])  # with so few bits nothing is rounded anywhere
    a.from_numpy(start)
    with qd.ad.Tape(y):
        for _ in range(2):
            step(a, b)
            step(b, a)
        total()
    jacobian, v = np.eye(n), start
    for _ in range(4):
        one = np.diag(2 * v) + 0.5 * np.roll(np.eye(n), 1, axis=1)
        jacobian, v = one @ jacobian, v * v + 0.5 * np.roll(v, -1)
    assert a.grad.to_numpy().tolist() == (2 * v @ jacobian).tolist()


def test_a_history_in_one_field_gives_the_gradient_of_the_whole_way() -> None:
    steps, n = 4, 3
    x = qd.field(qd.f64, shape=(steps + 1, n), needs_grad=True)
    y = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def step(t: qd.i32):
        for i in range(n):
            x[t + 1, i] = x[t, i] * x[t, (i + 1) % n]

    @qd.kernel
    def total():
        for i in range(n):
            y[None] += x[steps, i]

    start = np.array([0.5, 1.5, -1.25])  # with so few bits nothing is rounded anywhere
    for i in range(n):
        x[0, i] = start[i]
    with qd.ad.Tape(y):
        for t in range(steps):
            step(t)
        total()
    states = [start]
    for _ in range(steps):
        states.append(states[-1] * np.roll(states[-1], -1))
    bar = np.ones(n)
    for v in reversed(states[:-1]):
        right = np.roll(v, -1)
        bar = bar * right + np.roll(bar * v, 1)
    assert x.grad.to_numpy()[0].tolist() == bar.tolist()


def test_writes_of_the_host_are_wound_back_and_are_inputs() -> None:
    world = World()
    with qd.ad.Tape(world.y):
        world.square()
        world.x[1] = 5.0
        world.square()
        world.x[2] = 4.0
        world.total()
    # elements 0 and 3 went all the way; 1 is 5 squared; 2 counts as it is
    assert world.x.grad.to_numpy().tolist() == [4.0, 10.0, 1.0, 4 * 0.5**3]


def test_writes_of_the_host_behind_the_last_launch_are_wound_back() -> None:
    world = World()
    with qd.ad.Tape(world.y):
        world.square()
        world.total()
        world.square()
        world.x.from_numpy(2.0 * world.start)
    assert world.x.grad.to_numpy().tolist() == (2 * world.start).tolist()
    assert world.x.to_numpy().tolist() == (2.0 * world.start).tolist()


def test_a_fill_of_the_host_cuts_gradients_even_where_it_changes_nothing() -> None:
    x, y, z = (qd.field(qd.f64, shape=2, needs_grad=True) for _ in range(3))
    loss = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def add():
        for i in x:
            z[i] += y[i] * x[i]

    @qd.kernel
    def total():
        for i in z:
            loss[None] += z[i]

    y.fill(3.0)
    with qd.ad.Tape(loss):
        add()  # z stays 0, for x is 0
        z.fill(0.0)
        add()
        total()
    assert x.grad.to_numpy().tolist() == [3.0, 3.0]


def test_numpy_arrays_that_change_are_wound_back() -> None:
    world, w = World((1.0, 2.0)), np.array([3.0, 4.0])
    x, y = world.x, world.y

    @qd.kernel
    def dot(a: qd.types.ndarray(qd.f64, ndim=1)):
        for i in x:
            y[None] += a[i] * x[i]

    with qd.ad.Tape(y):
        dot(w)
        w[:] = 10.0
        dot(w)
    assert x.grad.to_numpy().tolist() == [13.0, 14.0]
    assert w.tolist() == [10.0, 10.0]


def test_gradients_of_ndarrays_start_from_zero() -> None:
    x = qd.ndarray(qd.f64, shape=2, needs_grad=True)
    loss = qd.ndarray(qd.f64, shape=(1,), needs_grad=True)

    @qd.kernel
    def run(a: qd.types.ndarray(), out: qd.types.ndarray()):
        for i in range(2):
            out[0] += a[i] * a[i]

    x.from_numpy(np.array([2.0, 3.0]))
    x.grad.fill(100.0)
    loss.grad.fill(100.0)
    for _ in range(2):
        with qd.ad.Tape(loss):
            run(x, loss)
    assert x.grad.to_numpy().tolist() == [4.0, 6.0]
    assert loss.grad[0] == 1.0


def test_methods_are_recorded_with_their_objects() -> None:
    @qd.data_oriented
    class Model:
        def __init__(self) -> None:
            self.x = qd.field(qd.f64, shape=(), needs_grad=True)
            self.loss = qd.field(qd.f64, shape=(), needs_grad=True)

        @qd.kernel
        def run(self, a: qd.f64):
            self.loss[None] += a * self.x[None]

    model = Model()
    with qd.ad.Tape(loss=model.loss) as tape:
        model.run(2.0)
        model.run(a=3.0)
    assert model.x.grad[None] == 5.0
    assert [args for _, args in tape.calls] == [(model, 2.0), (model, 3.0)]


def test_values_are_returned_inside_a_tape() -> None:
    world = World()
    x = world.x

    @qd.kernel
    def first() -> qd.f64:
        return x[0]

    with qd.ad.Tape(world.y):
        assert first() == 1.0
        world.square()
        world.total()
    assert world.x.grad[1] == 4.0


def test_leaving_by_an_exception_differentiates_nothing() -> None:
    world = World()

    def fails() -> None:
        world.total()
        raise KeyError("x")

    with pytest.raises(KeyError), qd.ad.Tape(world.y):
        fails()
    assert world.x.grad.to_numpy().tolist() == [0.0] * 4
    with qd.ad.Tape(world.y):
        world.total()
    assert world.x.grad[0] == 1.0


def test_tapes_are_not_nested() -> None:
    world = World()
    with pytest.raises(qd.AdstackRuntimeError, match="inside another Tape"), qd.ad.Tape(world.y), qd.ad.Tape(world.y):
        world.total()


def test_kernels_without_any_gradient_may_be_recorded() -> None:
    world, n = World(), qd.field(qd.i32, shape=())

    @qd.kernel
    def count():
        n[None] += 1

    with qd.ad.Tape(world.y) as tape:
        count()
        world.total()
    assert (n[None], len(tape.calls), world.x.grad[0]) == (1, 2, 1.0)


def test_bounds_that_change_between_launches_are_wound_back() -> None:
    world, n = World(), qd.field(qd.i32, shape=())
    x, y = world.x, world.y

    @qd.kernel
    def power():
        for _ in range(1):
            p = 1.0
            for _ in range(n[None]):
                p *= x[1]
            y[None] += p
        n[None] += 1

    n[None] = 2
    with qd.ad.Tape(y):
        power()
        power()
    assert y[None] == 4.0 + 8.0
    assert x.grad[1] == 2 * 2.0 + 3 * 4.0
    assert n[None] == 4


def test_the_final_state_is_there_again_if_differentiation_fails() -> None:
    world = World()

    @qd.ad.grad_replaced
    def nothing() -> None:
        """No gradient is given for it."""

    def run() -> None:
        nothing()
        world.square()
        world.total()

    with pytest.raises(qd.AdstackRuntimeError, match="has no gradient"), qd.ad.Tape(world.y):
        run()
    assert world.x.to_numpy().tolist() == (world.start**2).tolist()


def test_launches_after_a_tape_are_plain_again() -> None:
    world = World()
    with qd.ad.Tape(world.y) as tape:
        world.total()
    world.total()
    assert len(tape.calls) == 1
    assert world.y[None] == 2 * world.start.sum()
