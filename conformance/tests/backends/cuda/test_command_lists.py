"""Commands of followed tapes that are queued as graphs: nobody can tell, but by the time that it takes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.backends.cuda.commands import lists
from adstack.backends.cuda.emulator import EmulatedGraph, Emulator
from adstack.backends.cuda.interface.errors import OUT_OF_MEMORY, DriverError
from adstack.errors import AdstackRuntimeError

STEPS = 20


class Graphs:
    """Graphs that are launched: how many nodes each has."""

    def __init__(self) -> None:
        self.launched: list[int] = []
        self.told = 0
        self.fails = False


@pytest.fixture(autouse=True)
def graphs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Graphs]:
    seen, launch, tell = Graphs(), EmulatedGraph.launch, EmulatedGraph.tell

    def launched(graph: EmulatedGraph) -> None:
        if seen.fails:
            raise DriverError("cuGraphLaunch", OUT_OF_MEMORY, "refused")
        seen.launched.append(len(graph.handles))
        launch(graph)

    def told(graph: EmulatedGraph, number: int, address: int) -> None:
        seen.told += 1
        tell(graph, number, address)

    def check(_: Emulator, code: int) -> None:
        if code:
            raise DriverError("cuGraphLaunch", code, "refused")

    monkeypatch.setattr(EmulatedGraph, "launch", launched)
    monkeypatch.setattr(EmulatedGraph, "tell", told)
    monkeypatch.setattr(Emulator, "check", check)
    monkeypatch.setenv("ADSTACK_CUDA_DEVICE", "host")
    qd.init(arch=qd.cuda, offline_cache=False)
    yield seen
    qd.reset()


class Chain:
    """x[t + 1] = rate * sin(x[t]), and its last element as the loss."""

    def __init__(self) -> None:
        x = self.x = qd.field(qd.f32, shape=STEPS + 1, needs_grad=True)
        loss = self.loss = qd.field(qd.f32, shape=(), needs_grad=True)

        @qd.kernel
        def step(t: qd.i32, rate: qd.f32):
            x[t + 1] = rate * qd.sin(x[t])

        @qd.kernel
        def last():
            loss[None] += x[STEPS]

        self.step, self.last = step, last
        x[0] = 0.5

    def tape(self, rate: float, between: Callable[[int], object] = lambda t: None) -> float:
        with qd.ad.Tape(self.loss):
            for t in range(STEPS):
                self.step(t, rate)
                between(t)
            self.last()
        gradient: float = self.x.grad[0]
        return gradient

    def expected(self, rate: float) -> float:
        """The derivative, in f32 as the kernels compute it."""
        values, gradient = self.values(rate), np.float32(1.0)
        for x in values[-2::-1]:
            gradient = gradient * np.float32(rate) * np.cos(x)
        return float(gradient)

    @staticmethod
    def values(rate: float) -> list[np.float32]:
        values = [np.float32(0.5)]
        for _ in range(STEPS):
            values.append(np.float32(rate) * np.sin(values[-1]))
        return values


def near(value: float, other: float) -> bool:
    """Whether two results are the same but for the roundings of numpy's sine, a few units in the last place each."""
    return abs(value - other) <= 8 * STEPS * np.finfo(np.float32).eps * abs(other)


def test_a_tape_that_is_known_is_queued_as_graphs(graphs: Graphs) -> None:
    chain = Chain()
    first = [chain.tape(0.9) for _ in range(2)]
    assert graphs.launched == []
    assert [chain.tape(0.9) for _ in range(2)] == first
    assert graphs.launched == 2 * [8, 13, STEPS + 1]
    assert graphs.told == 0
    assert near(first[0], chain.expected(0.9))


def test_arguments_that_change_are_told(graphs: Graphs) -> None:
    chain = Chain()
    rates = [0.9, 0.8, 0.7, 0.6, 0.6]
    gradients = [chain.tape(rate) for rate in rates]
    assert all(near(gradient, chain.expected(rate)) for gradient, rate in zip(gradients, rates, strict=True))
    assert graphs.told == 2 * 2 * STEPS  # forward and in reverse, in the third tape and in the fourth


@pytest.mark.parametrize("at", [0, 5, 8, STEPS - 1])
def test_who_looks_in_between_finds_what_was_launched(graphs: Graphs, at: int) -> None:
    chain, seen = Chain(), list[Any]()
    expected = chain.values(0.9)

    def look(t: int) -> None:
        if t == at:
            seen.append(chain.x.to_numpy()[: at + 2])

    gradients = [chain.tape(0.9, look) for _ in range(4)]
    assert len(set(gradients)) == 1
    assert all(np.allclose(values, expected[: at + 2], rtol=1e-5, atol=0) for values in seen)
    assert len(seen) == 4


