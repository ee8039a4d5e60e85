"""Graphs on Vulkan: launches recorded once, handed over again, with the results of launches made one by one."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from graph_programs_kit import Program, outcome
from vulkan_kit import backend, run

import adstack as qd

pytestmark = pytest.mark.usefixtures("on_vulkan")


def recorded() -> int:
    """How many dispatches have been recorded one by one."""
    stream = backend().stream
    stream.flush()
    return int(stream.state.recorded)


def calls(program: Program) -> None:
    """What the graph does."""
    for k in range(70):
        program.step(k)
    program.spread(program.a, 4)
    program.some(33)
    program.step(1)
    program.spread(program.a, 2)
    program.some(0)


def by_graph(program: Program) -> None:
    with qd.graph() as g:
        calls(program)
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
        calls(program)
    program.step(9)
    program.x[None] += 5
    calls(program)
    program.some(7)
    program.y[3] = 8
    calls(program)


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


def test_what_a_graph_had_goes_when_the_device_is_done_with_it():
    device = backend()
    program = Program()
    calls(program)
    qd.sync()
    gc.collect()
    device.synchronize()
    before = device.memory.used
    for _ in range(20):
        with qd.graph() as g:
            calls(program)
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
