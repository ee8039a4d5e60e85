"""Adstacks of launches in tapes that are followed: their room, and when their depths are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from follow_kit import ARCHES, BOUND, begin, begin_in_test, recorded_only, served

import adstack as qd
from adstack.backends.hostcall import steps

N = 5


@pytest.fixture(autouse=True, params=ARCHES)
def arch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The test runs on each backend that follows tapes."""
    return begin_in_test(request.param, monkeypatch)


def iterated(arch: str, limit: int) -> list[float]:
    """Gradients of long loops in a tape that is followed, with a limit on the heap."""
    begin(arch, cpu_max_num_threads=1, ad_stack_heap_limit=limit)
    x = qd.field(qd.f64, shape=N, needs_grad=True)
    loss = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def iterate(n: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(n):
                v = qd.sin(v) * 1.1 + v * v * 0.1
            loss[None] += v

    x.fill(0.5)
    for _ in range(3):
        with qd.ad.Tape(loss) as tape:
            iterate(2000)
            iterate(3000)
    assert served(tape) == (2 if arch != BOUND else 0)  # there, the heap is bound for each launch
    gradients: list[float] = x.grad.to_numpy().tolist()
    return gradients


def test_adstacks_without_room_are_checkpointed(arch: str) -> None:
    assert iterated(arch, 4096) == iterated(arch, 0)


@contextmanager
def asked() -> Iterator[list[str]]:
    """A context that notes what machine code leaves to Python of steps backward."""
    noted: list[str] = []

    def noting(kind: type) -> Callable[[Any, int], object]:
        def go_on(step: Any, code: int) -> object:
            noted.append(kind.__name__)
            return originals[kind](step, code)

        return go_on

    originals = {kind: kind.go_on for kind in (steps.Launch, steps.Mover)}
    with ExitStack() as stack:
        for kind in originals:
            stack.enter_context(patch.object(kind, "go_on", noting(kind)))
        yield noted


class Loops:
    """Kernels with adstacks whose depths are read from memory, and one that changes that memory."""

    def __init__(self) -> None:
        self.x = qd.field(qd.f64, shape=N, needs_grad=True)
        self.loss = qd.field(qd.f64, shape=(), needs_grad=True)
        self.m = qd.field(qd.i32, shape=())
        x, loss, m = self.x, self.loss, self.m

        @qd.kernel
        def iterate(c: qd.f64):
            for i in x:
                v = x[i] * c
                for _ in range(m[None]):
                    v = qd.sin(v) * 1.1 + v * v * 0.1
                loss[None] += v

        @qd.kernel
        def change(by: qd.i32):
            m[None] += by

        self.iterate, self.change = iterate, change

    def tape(self, first: int, *, changes: bool) -> list[float]:
        """Gradients."""
        self.m[None] = first
        self.x.fill(0.5)
        with qd.ad.Tape(self.loss) as tape:
            for k in range(4):
                self.iterate(1.0 - 0.1 * k)
                if changes:
                    self.change(5 if k % 2 else -2)
        self.served = served(tape)
        gradient: list[float] = self.x.grad.to_numpy().tolist()
        return gradient


@pytest.mark.parametrize("changes", [False, True])
def test_depths_of_adstacks_are_those_of_the_time_of_each_launch(changes: bool, arch: str) -> None:
    loops = Loops()
    for first in (3, 3, 3, 30, 3, 0, 1):
        with recorded_only():
            expected = loops.tape(first, changes=changes)
        assert loops.tape(first, changes=changes) == expected
    assert loops.served == (4 if changes else 0) + (4 if arch != BOUND else 0)


@pytest.mark.parametrize("arch", ["cpu", "vulkan", "cuda"], indirect=True)
def test_depths_of_adstacks_that_stand_are_not_computed_again() -> None:
    loops = Loops()
    loops.m[None] = 3
    loops.x.fill(0.5)

    def left_by(c: float) -> list[str]:
        with asked() as left, qd.ad.Tape(loops.loss):
            loops.iterate(c)
            loops.iterate(c + 1)
        return left

    for _ in range(3):
        left_by(1.0)
    assert [left_by(c) for c in (1.0, 0.75, 0.5)] == [[], [], []]
    loops.m[None] = 4
    assert left_by(1.0) == ["Launch"]
