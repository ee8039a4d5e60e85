"""Launches that a backend has recorded, and repeats at once.

How deep adstacks must be was computed when the launches ran. Before each repetition the depths of those whose bounds
may have changed are computed again: if one has outgrown its room, nothing is launched. What a repetition itself does to
bounds is seen where values are pushed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .adstacks.stats import count
from .memory.buffers import Buffer
from .memory.streams import ordered
from .plans import Plan
from .protocol.abilities import Capturing, Graph, capturing, rebinding
from .protocol.backend import Backend, Scalars
from .threads.guards import EPOCH, GUARD

__all__ = ["Captured", "Planned", "captured"]


@dataclass(frozen=True)
class Planned:
    """A launch of a plan, with its arguments."""

    plan: Plan
    scalars: Scalars
    arrays: Mapping[str, Buffer]

    @property
    def buffers(self) -> dict[str, Buffer]:
        """The memory of all its places."""
        return {**self.plan.buffers, **self.arrays}

    def memory(self, names: frozenset[str]) -> list[Buffer]:
        """The memory of the places with these names."""
        return [buffer for name, buffer in self.buffers.items() if name in names]

    def depends(self) -> object:
        """Equal as long as what decides about depths is the same; None if that can't be told."""
        sizing = self.plan.sizing
        return None if sizing is None else sizing.key(self.scalars, self.buffers)


@dataclass
class _Sized:
    """A launch with adstacks whose depths can be computed before the graph runs: its number, what they depended on."""

    number: int
    launch: Planned
    known: object


class Captured:
    """Launches as one graph of a backend.

    Args:
        backend: where memory is.
        device: the same, as one that keeps launches.
        graph: what it made of them.
        launches: what they are.
        sized: those whose depths are looked at before each repetition.
    """

    def __init__(
        self, backend: Backend, device: Capturing, graph: Graph, launches: Sequence[Planned], sized: list[_Sized]
    ) -> None:
        self._backend, self._device, self._graph, self._sized = backend, device, graph, sized
        self._work_on(launches)

    def _work_on(self, launches: Sequence[Planned]) -> None:
        """Note the launches, and their memory."""
        self._launches = list(launches)
        buffers = {id(b): b for launch in launches for b in launch.buffers.values()}
        self._buffers = list(buffers.values())
        for buffer in self._buffers:
            buffer.record()  # so that its end is announced
        self._written: dict[int, tuple[Buffer, str]] = {}
        for launch in launches:
            for buffer in launch.memory(launch.plan.compiled.written):
                self._written.setdefault(id(buffer), (buffer, launch.plan.compiled.program.name))
        self._epoch = 0

    @property
    def alive(self) -> bool:
        """Whether all its memory is still there."""
        if self._epoch != GUARD[EPOCH]:
            if not all(buffer.alive for buffer in self._buffers):
                return False
            self._epoch = GUARD[EPOCH]
        return True

    def launch(self) -> bool:
        """Do it all again; AdstackStaleBoundError if adstacks have no room. False if it can't be done now."""
        for one in self._sized:
            now = one.launch.depends()
            if now is None or now != one.known:
                one.known = None
                self._device.resize(self._graph, one.number)
                one.known = now
        for buffer, writer in self._written.values():
            if buffer.watch is not None:
                buffer.watch.before(buffer, writer)
        try:
            with ordered(self._backend, self._buffers):
                done = self._device.repeat(self._graph)
        finally:
            for buffer, _ in self._written.values():
                buffer.touch()
        if done:
            before = self._backend.launches - len(self._launches)
            for number, launch in enumerate(self._launches, before + 1):
                launch.plan.repeated(number, launch.scalars)
        count("graph_launches", int(done))
        return done

    def rebind(self, launch: Planned) -> bool:
        """Let its one launch have other arguments, for good; False if it would be another graph."""
        backend = rebinding(self._backend)
        if backend is None or not backend.rebind(self._graph, launch.scalars, launch.plan.bind(launch.arrays)):
            return False
        self._work_on([launch])
        return True


def captured(backend: Backend, launches: Sequence[Planned], run: Callable[[], object]) -> Captured | None:
    """Run launches once, and keep them as one launch of the device.

    Args:
        backend: the launches' backend.
        launches: what is launched, in order.
        run: launches all of them.

    Returns:
        What launches them again; None, after `run`, if the backend keeps no launches, or not these, or if one of them
        looks for races.
    """
    device = capturing(backend)
    if device is None or any(launch.plan.compiled.races is not None for launch in launches):
        run()
        return None
    written: set[int] = set()
    sized: list[_Sized] = []
    for number, launch in enumerate(launches):
        sizing = launch.plan.sizing
        if sizing is not None and not sizing.transient:
            read = launch.memory(frozenset(sizing.reads))
            if written.isdisjoint(map(id, read)):
                sized.append(_Sized(number, launch, launch.depends()))
        written |= {id(buffer) for buffer in launch.memory(launch.plan.compiled.written)}
    graph = device.capture(run, [launch.plan.compiled.executable for launch in launches])
    return None if graph is None else Captured(backend, device, graph, launches, sized)
