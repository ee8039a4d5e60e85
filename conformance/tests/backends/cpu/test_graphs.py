"""Graphs on the host's processor: repeated by machine code, as deep as they must be, and stopped where a call would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph_kit import MANY, Loops, repeated
from process_kit import in_process

import adstack as qd
from adstack.errors import AdstackOverflowError
from adstack.runtime import state


@pytest.fixture(autouse=True)
def cpu():
    qd.init(arch=qd.cpu, offline_cache=False)
    yield
    qd.reset()


@pytest.mark.parametrize("bounding", [False, True])
@pytest.mark.parametrize("gated", [False, True])
def test_adstacks_are_as_deep_as_they_must_be_in_every_launch(bounding, gated):
    turns = [4, 1, 0, 70, 3, 9_000, 2]
    right = Loops(qd.reference, gated=gated)
    want = [right.gradient(n) for n in turns]
    loops = Loops(qd.cpu, gated=gated)
    g = loops.graph(bounding=bounding)
    for number, n in enumerate(turns):
        loops.wanted[None] = n
        loops.turns.fill(n)
        assert repeated(g.launch) == (number > 0)
        assert loops.x.grad.to_numpy().tobytes() == want[number]
    assert g.is_captured


def test_plain_calls_between_launches_have_depths_of_their_own():
    right = Loops(qd.reference)
    want = {n: right.gradient(n) for n in (3, 9, 12)}
    loops = Loops(qd.cpu)
    assert loops.gradient(12) == want[12]
    g = loops.graph()
    for n in (3, 12, 9):
        loops.turns.fill(n)
        g.launch()
        assert loops.x.grad.to_numpy().tobytes() == want[n]
        assert loops.gradient(12) == want[12]
    loops.turns.fill(9)
    g.launch()
    loops.x.grad.fill(0.0)
    loops.y.grad.fill(1.0)
    loops.run.grad()  # of the graph's call of run, not of the plain one
    assert loops.x.grad.to_numpy().tobytes() == want[9]


def test_what_has_no_room_in_a_later_launch_runs_again_from_snapshots():
    turns = (3, 2_000, 4, 5_000, 3)

    def gradients(**options: Any) -> list[bytes]:
        qd.init(arch=qd.cpu, offline_cache=False, **options)
        n, after = qd.field(qd.i32, ()), qd.field(qd.i32, ())
        x, y = (qd.field(qd.f64, 2, needs_grad=True) for _ in range(2))

        @qd.kernel
        def run():
            for i in x:
                v = x[i]
                for _ in range(n[None]):
                    v = v - 0.0005 * v * v
                y[i] = v

        @qd.kernel
        def seed():
            for i in x:
                x.grad[i], y.grad[i] = 0.0, 1.0

        @qd.kernel
        def count():
            after[None] += 1

        x.from_numpy(np.array([0.75, 0.5]))
        n[None] = 3
        with qd.graph() as g:
            run()
            seed()
            run.grad()
            count()
        g.launch()
        results = []
        for number, n[None] in enumerate(turns):
            g.launch()
            assert (g.is_captured, after[None]) == (True, number + 2)
            assert x.grad.to_numpy().all()
            results.append(x.grad.to_numpy().tobytes())
        return results

    want = gradients()
    before = qd.stats()["checkpointed"]
    assert gradients(ad_stack_heap_limit=4096) == want
    assert qd.stats()["checkpointed"] == before + 2


def test_every_call_has_its_own_arguments_and_the_last_one_is_remembered():
    x, a, b = qd.field(qd.f64, 3), qd.ndarray(qd.f64, (3,)), qd.ndarray(qd.f64, (3,))

    @qd.kernel
    def add(to: qd.types.ndarray(dtype=qd.f64, ndim=1), k: qd.i32, by: qd.f64):
        to[k] += by
        x[k] += 1.0

    with qd.graph() as g:
        for k, by in enumerate((1.0, 20.0, 300.0)):
            add(a, k, by)
        add(b, 1, -1.0)
    for _ in range(3):
        g.launch()
        add(b, 2, 0.5)
    assert a.to_numpy().tolist() == [3.0, 60.0, 900.0]
    assert b.to_numpy().tolist() == [0.0, -3.0, 1.5]
    assert x.to_numpy().tolist() == [3.0, 6.0, 6.0]


def test_a_launch_that_fails_ends_the_graph_there_and_the_next_one_runs_all():
    want = Loops(qd.reference).gradient(8)
    loops = Loops(qd.cpu, ad_stack_size=8, ad_stack_sparse_threshold_bytes=0)
    after = qd.field(qd.i32, ())

    @qd.kernel
    def count():
        after[None] += 1

    loops.turns.fill(2)
    with qd.graph() as g:
        loops.run()
        loops.seed()
        count()
        loops.run.grad()
        count()
    for _ in range(2):
        g.launch()
    loops.turns[MANY - 1] = 9
    for _ in range(2):
        with pytest.raises(AdstackOverflowError, match="ad_stack_size"):
            g.launch()
    assert after[None] == 2 * 2 + 2
    loops.turns.fill(8)
    assert repeated(g.launch) == 1
    assert (after[None], loops.x.grad.to_numpy().tobytes()) == (8, want)


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_ends_a_graph_and_it_can_be_launched_again(threads, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_SCRATCH", str(tmp_path))
    body = """
turns = qd.field(qd.i32, ())

@qd.kernel
def some():
    for i in x:
        for _ in range(turns[None]):
            x[i] = x[i] * 0.5 + 1.0

with qd.graph() as g:
    one(x)
    some()
    one(x)
    some()
g.launch()
g.launch()
turns[None] = 2_000_000
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    g.launch()
except KeyboardInterrupt:
    turns[None] = 1
    g.launch()
    print(g.is_captured, x.to_numpy().sum())
"""
    assert in_process(body, threads=threads) == (0, "True 98304.0\n", "")


def test_random_numbers_go_on_as_in_plain_calls():
    def drawn(graph: bool) -> np.ndarray:
        qd.init(arch=qd.cpu, offline_cache=False, random_seed=5)
        x, y = qd.field(qd.f64, MANY), qd.field(qd.f64, MANY)

        @qd.kernel
        def draw():
            for i in x:
                x[i] += qd.random(qd.f64)

        @qd.kernel
        def keep():
            for i in x:
                y[i] = y[i] * 2 + x[i]

        if not graph:
            for _ in range(6):
                draw()
                keep()
        else:
            with qd.graph() as g:
                for _ in range(2):
                    draw()
                    keep()
            for _ in range(3):
                g.launch()
            assert g.is_captured
        return y.to_numpy()

    assert drawn(True).tobytes() == drawn(False).tobytes()


def test_the_launches_of_a_graph_are_counted():
    loops = Loops(qd.cpu)
    g = loops.graph()
    g.launch()
    before = state.current().backend.launches
    g.launch()
    assert state.current().backend.launches == before + len(g)