def test_another_thread_finds_what_was_launched(graphs: Graphs) -> None:
    chain, other = Chain(), qd.field(qd.f32, shape=())

    @qd.kernel
    def copy(t: qd.i32):
        other[None] = chain.x[t]

    def between(t: int) -> None:
        if t == 10:
            thread = threading.Thread(target=copy, args=(11,))
            thread.start()
            thread.join()

    for _ in range(4):
        other[None] = 0.0
        chain.tape(0.9, between)
        assert near(other[None], float(chain.values(0.9)[11]))


def test_an_exception_leaves_what_was_launched(graphs: Graphs) -> None:
    chain = Chain()
    for _ in range(3):
        chain.tape(0.9)

    def stop(t: int) -> None:
        if t == 10:
            raise KeyError(t)

    with pytest.raises(KeyError):
        chain.tape(0.8, stop)
    expected = [*chain.values(0.8)[:12], *chain.values(0.9)[12:]]
    assert np.allclose(chain.x.to_numpy(), expected, rtol=1e-5, atol=0)
    assert near(chain.tape(0.9), chain.expected(0.9))


def test_a_tape_that_ends_early_is_right(graphs: Graphs) -> None:
    chain = Chain()
    for _ in range(3):
        chain.tape(0.9)
    with qd.ad.Tape(chain.loss):
        for t in range(3):
            chain.step(t, 0.5)
        chain.last()
    assert chain.x.grad[0] == 0.0
    assert np.allclose(chain.x.to_numpy()[:4], chain.values(0.5)[:4], rtol=1e-5, atol=0)
    assert near(chain.tape(0.9), chain.expected(0.9))


def test_random_numbers_are_those_of_their_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn() -> list[float]:
        qd.init(arch=qd.cuda, offline_cache=False, random_seed=7)
        x, loss = qd.field(qd.f32, shape=8, needs_grad=True), qd.field(qd.f32, shape=(), needs_grad=True)

        @qd.kernel
        def noisy():
            for i in x:
                loss[None] += x[i] * qd.random(qd.f32)

        results = []
        for _ in range(5):
            x.fill(1.0)
            with qd.ad.Tape(loss):
                for _ in range(6):
                    noisy()
            results += [loss[None], *x.grad.to_numpy().tolist()]
        return results

    together = drawn()
    monkeypatch.setattr(lists, "_FEWEST", 1 << 30)
    assert together == drawn()


def test_other_commands_than_before_are_queued_one_by_one(graphs: Graphs) -> None:
    x = qd.field(qd.f32, shape=4, needs_grad=True)
    loss, n = qd.field(qd.f32, shape=(), needs_grad=True), qd.field(qd.i32, shape=())

    @qd.kernel
    def power():
        for i in x:
            v = x[i]
            for _ in range(n[None]):
                v = v * x[i]
            loss[None] += v

    for trips in (3, 3, 3, 3, 9, 9, 9, 2, 5, 6, 7, 3, 3):
        x.fill(2.0)
        n[None] = trips
        with qd.ad.Tape(loss):
            for _ in range(6):
                power()
        assert loss[None] == 6 * 4 * 2.0 ** (trips + 1)
        assert x.grad.to_numpy().tolist() == [6 * (trips + 1) * 2.0**trips] * 4
    assert graphs.launched


def test_a_graph_that_is_refused_is_an_error_and_the_next_tape_is_right(graphs: Graphs) -> None:
    chain = Chain()
    for _ in range(3):
        chain.tape(0.9)
    graphs.fails = True
    with pytest.raises(AdstackRuntimeError):
        chain.tape(0.9)
    graphs.fails = False
    assert near(chain.tape(0.7), chain.expected(0.7))


def test_without_memory_for_graphs_commands_are_queued_one_by_one(
    monkeypatch: pytest.MonkeyPatch, graphs: Graphs
) -> None:
    def refused(*_: object) -> EmulatedGraph:
        raise DriverError("cuGraphInstantiate", OUT_OF_MEMORY, "out of memory")

    monkeypatch.setattr(Emulator, "graph", refused)
    chain = Chain()
    assert len({chain.tape(0.9) for _ in range(4)}) == 1
    assert graphs.launched == []
