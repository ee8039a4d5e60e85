"""Graphs on a device of Apple's, which the host plays: launches queued again as they were, without waits."""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graph_kit import MANY, Loops, repeated
from specialisation_kit import specialisations

import adstack as qd
from adstack.backends.metal import capability, emulator
from adstack.errors import AdstackStaleBoundError
from adstack.runtime import state


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    """How often somebody waits for the device."""
    monkeypatch.setenv(capability.CHOICE, capability.HOST)
    noted, wait = [], emulator.Emulator.wait

    def counted(device, behind):
        noted.append(behind)
        wait(device, behind)

    monkeypatch.setattr(emulator.Emulator, "wait", counted)
    qd.init(arch=qd.metal, offline_cache=False)
    return noted


class Program:
    """Kernels of every kind that is kept, on data of their own."""

    def __init__(self) -> None:
        x, y = qd.field(qd.i64, ()), qd.field(qd.i64, 100)
        self.x, self.y, self.a = x, y, qd.ndarray(qd.i64, 70)

        @qd.kernel
        def step(by: qd.i64):
            x[None] = x[None] * 3 + by

        @qd.kernel
        def spread(a: qd.types.ndarray(dtype=qd.i64, ndim=1), by: qd.i64):
            x[None] += by
            last = x[None]
            for i in a:
                a[i] = a[i] * 5 + last + i
            for i in y:
                y[i] += a[i % 70] - last

        @qd.kernel
        def some(n: qd.i32):
            for i in range(n):
                y[i] -= i * x[None]

        self.step, self.spread, self.some = step, spread, some

    def seen(self) -> list[Any]:
        """All data."""
        return [self.x[None], self.y.to_numpy().tolist(), self.a.to_numpy().tolist()]


def outcome(arch: Any, launches: Callable[[Program], None]) -> list[Any]:
    """What launches leave."""
    qd.init(arch=arch, offline_cache=False)
    program = Program()
    launches(program)
    return program.seen()


def drawn(program: Program) -> None:
    """Graphs, launches and accesses of the host in any order."""
    draw = random.Random(3)
    graphs = []
    for _ in range(3):
        with qd.graph() as g:
            for _ in range(draw.randint(1, 12)):
                choice = draw.randrange(3)
                if choice == 0:
                    program.step(draw.randrange(9))
                elif choice == 1:
                    program.spread(program.a, draw.randrange(9))
                else:
                    program.some(draw.randrange(100))
        graphs.append(g)
    for _ in range(60):
        action = draw.randrange(6)
        if action < 3:
            graphs[action].launch()
        elif action == 3:
            program.step(2)
        elif action == 4:
            program.y[draw.randrange(100)] = draw.randrange(50)
        else:
            assert isinstance(program.x[None], int)


def test_any_order_of_graphs_and_launches_gives_what_the_reference_gives():
    assert outcome(qd.metal, drawn) == outcome(qd.reference, drawn)


def test_nobody_waits_for_a_graph(waits):
    x, y = qd.field(qd.f32, 50, needs_grad=True), qd.field(qd.f32, (), needs_grad=True)
    x.from_numpy(np.arange(50, dtype=np.float32))

    @qd.kernel
    def squares():
        total = 0.0
        for i in x:
            total += x[i] * x[i]
        y[None] += total

    @qd.kernel
    def seed():
        y[None] = 0
        y.grad[None] = 1
        for i in x:
            x.grad[i] = 0

    with qd.graph() as g:
        seed()
        squares()
        squares.grad()
        squares()
    g.launch()
    assert g.is_captured
    waits.clear()
    assert repeated(lambda: [g.launch() for _ in range(10)]) == 10
    assert waits == []
    assert x.grad.to_numpy().tolist() == [2.0 * k for k in range(50)]
    assert y[None] == 2 * sum(k * k for k in range(50))
    x[1] = 10.0
    g.launch()
    assert x.grad[1] == 20.0


def test_launches_are_counted():
    program = Program()
    with qd.graph() as g:
        program.step(5)
        program.step(6)
    g.launch()
    device = state.current().backend
    before = device.launches
    (specialisation,) = specialisations(program.step)
    g.launch()
    assert device.launches == specialisation.plan.number == before + 2
    assert list(specialisation.plan.scalars) == [6]
    program.step(7)
    assert specialisation.plan.number == before + 3


def test_random_numbers_are_drawn_call_by_call():
    r = qd.field(qd.u32, ())

    @qd.kernel
    def draw():
        r[None] = qd.random(qd.u32)

    with qd.graph() as g:
        draw()
    assert len({(g.launch(), r[None]) for _ in range(4)}) == 4
    assert not g.is_captured


