"""Graphs of the cuda backend, with the host playing the device: launches are repeated, and right or refused."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from graph_kit import MANY, Loops, repeated, squaring

import adstack as qd
from adstack.backends.cuda.interface.driver import Launch
from adstack.errors import AdstackStaleBoundError
from adstack.runtime import state


@pytest.fixture(autouse=True)
def _host(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    yield
    qd.reset()


def test_the_first_launch_is_kept_and_repeated_as_one():
    loops = Loops(qd.cuda)
    loops.turns.fill(4)
    g = loops.graph()
    assert repeated(g.launch) == 0
    assert g.is_captured
    assert [repeated(g.launch) for _ in range(3)] == [1, 1, 1]


def test_a_graph_finds_its_adstacks_wherever_the_heap_went():
    loops = Loops(qd.cuda)
    loops.turns.fill(4)
    g = loops.graph()
    g.launch()
    want = loops.x.grad.to_numpy().tobytes()
    _, _, deeper = squaring(qd.f64)
    deeper.grad(500)
    loops.x.grad.fill(7.0)
    assert repeated(g.launch) == 1
    assert loops.x.grad.to_numpy().tobytes() == want
    (part,) = (part for part in g._captured._graph.parts if part.uses)
    at = part.executable.module.context.own["heap"]
    assert {int(node.words[at]) for node in part.nodes if isinstance(node, Launch)} == {
        state.current().backend.heap.storage
    }


def test_memory_that_others_write_is_looked_at_every_time():
    loops = Loops(qd.cuda)
    loops.turns.fill(4)
    g = loops.graph()
    g.launch()
    shared = loops.turns.__cuda_array_interface__
    words = (ctypes.c_int32 * MANY).from_address(shared["data"][0])
    g.launch()
    words[5] = 6
    with pytest.raises(AdstackStaleBoundError, match="room for 4"):
        g.launch()


def test_tasks_of_a_kernel_are_one_graph_whatever_its_arguments():
    qd.init(arch=qd.cuda, offline_cache=False)
    x = qd.field(qd.i32, MANY)
    arrays = [qd.ndarray(qd.i32, n) for n in (5, 5, 9, 0)]

    @qd.kernel(graph=True)
    def k(n: qd.i32, a: qd.types.ndarray(qd.i32, 1)):
        for i in range(n):
            x[i] += 1
        for i in a:
            a[i] += x[i]

    calls = ((5, 0), (5, 0), (5, 0), (9, 1), (9, 2), (0, 2), (5, 2), (5, 2), (5, 3), (5, 0))
    counts = [repeated(lambda n=n, a=a: k(n, arrays[a])) for n, a in calls]
    # compiled, kept, three repeated, then with other tasks than before: without the first, with it, without the last
    assert counts == [0, 0, 1, 1, 1, 0, 0, 1, 0, 0]
    assert x.to_numpy().tolist()[:10] == [9] * 5 + [2] * 4 + [0]
    assert [array.to_numpy().tolist() for array in arrays[:2]] == [[15] * 5, [4] * 5]


def test_a_kernel_of_one_task_or_with_a_result_is_no_graph():
    qd.init(arch=qd.cuda, offline_cache=False)
    x = qd.field(qd.i32, MANY)

    @qd.kernel(graph=True)
    def one():
        for i in x:
            x[i] += 1

    @qd.kernel(graph=True)
    def result() -> qd.i32:
        for i in x:
            x[i] += 1
        return x[0]

    assert repeated(lambda: [one() for _ in range(3)]) == 0
    assert [result() for _ in range(3)] == [4, 5, 6]


def drawn(arch: Any) -> bytes:
    """Random numbers of launches in graphs and outside."""
    qd.init(arch=arch, offline_cache=False)
    x, row = qd.field(qd.f32, (5, MANY)), qd.field(qd.i32, ())

    @qd.kernel
    def draw():
        for j in range(MANY):
            x[row[None], j] = qd.random()
        row[None] += 1

    with qd.graph() as g:
        draw()
        draw()
    g.launch()
    draw()
    g.launch()
    return x.to_numpy().tobytes()


def test_launches_in_graphs_draw_the_numbers_of_their_own_place_among_all_launches():
    assert drawn(qd.cuda) == drawn(qd.cpu)
