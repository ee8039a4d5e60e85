"""Graphs on every device that repeats them as one: they do what calls do; with adstacks they are right, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph_kit import MANY, Loops, repeated, squaring
from graph_programs_kit import Program, drawn, outcome
from specialisation_kit import specialisations

import adstack as qd
from adstack.errors import AdstackMemoryError, AdstackStaleBoundError
from adstack.runtime import state


@pytest.fixture(
    params=["cuda", "vulkan", *(pytest.param(arch, marks=pytest.mark.clang) for arch in ("metal", "amdgpu"))]
)
def arch(request, monkeypatch: pytest.MonkeyPatch):
    for name, device in (("CUDA", "host"), ("METAL", "host"), ("AMDGPU", "gfx1100")):
        monkeypatch.setenv(f"ADSTACK_{name}_DEVICE", device)
    yield getattr(qd, request.param)
    qd.reset()


@pytest.mark.parametrize("turns", [0, 1, 3, range(MANY)], ids=str)
def test_bounds_that_shrink_need_nothing(arch, turns):
    loops = Loops(arch)
    loops.turns.fill(MANY)
    g = loops.graph()
    g.launch()
    loops.turns.from_numpy(np.broadcast_to(np.array(turns, np.int32), MANY))
    assert repeated(g.launch) == 1
    assert loops.x.grad.to_numpy().tobytes() == Loops(qd.reference).gradient(turns)


@pytest.mark.parametrize("where", [0, MANY - 1])
def test_a_bound_that_grew_is_refused_before_anything_runs(arch, where):
    loops = Loops(arch)
    loops.turns.fill(4)
    g = loops.graph()
    for _ in range(2):
        g.launch()
    before = loops.x.grad.to_numpy()
    loops.turns[where] = 5
    loops.y.fill(-1.0)
    for _ in range(2):
        with pytest.raises(AdstackStaleBoundError) as caught:
            g.launch()
    assert "run.grad, in a graph: a loop bound has grown" in str(caught.value)
    assert "5 values of s have to be kept, and there was room for 4" in str(caught.value)
    assert "for _ in range(turns[i]):" in str(caught.value)
    assert "renew()" in str(caught.value)
    assert loops.y.to_numpy().tolist() == [-1.0] * MANY
    assert loops.x.grad.to_numpy().tobytes() == before.tobytes()
    g.renew()
    g.launch()
    assert g.is_captured
    turns = [5 if i == where else 4 for i in range(MANY)]
    assert loops.x.grad.to_numpy().tobytes() == Loops(qd.reference).gradient(turns)


@pytest.mark.parametrize("looks", ["read", "sync", "launch", "graph"])
def test_a_bound_that_the_graph_itself_made_grow_is_never_taken_for_a_result(arch, looks):
    loops = Loops(arch)
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
        qd.sync()

    with pytest.raises(AdstackStaleBoundError, match=r"run\.grad, in a graph: .* 6 values .* room for 4"):
        go()
    g.renew()
    g.launch()
    assert loops.x.grad.to_numpy().tobytes() == Loops(qd.reference).gradient(6)


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
def test_more_iterations_that_push_than_there_were_are_refused(arch, by):
    loops = Loops(arch, gated=True)
    many = more_push(loops, by)
    assert loops.x.grad.to_numpy().tobytes() == Loops(qd.reference, gated=True).gradient(many)


def test_plain_gradients_between_launches_of_a_graph_compute_depths_of_their_own(arch):
    loops = Loops(arch)
    loops.turns.fill(9)
    g = loops.graph()
    g.launch()
    want = Loops(qd.reference).gradient(3), Loops(qd.reference).gradient(12)
    loops = Loops(arch)
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


def test_what_needs_checkpoints_is_launched_call_by_call(arch):
    loops = Loops(arch, ad_stack_heap_limit=64)
    loops.turns.fill(33)
    g = loops.graph()
    want = loops.gradient(33)
    for _ in range(2):
        loops.x.grad.fill(0.0)
        g.launch()
        assert loops.x.grad.to_numpy().tobytes() == want
    assert not g.is_captured


def test_where_there_is_no_memory_for_its_adstacks_any_more_a_graph_is_launched_call_by_call(arch, monkeypatch):
    loops = Loops(arch)
    loops.turns.fill(9)
    g = loops.graph()
    g.launch()
    want = loops.x.grad.to_numpy().tobytes()
    device: Any = state.current().backend
    heap = device.common.heap if arch is qd.vulkan else device.heap
    heap.drop()
    loops.x.grad.fill(0.0)
    with monkeypatch.context() as full:
        full.setattr(heap, "room", lambda *_: 0)
        with pytest.raises(AdstackMemoryError):
            g.launch()
    assert repeated(g.launch) == 1
    assert loops.x.grad.to_numpy().tobytes() == want


@pytest.mark.parametrize("seed", range(4))
def test_whatever_bounds_become_a_launch_is_right_or_refused(arch, seed):
    """Bounds of the host's and the graph's making, by thread, growing and shrinking; other adstacks in between."""
    draw = np.random.default_rng(seed)
    loops = Loops(arch, gated=seed % 2 == 1)
    turns, source, shift = loops.turns, qd.field(qd.i32, MANY), loops.wanted
    _, _, deeper = squaring(size=60)

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
    right, refused = [], 0
    for _ in range(30):
        most = int(draw.integers(1, 12))
        first, second = draw.integers(0, most, (2, MANY), np.int32) * (draw.random((2, MANY)) < draw.random())
        cut = int(draw.integers(0, MANY)) if seed >= 2 else 0
        turns.from_numpy(first.astype(np.int32))
        source.from_numpy(second.astype(np.int32))
        shift[None] = cut
        if draw.random() < 0.2:
            deeper.grad(int(draw.integers(1, 300)))
        try:
            g.launch()
            right.append((np.where(np.arange(MANY) < cut, second, first), loops.x.grad.to_numpy().tobytes()))
        except AdstackStaleBoundError:
            refused += 1
            if draw.random() < 0.5:
                g.renew()
    assert min(len(right), refused) > 2
    wanted = Loops(qd.reference, gated=seed % 2 == 1)
    for bounds, gradient in right:
        assert gradient == wanted.gradient(bounds)


def test_any_order_of_graphs_and_launches_gives_what_the_reference_gives(arch):
    assert outcome(arch, drawn) == outcome(qd.reference, drawn)


def test_launches_are_counted(arch):
    qd.init(arch=arch, offline_cache=False)
    program = Program()
    with qd.graph() as g:
        program.step(5)
        program.step(6)
    g.launch()
    device: Any = state.current().backend
    before = device.launches
    (specialisation,) = specialisations(program.step)
    g.launch()
    assert device.launches == specialisation.plan.number == before + 2
    assert list(specialisation.plan.scalars) == [6]
    program.step(7)
    assert specialisation.plan.number == before + 3
