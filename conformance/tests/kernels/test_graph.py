"""Graphs of recorded calls: what a block leaves behind, and when a launch is refused; on every kind of memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.errors import AdstackRuntimeError, AdstackStaleBoundError


@pytest.fixture(params=["reference", "cpu", "cuda", "vulkan"])
def arch(request, monkeypatch):
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    qd.init(arch=request.param, offline_cache=False)
    yield request.param
    qd.reset()


def counting():
    """A field, and a kernel that adds to all of it."""
    x = qd.field(qd.i32, shape=4)

    @qd.kernel
    def add(by: qd.i32):
        for i in x:
            x[i] += by

    return x, add


def quick_ways(*arrays: Any) -> tuple[int, ...]:
    """How many elements of each the host reads and writes the quick way; 0 where it may not."""
    return tuple(array._read[0] for array in arrays)


def test_after_the_block_the_host_has_its_quick_ways_again(arch):
    x, add = counting()
    late = qd.ndarray(qd.f32, shape=3)
    x[0] = 7
    before = quick_ways(x, late)
    with qd.graph() as g:
        assert quick_ways(x, late) == (0, 0)
        add(1)
    assert quick_ways(x, late) == before
    assert (x[0], len(g), repr(g)) == (7, 1, "<graph: add>")


def test_memory_that_a_recorded_call_needed_first_is_closed_in_the_block_too(arch):
    x, add = counting()
    with qd.graph() as g:
        add(1)
        with pytest.raises(AdstackRuntimeError, match="while a graph is recorded"):
            x[0]
    g.launch()
    assert x[0] == 1


def test_kernels_served_by_machine_code_are_recorded(arch):
    x, add = counting()
    for _ in range(3):
        add(1)
    with qd.graph() as g:
        add(10)
    assert x[0] == 3
    g.launch()
    add(1)
    assert x[0] == 14


def test_a_method_and_its_gradient_are_recorded(arch):
    @qd.data_oriented
    class Squares:
        def __init__(self):
            self.x = qd.field(qd.f32, shape=2, needs_grad=True)
            self.y = qd.field(qd.f32, shape=2, needs_grad=True)

        @qd.kernel
        def run(self):
            for i in self.x:
                self.y[i] = self.x[i] * self.x[i]

    squares = Squares()
    squares.x[1] = 3.0
    squares.y.grad.fill(1.0)
    with qd.graph() as g:
        squares.run()
        squares.run.grad()
    g.launch()
    assert (squares.y[1], squares.x.grad[1]) == (9.0, 6.0)


def test_a_block_that_failed_leaves_nothing_to_launch(arch):
    _, add = counting()
    g = qd.graph()

    def block() -> None:
        with g:
            add(1)
            raise ValueError("out")

    with pytest.raises(ValueError, match="out"):
        block()
    with pytest.raises(AdstackRuntimeError, match="nothing was recorded"):
        g.launch()
    with g:
        add(1)
    g.launch()


def test_a_block_may_be_empty(arch):
    with qd.graph() as g:
        pass
    g.launch()
    g.launch()


@pytest.mark.parametrize("tape", [False, True])
def test_a_graph_is_launched_outside_of_everything_that_records(arch, tape):
    x = qd.field(qd.f32, shape=(), needs_grad=True)
    _, add = counting()
    with qd.graph() as g:
        add(1)
    with pytest.raises(AdstackRuntimeError, match="launched inside another"), qd.ad.Tape(x) if tape else qd.graph():
        g.launch()
    with pytest.raises(AdstackRuntimeError, match="still being recorded"), g:
        g.launch()


def test_a_tape_has_no_graph_inside(arch):
    x = qd.field(qd.f32, shape=(), needs_grad=True)
    with pytest.raises(AdstackRuntimeError, match="inside another graph, a Tape"), qd.ad.Tape(x), qd.graph():
        pass


@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_graph_ends_with_its_runtime(arch, before):
    _, add = counting()
    with qd.graph() as g:
        add(1)
    for _ in range(before):
        g.launch()
    qd.init(arch=arch, offline_cache=False)
    with pytest.raises(AdstackRuntimeError, match=r"before init\(\) or reset\(\)"):
        g.launch()


@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_graph_ends_with_its_memory(arch, before):
    builder, x = qd.FieldsBuilder(), qd.field(qd.i32)
    builder.dense(qd.i, 4).place(x)
    tree = builder.finalize()

    @qd.kernel
    def fill():
        for i in x:
            x[i] = i

    with qd.graph() as g:
        fill()
    for _ in range(before):
        g.launch()
    tree.destroy()
    with pytest.raises(AdstackRuntimeError, match="was destroyed"):
        g.launch()


def test_arguments_live_as_long_as_the_graph(arch):
    @qd.kernel
    def fill(a: qd.types.ndarray(qd.i32, 1), total: qd.types.ndarray(qd.i32, 1)):
        for i in a:
            a[i] += 1
            total[0] += a[i]

    total, array = qd.ndarray(qd.i32, shape=1), qd.ndarray(qd.i32, shape=5)
    with qd.graph() as g:
        fill(array, total)
    del array
    for _ in range(3):
        g.launch()
        qd.ndarray(qd.i32, shape=5)
    assert total.to_numpy().tolist() == [5 + 10 + 15]


def powers():
    """y = x ** n, a factor at a time."""
    x, y = (qd.field(qd.f64, shape=3, needs_grad=True) for _ in range(2))
    n = qd.field(qd.i32, shape=())

    @qd.kernel
    def power():
        for i in x:
            v = 1.0
            for _ in range(n[None]):
                v = v * x[i]
            y[i] = v

    x.from_numpy(np.array([1.0, 2.0, -0.5]))
    n[None] = 3
    y.grad.fill(1.0)
    return x, y, n, power


@pytest.mark.parametrize("options", [{"ad_snapshot": True}], ids=str)
def test_where_launches_are_remembered_graphs_do_what_calls_do(arch, options):
    qd.init(arch=arch, offline_cache=False, default_fp=qd.f64, **options)
    x, y, _, power = powers()
    with qd.graph() as g:
        power()
        power.grad()
    for _ in range(3):
        x.grad.fill(0.0)
        y.grad.fill(1.0)
        g.launch()
        assert x.grad.to_numpy().tolist() == [3.0, 12.0, 0.75]
    assert not g.is_captured


@pytest.mark.parametrize("launches", [1, 3])
def test_a_bound_that_changed_since_a_graph_is_seen_by_a_plain_gradient(arch, launches):
    _, _, n, power = powers()
    with qd.graph() as g:
        power()
    for _ in range(launches):
        g.launch()
    n[None] = 2
    with pytest.raises(AdstackStaleBoundError, match="power"):
        power.grad()
    g.launch()
    power.grad()


@pytest.mark.parametrize("launches", [1, 3])
def test_a_gradient_alone_in_a_graph_is_held_against_the_last_call(arch, launches):
    x, y, n, power = powers()
    power()
    with qd.graph() as g:
        power.grad()
    for _ in range(launches):
        x.grad.fill(0.0)
        y.grad.fill(1.0)
        g.launch()
    assert x.grad.to_numpy().tolist() == [3.0, 12.0, 0.75]
    n[None] = 2
    with pytest.raises(AdstackStaleBoundError, match="power"):
        g.launch()


def test_a_bound_that_changes_between_a_call_and_its_gradient_in_a_graph_is_refused_every_time(arch):
    _, _, n, power = powers()

    @qd.kernel
    def more():
        n[None] += 1

    with qd.graph() as g:
        power()
        more()
        power.grad()
    for _ in range(3):
        with pytest.raises(AdstackStaleBoundError, match="more"):
            g.launch()
    assert not g.is_captured


@pytest.mark.parametrize("by", [1, -1])
def test_a_bound_that_may_change_between_a_call_and_its_gradient_is_looked_at_every_time(arch, by):
    _, y, n, power = powers()
    more = qd.field(qd.i32, shape=())

    @qd.kernel
    def change():
        n[None] += more[None]

    with qd.graph() as g:
        power()
        change()
        power.grad()
    for _ in range(3):
        y.grad.fill(1.0)
        g.launch()
    more[None] = by
    with pytest.raises(AdstackStaleBoundError, match="change"):
        g.launch()
    assert not g.is_captured
