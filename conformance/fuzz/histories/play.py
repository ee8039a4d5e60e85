"""Random steps in a world.

Fields and kernels of one history are those of the next, so that calls are served by machine code, and what the ones
before have left behind is there; every `FRESH` histories all begins anew.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import adstack as qd

from .blocks import Graph, forward, graph, tape
from .forms import N
from .numbers import RoundedError
from .simulated import Program
from .world import DifferenceError, World, in_a_thread

__all__ = ["FRESH", "STEPS", "Player", "play", "player", "shortened"]

STEPS: Final = 24
FRESH: Final = 25
_ADDRESSED: Final = ("reference", "cpu")
"""Backends whose memory numpy can view."""
_SHARING: Final = 0.25
"""The part of all worlds in which numpy gets memory of fields."""
Options = dict[str, Any]
OPTIONS: Final[tuple[Options, ...]] = ({}, {}, {}, {"debug": True}, {"ad_snapshot": True})


class Player:
    """Does random steps in a world.

    Args:
        world: where.
        shares: whether numpy gets the memory of fields, which ends much of what machine code serves.
    """

    def __init__(self, world: World, shares: bool = False) -> None:
        self.world, self._shares = world, shares
        self._graph: Graph | None = None

    def step(self) -> None:
        """Do something."""
        actions = {
            self._launch: 8,
            self._again: 3,
            self._gradient: 8,
            self._host: 5,
            self._tape: 1.5,
            self._forward: 0.7,
            self._repeat: 1,
            self._renew: 0.5,
            self._place: 0.3,
            self._clear: 0.3,
            self._function: 0.7,
            self._write_gradients: 0.5,
        }
        if self._shares:
            actions[self._share] = 1.5
        random_, world = self.world.random, self.world
        (action,) = random_.choices(list(actions), list(actions.values()))
        try:
            if random_.random() < 0.05 and action not in (self._tape, self._forward):
                world.tell("(in a thread:)")
                in_a_thread(action)
            else:
                action()
        except RoundedError:
            world.tell(f"(rounded in {action.__name__})")
            world.reread()
        world.settle()

    def _launch(self) -> None:
        self.world.launch(self.world.call())

    def _again(self) -> None:
        call = self.world.known()
        for _ in range(self.world.random.randrange(1, 4)):
            self.world.launch(call)

    def _gradient(self) -> None:
        world = self.world
        call = world.known() if world.random.random() < 0.8 else world.call()
        for _ in range(world.random.choice((1, 1, 1, 3))):
            world.gradient(call)

    def _host(self) -> None:
        memory = self.world.memory
        name = memory.random.choice(list(memory.real))
        how = memory.random.choice((memory.write, memory.write, memory.rewrite))
        self.world.tell(f"the host writes {name} ({how.__name__})")
        how(name)

    def _tape(self) -> None:
        tape(self.world)

    def _forward(self) -> None:
        forward(self.world)

    def _repeat(self) -> None:
        if self._graph is None or self.world.random.random() < 0.3:
            self._graph = graph(self.world)
        if self._graph is not None:
            self._graph.launch(self.world)

    def _renew(self) -> None:
        name = self.world.random.choice(("a", "b", "c", "u", "long", "ks", "numbers"))
        self.world.tell(f"another {name}")
        self._graph = None
        self.world.memory.renew(name)

    def _place(self) -> None:
        world = self.world
        if "late" not in world.memory.differentiated:
            world.tell("late gets its gradient")
            world.memory.place_late()
            self._graph = None
            for key, last in world.seen.items():
                world.seen[key] = replace(last, is_outside=False)
                world.unclear.add(key[0].form.name)

    def _function(self) -> None:
        world = self.world
        function = world.random.choice(world.functions)
        world.tell(f"{function.name}()")
        program = Program(world.memory.state, world.memory.differentiated)
        function.forward(program)
        function.call()
        world.memory.state = program.state
        world.memory.writes += 1

    def _write_gradients(self) -> None:
        memory = self.world.memory
        name = memory.random.choice(sorted(memory.differentiated - {"y"}))
        self.world.tell(f"the host writes an element of {name}.grad")
        memory.real[name].grad[memory.random.randrange(N)] = memory.number(name)

    def _share(self) -> None:
        memory = self.world.memory
        if memory.views and memory.random.random() < 0.9:
            self.world.tell(f"numpy writes {memory.write_view()}")
        else:
            self.world.tell(f"numpy gets {memory.share()}")
            self._graph = None

    def _clear(self) -> None:
        self.world.tell("clear_all_gradients()")
        qd.ad.clear_all_gradients()


def player(arch: str, seed: int, options: Options | None = None) -> Player:
    """A new world on a backend."""
    chosen = random.Random(seed).choice(OPTIONS) if options is None else options
    qd.init(arch=getattr(qd, arch), default_fp=qd.f64, **chosen)
    shares = arch in _ADDRESSED and random.Random(f"{seed} shares").random() < _SHARING
    return Player(World(random.Random(seed), bool(chosen.get("ad_snapshot"))), shares)


def play(one: Player, seed: int, steps: Iterable[int] = range(STEPS)) -> None:
    """One history; raises `DifferenceError` if something is wrong, or refused without a reason."""
    for step in steps:
        one.world.random.seed(f"{seed}.{step}")
        one.step()


def shortened(arch: str, seed: int, count: int) -> list[str]:
    """A shorter history that differs too, as its steps: steps are removed as long as it still differs."""
    kept = [(number, step) for number in range(seed, seed + count) for step in range(STEPS)]
    difference = _told(arch, seed, kept)
    size = len(kept)
    while size and difference:
        for first in range(0, len(kept), size):
            fewer = kept[:first] + kept[first + size :]
            shorter = _told(arch, seed, fewer)
            if shorter:
                kept, difference = fewer, shorter
        size = min(size // 2, len(kept))
    return difference


def _told(arch: str, seed: int, steps: Sequence[tuple[int, int]]) -> list[str]:
    """The steps up to the first difference; empty if there is none."""
    one = player(arch, seed)
    try:
        for number, step in steps:
            play(one, number, [step])
    except (DifferenceError, qd.AdstackError) as error:
        return [*one.world.told, f"{type(error).__name__}: {str(error).splitlines()[-1]}"]
    return []
