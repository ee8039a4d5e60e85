"""Tapes, forward modes and graphs that were entered by hand and never left."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import adstack as qd

ARCHES = ["reference", "cpu"]
KINDS = ["Tape", "FwdMode", "graph"]


class World:
    """Data of a runtime of its own, and a kernel."""

    def __init__(self, arch: str) -> None:
        qd.init(arch=arch)
        self.x, self.loss = (qd.field(qd.f32, (), needs_grad=True, needs_dual=True) for _ in range(2))
        self.x[None] = 2.0

        @qd.kernel
        def square():
            self.loss[None] += self.x[None] * self.x[None]

        self.square = square

    def context(self, kind: str) -> Any:
        """One that is not entered yet."""
        make: dict[str, Callable[[], Any]] = {
            "Tape": lambda: qd.ad.Tape(self.loss),
            "FwdMode": lambda: qd.ad.FwdMode(loss=self.loss, param=self.x, seed=[1.0]),
            "graph": qd.graph,
        }
        return make[kind]()

    def entered(self, kind: str) -> Any:
        """A context that was entered, and that has recorded a call."""
        context = self.context(kind)
        context.__enter__()
        self.square()
        return context

    def check(self) -> None:
        """Nothing is in force: everything can be entered, and calls are plain launches again."""
        self.loss[None] = 0.0
        with qd.ad.Tape(self.loss):
            self.square()
        assert (self.loss[None], self.x.grad[None]) == (4.0, 4.0)
        with qd.ad.FwdMode(loss=self.loss, param=self.x, seed=[1.0]):
            self.square()
        assert (self.loss[None], self.loss.dual[None]) == (8.0, 4.0)
        with qd.graph() as graph:
            self.square()
        graph.launch()
        assert self.loss[None] == 12.0


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_lost_ends(kind: str, arch: str) -> None:
    world = World(arch)
    context = world.entered(kind)
    del context
    gc.collect()
    world.check()


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("kind", ["Tape", "FwdMode"])
@pytest.mark.parametrize("with_reset", [False, True])
def test_what_was_never_left_ends_with_the_runtime(kind: str, arch: str, with_reset: bool) -> None:
    context = World(arch).entered(kind)
    if with_reset:
        qd.reset()
    world = World(arch)
    world.check()
    with pytest.raises(qd.AdstackRuntimeError, match="was made before reset"):
        context.__exit__(None, None, None)
    world.check()


@pytest.mark.parametrize("kind", KINDS)
def test_so_it_does_where_another_thread_ends_the_runtime(kind: str) -> None:
    worlds, entered, ended = [World("reference")], threading.Event(), threading.Event()

    def other() -> None:
        context = worlds[0].entered(kind)
        entered.set()
        ended.wait(60)
        worlds[1].check()
        if kind == "graph":
            context.__exit__(None, None, None)
            with pytest.raises(qd.AdstackRuntimeError, match="recorded before init"):
                context.launch()

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(other)
        entered.wait(60)
        worlds.append(World("reference"))
        ended.set()
        done.result()
    worlds[1].check()


def test_a_graph_keeps_the_runtime_from_ending_until_it_is_left_or_lost() -> None:
    context = World("reference").entered("graph")
    with pytest.raises(qd.AdstackRuntimeError, match="while a graph is recorded"):
        qd.reset()
    del context
    gc.collect()
    qd.reset()
    World("reference").check()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_entered_can_not_be_left(kind: str) -> None:
    world = World("reference")
    context = world.entered(kind)
    context.__exit__(None, None, None)
    slopes = world.x.grad[None], world.x.dual[None]
    for one in (context, world.context(kind)):
        with pytest.raises(qd.AdstackRuntimeError, match="is left, and is not entered, or was left before"):
            one.__exit__(None, None, None)
    assert (world.x.grad[None], world.x.dual[None]) == slopes


def test_a_context_that_something_else_keeps_goes_on() -> None:
    world = World("reference")
    tape = world.entered("Tape")
    gc.collect()
    world.square()
    tape.__exit__(None, None, None)
    assert world.x.grad[None] == 8.0
