"""Graphs on Vulkan: launches recorded once, handed over again, with the results of launches made one by one."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graph_kit import MANY, Loops
from specialisation_kit import specialisations
from vulkan_kit import backend, run

import adstack as qd
from adstack.errors import AdstackStaleBoundError

pytestmark = pytest.mark.usefixtures("on_vulkan")


def recorded() -> int:
    """How many dispatches have been recorded one by one."""
    stream = backend().stream
    stream.flush()
    return int(stream.state.recorded)


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

    def calls(self) -> None:
        """What the graph does."""
        for k in range(70):
            self.step(k)
        self.spread(self.a, 4)
        self.some(33)
        self.step(1)
        self.spread(self.a, 2)
        self.some(0)

    def seen(self) -> list[Any]:
        """All data."""
        return [self.x[None], self.y.to_numpy().tolist(), self.a.to_numpy().tolist()]


def outcome(arch: Any, launches: Callable[[Program], None]) -> list[Any]:
    """What launches leave."""
    qd.init(arch=arch)
    program = Program()
    launches(program)
    return program.seen()


def by_graph(program: Program) -> None:
    with qd.graph() as g:
        program.calls()
    g.launch()
    assert g.is_captured
    before = recorded()
    g.launch()
    g.launch()
    assert recorded() == before
    program.step(9)
    program.x[None] += 5
    g.launch()
    program.some(7)
    program.y[3] = 8
    g.launch()


def one_by_one(program: Program) -> None:
    for _ in range(3):
        program.calls()
    program.step(9)
    program.x[None] += 5
    program.calls()
    program.some(7)
    program.y[3] = 8
    program.calls()


def test_a_graph_does_what_its_calls_do_among_launches_and_accesses_of_the_host():
    assert outcome(qd.vulkan, by_graph) == outcome(qd.vulkan, one_by_one) == outcome(qd.reference, one_by_one)


def test_values_between_tasks_are_zero_again():
    y = qd.field(qd.f64, ())
    x = qd.field(qd.f64, 1000)
    x.fill(0.5)

    @qd.kernel
    def total():
        s = 0.0
        for i in x:
            s += x[i]
        y[None] += s

    with qd.graph() as g:
        total()
        total()
    for k in range(1, 5):
        g.launch()
        assert y[None] == 1000 * k
    assert g.is_captured


def test_gradients_without_adstacks_are_kept():
    x, y = qd.field(qd.f32, 50, needs_grad=True), qd.field(qd.f32, (), needs_grad=True)
    x.from_numpy(np.arange(50, dtype=np.float32))

    @qd.kernel
    def squares():
        for i in x:
            y[None] += x[i] * x[i]

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
    for _ in range(3):
        g.launch()
        assert x.grad.to_numpy().tolist() == [2.0 * k for k in range(50)]
    assert g.is_captured
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


def test_launches_are_counted():
    program = Program()
    with qd.graph() as g:
        program.step(5)
        program.step(6)
    g.launch()
    device = qd.kernels.kernel.state.active().backend
    before = device.launches
    (specialisation,) = specialisations(program.step)
    g.launch()
    assert device.launches == specialisation.plan.number == before + 2
    assert list(specialisation.plan.scalars) == [6]
    program.step(7)
    assert specialisation.plan.number == before + 3


def test_what_a_graph_had_goes_when_the_device_is_done_with_it():
    device = backend()
    program = Program()
    program.calls()
    qd.sync()
    gc.collect()
    device.synchronize()
    before = device.memory.used
    for _ in range(20):
        with qd.graph() as g:
            program.calls()
        for _ in range(3):
            g.launch()
        assert device.memory.used > before
        del g
    gc.collect()
    device.synchronize()
    assert device.memory.used == before


def test_a_lost_device_is_an_error(monkeypatch: pytest.MonkeyPatch):
    program = Program()
    with qd.graph() as g:
        program.step(5)
    g.launch()
    qd.sync()
    with monkeypatch.context() as lost:
        lost.setitem(backend().device.vk, "vkQueueSubmit", lambda *rest: -4)
        with pytest.raises(RuntimeError, match="the device was lost"):
            g.launch()
    x = program.x[None]
    g.launch()
    assert program.x[None] == 3 * x + 5


def test_any_order_of_graphs_and_launches_gives_what_the_reference_gives():
    def drawn(program: Program) -> None:
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

    assert outcome(qd.vulkan, drawn) == outcome(qd.reference, drawn)


AGAIN = """
import resource
import adstack as qd
qd.init(arch=qd.vulkan)
x, y = qd.field(qd.i32, shape=()), qd.field(qd.i32, shape=3)

@qd.kernel
def step():
    x[None] += 1

@qd.kernel
def spread():
    for i in y:
        y[i] += 1

with qd.graph() as g:
    step()
    spread()

def turn(count):
    for _ in range(count):
        g.launch()
    qd.sync()

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

turn(300)
before = peak()
turn(10000)
assert x[None] == y[2] == 10300
print(peak() - before)
"""


@pytest.mark.parametrize("validation", ["0", pytest.param("1", marks=pytest.mark.validation_layer)])
def test_launching_again_and_again_leaves_nothing_behind(validation: str):
    code = AGAIN if validation == "0" else AGAIN.replace("10000", "100").replace("10300", "400")
    done = run(code, ADSTACK_VULKAN_VALIDATION=validation)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert int(done.stdout) < 2000 or validation == "1"


# ---- adstacks: see `backends/test_graphs.py`, too


def looped(**options: Any) -> Loops:
    """Loops whose gradients keep values, on Vulkan."""
    return Loops(qd.vulkan, **options)


def plainly(turns: Any, **options: Any) -> bytes:
    """Their gradient, without a graph."""
    return Loops(qd.reference, **options).gradient(turns)


@pytest.mark.parametrize("gated", [False, True])
def test_whatever_bounds_become_a_launch_is_right_or_refused(gated: bool):
    """Bounds of the host's making, thread by thread, growing and shrinking; other adstacks in between."""
    draw = np.random.default_rng(gated)
    loops = looped(gated=gated)
    z, w = (qd.field(qd.f64, 60, needs_grad=True) for _ in range(2))

    @qd.kernel
    def deeper(n: qd.i32):
        for i in z:
            s = z[i]
            for _ in range(n):
                s = s * s
            w[i] = s

    g, ended = loops.graph(), {"right": 0, "refused": 0}
    for _ in range(40):
        most = int(draw.integers(1, 12))
        turns = (draw.integers(0, most, MANY) * (draw.random(MANY) < draw.random())).astype(np.int32)
        loops.turns.from_numpy(turns)
        if draw.random() < 0.2:
            deeper.grad(int(draw.integers(1, 300)))
        try:
            g.launch()
            gradient = loops.x.grad.to_numpy().tobytes()
        except AdstackStaleBoundError:
            ended["refused"] += 1
            if draw.random() < 0.5:
                g.renew()
            continue
        ended["right"] += 1
        assert gradient == loops.gradient(turns)
    assert min(ended.values()) > 2
