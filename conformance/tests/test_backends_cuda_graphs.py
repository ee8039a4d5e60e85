"""Graphs of the cuda backend, with the host playing the device: launches are repeated, and right or refused."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.backends.cuda.graph_calls import Launch
from adstack.errors import AdstackMemoryError, AdstackStaleBoundError
from adstack.runtime import state

MANY = 40


@pytest.fixture(autouse=True)
def _host(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    yield
    qd.reset()


def repeated(call: Any) -> int:
    """How many graphs the device repeated in a call."""
    before = qd.stats()["graph_launches"]
    call()
    return qd.stats()["graph_launches"] - before


def helpers(x: Any, y: Any, turns: Any, wanted: Any) -> tuple[Any, Any]:
    """Kernels that set the gradients for a reverse pass, and the bounds."""

    @qd.kernel
    def seed():
        for i in x:
            x.grad[i], y.grad[i] = 0.0, 1.0

    @qd.kernel
    def bound():
        for i in turns:
            turns[i] = wanted[None]

    return seed, bound


class Loops:
    """Gradients of loops whose trip counts are in memory; with `gated` only iterations that run keep anything."""

    def __init__(self, arch: Any = qd.cuda, *, gated: bool = False, **options: Any) -> None:
        qd.init(arch=arch, offline_cache=False, **options)
        self.x, self.y = (qd.field(qd.f32, MANY, needs_grad=True) for _ in range(2))
        self.turns, self.wanted = qd.field(qd.i32, MANY), qd.field(qd.i32, ())
        x, y, turns = self.x, self.y, self.turns

        @qd.kernel
        def run():
            for i in x:
                s = x[i]
                for _ in range(turns[i]):
                    s = 0.5 * s * s + 0.25 * s
                y[i] = s

        @qd.kernel
        def run_some():
            for i in x:
                s = x[i]
                if turns[i] > 0:
                    for _ in range(turns[i]):
                        s = 0.5 * s * s + 0.25 * s
                y[i] = s

        self.run = run_some if gated else run
        self.seed, self.bound = helpers(x, y, turns, self.wanted)
        x.from_numpy(np.linspace(0.1, 0.9, MANY, dtype=np.float32))

    def graph(self, *, bounding: bool = False) -> Any:
        with qd.graph() as g:
            if bounding:
                self.bound()
            self.run()
            self.seed()
            self.run.grad()
        return g

    def gradient(self, turns: Any) -> bytes:
        """Without a graph."""
        self.turns.from_numpy(np.broadcast_to(np.array(turns, np.int32), MANY))
        self.run()
        self.seed()
        self.run.grad()
        return self.x.grad.to_numpy().tobytes()


def test_the_first_launch_is_kept_and_repeated_as_one():
    loops = Loops()
    loops.turns.fill(4)
    g = loops.graph()
    assert repeated(g.launch) == 0
    assert g.is_captured
    assert [repeated(g.launch) for _ in range(3)] == [1, 1, 1]


@pytest.mark.parametrize("turns", [0, 1, 3, range(MANY)], ids=str)
def test_bounds_that_shrink_need_nothing(turns):
    loops = Loops()
    loops.turns.fill(MANY)
    g = loops.graph()
    g.launch()
    loops.turns.from_numpy(np.broadcast_to(np.array(turns, np.int32), MANY))
    assert repeated(g.launch) == 1
    assert loops.x.grad.to_numpy().tobytes() == Loops(qd.cpu).gradient(turns)


@pytest.mark.parametrize("where", [0, MANY - 1])
def test_a_bound_that_grew_is_refused_before_anything_runs(where):
    loops = Loops()
    loops.turns.fill(4)
    g = loops.graph()
    for _ in range(2):
        g.launch()
    before = loops.x.grad.to_numpy()
    loops.turns[where] = 5
    loops.y.fill(-1.0)
    for _ in range(2):
        with pytest.raises(AdstackStaleBoundError) as found:
            g.launch()
    assert "run.grad, in a graph: a loop bound has grown" in str(found.value)
    assert "5 values of s have to be kept, and there was room for 4" in str(found.value)
    assert "for _ in range(turns[i]):" in str(found.value)
    assert "renew()" in str(found.value)
    assert loops.y.to_numpy().tolist() == [-1.0] * MANY
    assert loops.x.grad.to_numpy().tobytes() == before.tobytes()
    g.renew()
    g.launch()
    assert g.is_captured
    turns = [5 if i == where else 4 for i in range(MANY)]
    assert loops.x.grad.to_numpy().tobytes() == Loops(qd.cpu).gradient(turns)


@pytest.mark.parametrize("looks", ["read", "sync", "launch", "graph"])
def test_a_bound_that_the_graph_itself_made_grow_is_never_taken_for_a_result(looks):
    loops = Loops()
    loops.wanted[None] = 4
    g = loops.graph(bounding=True)
    for _ in range(2):
        g.launch()
    loops.wanted[None] = 3
    g.launch()
    assert loops.x.grad.to_numpy().any()
    loops.wanted[None] = 6
    look = {"read": loops.x.grad.to_numpy, "sync": qd.sync, "launch": loops.run.grad, "graph": g.launch}[looks]

    def go() -> None:
        g.launch()
        look()

    with pytest.raises(AdstackStaleBoundError, match=r"run\.grad, in a graph: .* 6 values .* room for 4"):
        go()
    g.renew()
    g.launch()
    assert loops.x.grad.to_numpy().tobytes() == Loops(qd.cpu).gradient(6)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_bounds_become_a_launch_is_right_or_refused(seed):
    """Bounds of the host's and the graph's making, thread by thread, growing and shrinking between launches."""
    draw = np.random.default_rng(seed)
    loops = Loops(gated=seed % 2 == 1)
    turns, source, shift = loops.turns, qd.field(qd.i32, MANY), loops.wanted

    @qd.kernel
    def set_some():
        for i in turns:
            if i < shift[None]:
                turns[i] = source[i]

    with qd.graph() as g:
        if seed >= 2:
            set_some()
        loops.run()
        loops.seed()
        loops.run.grad()
    ended = {"right": 0, "refused": 0}
    for _ in range(30):
        most = int(draw.integers(1, 12))
        first, second = draw.integers(0, most, (2, MANY), np.int32) * (draw.random((2, MANY)) < draw.random())
        cut = int(draw.integers(0, MANY)) if seed >= 2 else 0
        turns.from_numpy(first.astype(np.int32))
        source.from_numpy(second.astype(np.int32))
        shift[None] = cut
        try:
            g.launch()
            found = loops.x.grad.to_numpy().tobytes()
        except AdstackStaleBoundError:
            ended["refused"] += 1
            if draw.random() < 0.5:
                g.renew()
            continue
        ended["right"] += 1
        assert found == loops.gradient(np.where(np.arange(MANY) < cut, second, first))
    assert min(ended.values()) > 2


def more_push(loops: Loops, by: str) -> np.ndarray:
    """Let more iterations push than did when a graph was made, by the host or by the graph itself; what they are then.

    The graph is refused, and right when it was made anew.
    """
    few = np.zeros(MANY, np.int32)
    few[:3] = 4
    source, turns = qd.field(qd.i32, MANY), loops.turns

    @qd.kernel
    def copy():
        for i in turns:
            turns[i] = source[i]

    source.from_numpy(few)
    turns.from_numpy(few)
    with qd.graph() as g:
        if by == "graph":
            copy()
        loops.run()
        loops.seed()
        loops.run.grad()
    for _ in range(2):
        g.launch()
    few[7:20] = 4
    source.from_numpy(few)
    if by == "host":
        turns.from_numpy(few)

    def go() -> None:
        g.launch()
        qd.sync()

    with pytest.raises(AdstackStaleBoundError, match="in a graph"):
        go()
    g.renew()
    g.launch()
    return few


@pytest.mark.parametrize("by", ["host", "graph"])
def test_more_iterations_that_push_than_there_were_are_refused(by):
    loops = Loops(gated=True)
    many = more_push(loops, by)
    assert loops.x.grad.to_numpy().tobytes() == Loops(qd.cpu, gated=True).gradient(many)


def test_a_graph_finds_its_adstacks_wherever_the_heap_went():
    loops = Loops()
    loops.turns.fill(4)
    g = loops.graph()
    g.launch()
    want = loops.x.grad.to_numpy().tobytes()
    z, w = (qd.field(qd.f64, MANY, needs_grad=True) for _ in range(2))

    @qd.kernel
    def deeper(n: qd.i32):
        for i in z:
            s = z[i]
            for _ in range(n):
                s = s * s
            w[i] = s

    deeper.grad(500)
    loops.x.grad.fill(7.0)
    assert repeated(g.launch) == 1
    assert loops.x.grad.to_numpy().tobytes() == want
    (part,) = (part for part in g._captured._graph.parts if part.uses)
    at = part.executable.module.context.own["heap"]
    assert {int(node.words[at]) for node in part.nodes if isinstance(node, Launch)} == {
        state.current().backend.heap.storage
    }


def test_plain_gradients_between_launches_of_a_graph_compute_depths_of_their_own():
    loops = Loops()
    loops.turns.fill(9)
    g = loops.graph()
    g.launch()
    want = Loops(qd.cpu).gradient(3), Loops(qd.cpu).gradient(12)
    loops = Loops()
    loops.turns.fill(9)
    g = loops.graph()
    g.launch()
    loops.turns.fill(3)
    g.launch()
    assert loops.x.grad.to_numpy().tobytes() == want[0]
    assert loops.gradient(12) == want[1]
    with pytest.raises(AdstackStaleBoundError):
        g.launch()
    assert loops.gradient(12) == want[1]
    loops.turns.fill(3)
    g.launch()
    assert loops.x.grad.to_numpy().tobytes() == want[0]


def test_what_needs_checkpoints_is_launched_call_by_call():
    loops = Loops(ad_stack_heap_limit=64)
    loops.turns.fill(33)
    g = loops.graph()
    want = loops.gradient(33)
    for _ in range(2):
        loops.x.grad.fill(0.0)
        g.launch()
        assert loops.x.grad.to_numpy().tobytes() == want
    assert not g.is_captured


def test_where_there_is_no_memory_for_its_adstacks_any_more_a_graph_is_launched_call_by_call(monkeypatch):
    loops = Loops()
    loops.turns.fill(9)
    g = loops.graph()
    g.launch()
    want = loops.x.grad.to_numpy().tobytes()
    backend = state.current().backend
    backend.heap.drop()
    device = backend.driver.device
    used = device.memory - backend.driver.available()
    monkeypatch.setattr(backend.driver, "device", type(device)(**{**vars(device), "memory": used + 500}))
    loops.x.grad.fill(0.0)
    try:
        assert repeated(g.launch) == 0
    except AdstackMemoryError:
        return
    assert loops.x.grad.to_numpy().tobytes() == want


def test_memory_that_others_write_is_looked_at_every_time():
    loops = Loops()
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
    found = [repeated(lambda n=n, a=a: k(n, arrays[a])) for n, a in calls]
    # compiled, kept, three repeated, then with other tasks than before: without the first, with it, without the last
    assert found == [0, 0, 1, 1, 1, 0, 0, 1, 0, 0]
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