def test_what_a_graph_works_on_stays_while_it_is_under_way():
    program = Program()
    with qd.graph() as g:
        program.spread(program.a, 4)
    g.launch()
    program.spread(qd.ndarray(qd.i64, 70), 1)  # else the kernel would remember the other one
    qd.sync()
    g.launch()
    memory = weakref.ref(program.a.buffer.storage.buffer)
    del g, program.a
    gc.collect()
    assert memory() is not None
    qd.sync()
    gc.collect()
    assert memory() is None


def test_what_went_wrong_in_a_graph_is_raised_where_somebody_waits():
    x, n = qd.field(qd.i32, shape=4, name="x"), qd.field(qd.i32, ())

    @qd.kernel
    def k():
        x[n[None]] = 1

    with qd.graph() as g:
        k()
    for _ in range(2):
        g.launch()
    n[None] = 9
    g.launch()
    with pytest.raises(qd.AdstackOutOfBoundsError, match=r"field x at \(9\)"):
        qd.sync()
    assert x.to_numpy().tolist() == [1, 0, 0, 0]


def test_adstacks_are_where_the_heap_is_now():
    loops = Loops(qd.metal)
    loops.turns.fill(5)
    g = loops.graph()
    g.launch()
    gradient = loops.x.grad.to_numpy().tobytes()
    heap = state.current().backend.heap
    old = heap.storage
    assert heap.room(old.bytes.size, 4) == 4
    old.bytes[:] = 77
    g.launch()
    assert loops.x.grad.to_numpy().tobytes() == gradient
    assert set(np.unique(old.bytes)) == {77}


def summands(arch: Any) -> tuple[Any, Any, Any]:
    """A bound with a summand in memory, and one that is an argument: it, a gradient, and a function of the argument."""
    qd.init(arch=arch, offline_cache=False)
    x, y = (qd.field(qd.f32, MANY, needs_grad=True) for _ in range(2))
    more = qd.field(qd.i32, ())
    x.fill(0.75)

    @qd.kernel
    def run(n: qd.i32):
        for i in x:
            s = x[i]
            for _ in range(n + more[None]):
                s = 0.5 * s * s + 0.25 * s
            y[i] = s

    @qd.kernel
    def seed():
        for i in x:
            x.grad[i], y.grad[i] = 0.0, 1.0

    def gradient(n: int) -> None:
        run(n)
        seed()
        run.grad(n)

    return more, x.grad, gradient


def test_depths_that_were_computed_for_a_graph_are_not_taken_for_those_of_a_launch():
    more, grad, gradient = summands(qd.metal)
    more[None] = 2
    with qd.graph() as g:
        gradient(3)
    g.launch()
    more[None] = 1
    gradient(12)
    plain = grad.to_numpy().tobytes()
    g.launch()
    short = grad.to_numpy().tobytes()
    gradient(12)
    assert grad.to_numpy().tobytes() == plain
    more, grad, gradient = summands(qd.reference)
    more[None] = 1
    for n, found in ((3, short), (12, plain)):
        gradient(n)
        assert grad.to_numpy().tobytes() == found


@pytest.mark.parametrize("gated", [False, True])
def test_whatever_bounds_become_a_launch_is_right_or_refused(gated):
    """Bounds of the host's making, growing and shrinking; other adstacks in between, so that the heap moves."""
    draw = np.random.default_rng(gated)
    loops = Loops(qd.metal, gated=gated)
    z, w = (qd.field(qd.f32, 60, needs_grad=True) for _ in range(2))

    @qd.kernel
    def deeper(n: qd.i32):
        for i in z:
            s = z[i]
            for _ in range(n):
                s = s * s
            w[i] = s

    g, ended = loops.graph(), {"right": 0, "refused": 0}
    made = []
    for _ in range(25):
        turns = (draw.integers(0, draw.integers(1, 12), MANY) * (draw.random(MANY) < draw.random())).astype(np.int32)
        loops.turns.from_numpy(turns)
        if draw.random() < 0.2:
            deeper.grad(int(draw.integers(1, 300)))
        try:
            g.launch()
            made.append((turns, loops.x.grad.to_numpy().tobytes()))
            ended["right"] += 1
        except AdstackStaleBoundError:
            ended["refused"] += 1
            if draw.random() < 0.5:
                g.renew()
    assert min(ended.values()) > 3
    wanted = Loops(qd.reference, gated=gated)
    for turns, gradient in made:
        assert gradient == wanted.gradient(turns)
