"""What stands around launches: a Tape, a FwdMode, a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import adstack as qd

from .memory import ARRAYS, DUALS, HOSTS, INTEGERS, Memory
from .numbers import Number
from .simulated import Program
from .world import Call, World

__all__ = ["Graph", "forward", "graph", "tape"]

State = dict[str, list[float]]
PARAMETERS: Final = ("x", "z", "a")


class LeftError(Exception):
    """Why a block was left early."""


@dataclass
class Block:
    """Steps inside of a Tape or a FwdMode.

    Attributes:
        world: whose.
        program: what should happen.
        used: the memory that launches or the host have used, of which gradients are known.
        asked: whether gradients were asked for, or changed, inside.
        parameter: the memory that moves along a seed.
    """

    world: World
    program: Program
    used: set[str] = field(default_factory=set)
    asked: bool = False
    parameter: str = ""

    def steps(self) -> None:
        """Do some."""
        world = self.world
        for _ in range(world.random.randrange(1, 5)):
            several = (self.launch, self.host, self.link, self.gradient, self.function)
            world.random.choices(several, (6, 2, 1, 1, 1))[0]()

    def launch(self, call: Call | None = None) -> None:
        """Launch something."""
        world = self.world
        call = call or world.call()
        if call.form.refused and len(set(call.names[:2])) == 1:
            return  # what shares memory may be refused
        world.tell(f"  {call}")
        before = self.program.state
        result = world.simulate(self.program, call)
        got = call.form.kernel(*world.arguments(call))
        self.used.update(name for name in call.names if isinstance(name, str))
        if result is not None and float(got) != result.value:
            raise world.difference(f"it returned {got}, and should have returned {result.value}")
        world.note(call, before, self.program.state, False)
        if result is not None and world.random.random() < 0.8:
            self._store(got * 2.0, result * 2.0)

    def function(self) -> None:
        """Call a function of Python that launches a kernel."""
        function = self.world.random.choice(self.world.functions)
        self.world.tell(f"  {function.name}()")
        (function.forward if self.parameter else function.plain)(self.program)
        function.call()
        self.world.memory.writes += 1

    def link(self) -> None:
        """Let the host compute with what it has read, and store that."""
        index = self.world.random.randrange(len(self.program.cells["x"]))
        read = self.world.memory.real["x"][index]
        self._store(read * 0.5, self.program["x"][index] * 0.5)

    def _store(self, got: Any, number: Number) -> None:
        name = self.world.random.choice(("y", "z"))
        self.world.tell(f"  {name}[...] = a number from a launch or from memory")
        self.world.memory.real[name][None if name == "y" else 0] = got
        self.program[name][0] = number
        self.world.memory.writes += 1

    def host(self) -> None:
        """Let the host write."""
        memory = self.world.memory
        name = self.world.random.choice([name for name in memory.real if name != self.parameter])
        how = self.world.random.choice((memory.write, memory.rewrite))
        memory.state = self.program.state
        self.world.tell(f"  the host writes {name}")
        for index, value in how(name):
            self.program.write(name, index, value)

    def gradient(self) -> None:
        """Ask for a gradient inside."""
        if not self.parameter:
            self.asked = True
            self.world.memory.state = self.program.state
            self.world.gradient(self.world.known())


def tape(world: World) -> None:
    """Record launches, and compare all gradients at the end."""
    memory = world.memory
    clears, fails = world.random.random() < 0.8, world.random.random() < 0.1
    if not clears or world.random.random() < 0.5:
        memory.seed()
    world.tell(f"Tape(y, clear_gradients={clears})")
    memory.state["y"] = [0.0]
    block = Block(world, Program(memory.state, memory.differentiated))
    adjoints: State = {}
    with _leaving(world), qd.ad.Tape(memory.real["y"], clear_gradients=clears):
        block.steps()
        block.launch(Call(world.forms["weigh"], ()))  # which computes the loss
        if fails:
            raise LeftError
        adjoints = memory.beside("grad")
        adjoints["y"] = [1.0]
    memory.state = block.program.state
    world.tell("left")
    world.check_memory()
    if adjoints:
        _check_cleared(world, block, clears, adjoints)
        World.counts["tapes"] += 1
        world.compare(block.program.pulled(adjoints))


def _check_cleared(world: World, block: Block, clears: bool, adjoints: State) -> None:
    if clears and not block.asked:
        names = {"x", "y", "z", "late"} | block.used
        for name in names & adjoints.keys() - {"y"}:
            if any(adjoints[name]):
                raise world.difference(f"{name}.grad is not cleared")


@contextmanager
def _leaving(world: World) -> Iterator[None]:
    try:
        yield
    except LeftError:
        world.tell("  (left by an exception)")


def forward(world: World) -> None:
    """Launch in forward mode, and compare all duals at the end."""
    memory = world.memory
    name = world.random.choice(PARAMETERS)
    direction = [world.random.choice((0.5, -1.0, 2.0)) for _ in memory.state[name]]
    losses = [memory.real[one] for one in DUALS if one != name]
    world.tell(f"FwdMode({name}, {direction})")
    block = Block(world, Program(memory.state, set(DUALS), {name: direction}), parameter=name)
    with _leaving(world), qd.ad.FwdMode(loss=losses, param=memory.real[name], seed=direction):
        block.steps()
        if world.random.random() < 0.1:
            raise LeftError
    memory.state = block.program.state
    memory.writes += 1
    world.tell("left")
    world.check_memory()
    World.counts["forward"] += 1
    tangents = {**block.program.tangents(), name: [0.0] * len(direction)}
    for one, values in memory.beside("dual").items():
        if values != tangents[one]:
            raise world.difference(f"{one}.dual is {values}, and should be {tangents[one]}")


@dataclass
class Graph:
    """Calls that are launched together.

    Attributes:
        graph: what launches them.
        calls: each, and whether it is a gradient.
        identities: of the arrays, when it was recorded.
    """

    graph: Any
    calls: list[tuple[Call, bool]]
    memory: Memory

    def launch(self, world: World) -> None:
        """Launch, and compare."""
        memory = world.memory
        adjoints = memory.seed()
        world.tell("launch the graph")
        program = Program(memory.state, memory.differentiated)
        seen: dict[Call, State] = {}
        for call, is_gradient in self.calls:
            if is_gradient:
                run = Program(seen[call], memory.differentiated)
                world.simulate(run, call)
                adjoints = run.pulled(adjoints)
            else:
                seen[call] = program.state
                world.simulate(program, call)
        try:
            self.graph.launch()
            qd.sync()  # a device may tell only then that a loop bound has grown
        except (qd.AdstackDataAccessError, qd.AdstackStaleBoundError, qd.AdstackRuntimeError) as error:
            world.tell(f"refused: {error}")
            memory.state = memory.held()
            for call in seen:
                world.note(call, None, None, False)
            World.counts["graphs refused"] += 1
            return
        memory.state = program.state
        for call, state in seen.items():
            world.note(call, state, None, False)
        World.counts["graphs"] += 1
        world.compare(adjoints)


def graph(world: World) -> Graph | None:
    """Record some calls, and the gradients of some of them; None if they are refused."""
    calls = [call for call in (world.call() for _ in range(3)) if _is_on_device(call)]
    world.tell(f"graph of {', '.join(map(str, calls))} and gradients")
    steps = [(call, False) for call in calls]
    steps += [(call, True) for call in reversed(calls) if world.random.random() < 0.7]
    try:
        with qd.graph() as recorded:
            for call, is_gradient in steps:
                kernel: Callable[..., object] = call.form.kernel
                (call.form.kernel.grad if is_gradient else kernel)(*world.arguments(call))
    except (qd.AdstackDataAccessError, qd.AdstackRuntimeError) as error:
        world.tell(f"refused: {error}")
        return None
    return Graph(recorded, steps, world.memory) if steps else None


def _is_on_device(call: Call) -> bool:
    bases = {{**ARRAYS, **INTEGERS}.get(str(name), ("",))[0] for name in call.names}
    return call.form.name not in ("returned", "baked") and bases.isdisjoint(HOSTS)
