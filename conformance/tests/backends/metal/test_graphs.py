"""Graphs on a device of Apple's, which the host plays: launches queued again as they were, without waits."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from graph_kit import MANY, Loops, repeated, seeding
from graph_programs_kit import Program

import adstack as qd
from adstack.backends.metal import capability, emulator
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

    seed = seeding(x, y)

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
