"""What the host computes between the launches of a tape: numbers that know where they came from, and where they go.

A number is a node: what a launch returned, what the host read of memory that has a gradient, or what arithmetic made of
such nodes. Nodes are numbered as they are made, and an event of the tape knows how many there were before it. Walking
back, the adjoints of nodes that are younger than an event are passed on before the event is reversed: to the seeds of
the launch that returned the number, to the gradient of the element that was read, to the nodes that it was made of.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...data.hostvalues import number
from ...errors import AdstackRuntimeError
from ...ir.types import DType
from ...launch.results import mapped
from ...runtime.memory.buffers import Array, Buffer
from ...values.linked import Linked
from ..events import HostWrites, Launch
from ..seeds import real_scalars

__all__ = ["Handle", "LinkedCopy", "LinkedWrites", "Linking", "Links", "unrepeated"]


class Handle:
    """What numbers hold of a tape, so that they do not keep what it has recorded.

    Attributes:
        links: the tape's, as long as it records.
    """

    def __init__(self, links: Links) -> None:
        self.links: Links | None = links

    @property
    def open(self) -> bool:
        """Whether the tape still records."""
        return self.links is not None

    def combined(self, parts: Sequence[tuple[int, float]]) -> int:
        """The node of a number that depends on these."""
        assert self.links is not None
        return self.links.combined(parts)

    def dual(self, node: int) -> float:
        """Numbers of a tape have no directional derivative."""
        return 0.0


Returned: TypeAlias = Any
"""What a call returned, or a part of it: a number, a vector or matrix, a struct, a tuple."""


@dataclass(slots=True)
class Node:
    """A number of the host.

    Attributes:
        parts: what it was made of, with the derivatives.
        give: where else its adjoint goes.
        origin: the launch that it depends on, in words; empty if it was only read of memory.
        refusal: why its adjoint can't go where it should.
        adjoint: gathered so far.
    """

    parts: Sequence[tuple[int, float]] = ()
    give: Callable[[float], None] | None = None
    origin: str = ""
    refusal: str = ""
    adjoint: float = 0.0


class Links:
    """The numbers of one tape."""

    def __init__(self) -> None:
        self.handle = Handle(self)
        self.nodes: list[Node] = []
        self._marks: list[int] = []
        self._launches: list[Launch] = []
        self._waiting: list[int] = []

    def close(self) -> None:
        """The tape records no more: numbers that are still around are constants."""
        self.handle.links = None

    # ---- recording

    def note_event(self) -> None:
        """The tape has recorded another event."""
        self._marks.append(len(self.nodes))

    def _add(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def combined(self, parts: Sequence[tuple[int, float]]) -> int:
        """The node of a number that depends on these."""
        nodes = [self.nodes[part] for part, _ in parts]
        origin = next((node.origin for node in nodes if node.origin), "")
        refusal = next((node.refusal for node in nodes if node.refusal), "")
        return self._add(Node(parts, None, origin, refusal))

    def returned(self, launch: Launch, result: Returned) -> Returned:
        """What a launch returned, as numbers that know it; as it is if no gradient reaches it."""
        spec = launch.specialisation.returns
        if spec is None or launch.mode is None or not launch.mode.seeds:
            return result
        self._launches.append(launch)
        numbered, places = iter(range(launch.mode.seeds)), iter(real_scalars(spec))

        def link(value: Returned) -> Returned:
            dtype = next(places)
            if dtype is None:
                return value
            node = Node((), partial(_seed, launch, next(numbered), dtype), launch.title)
            return Linked.of(value, self.handle, self._add(node))

        return mapped(spec, result, link)

    def refused(self, spec: Any, result: Returned, why: str, origin: str = "") -> Returned:
        """What a launch returned whose adjoint has nowhere to go."""
        if spec is None:
            return result
        places = iter(real_scalars(spec))

        def link(value: Returned) -> Returned:
            return value if next(places) is None else self.refused_number(value, why, origin)

        return mapped(spec, result, link)

    def refused_number(self, value: float, why: str, origin: str = "") -> Linked:
        """A number whose adjoint has nowhere to go, and what it depends on, in words."""
        return Linked.of(value, self.handle, self._add(Node((), None, origin or why, why)))

    def read(self, grad: Buffer, position: tuple[int, ...], value: float) -> Linked:
        """A number that was read of memory."""
        return Linked.of(value, self.handle, self._add(Node((), partial(_add_to, grad, position))))

    def origin(self, value: Returned) -> str:
        """The launch that a number depends on, in words; empty if there is none."""
        own = isinstance(value, Linked) and value.chain is self.handle
        return self.nodes[value.node].origin if own else ""

    def node_of(self, value: Returned, label: str) -> int | None:
        """The node of a number that is to be stored; None for a constant."""
        if not isinstance(value, Linked) or value.chain is not self.handle:
            return None
        node: int = value.node
        if self.nodes[node].refusal:
            raise AdstackRuntimeError(
                f"a number stored in {label} under a Tape can't be linked to what it depends on: "
                f"{self.nodes[node].refusal}",
                do="let a kernel store it where it comes from, or write float(...) around it if it is a constant",
            )
        return node

    # ---- walking back

    def start(self) -> None:
        """Nothing has been passed on."""
        for launch in self._launches:
            launch.call.seeds = ()
        for node in self._waiting:
            self.nodes[node].adjoint = 0.0
        self._waiting = []

    def give(self, node: int, adjoint: float) -> None:
        """Add to the adjoint of a number; 0 is nothing."""
        if adjoint == 0.0:
            return
        number = self.nodes[node]
        if number.adjoint == 0.0:
            heapq.heappush(self._waiting, -node)
        number.adjoint += adjoint

    def flush(self, event: int) -> None:
        """Pass on the adjoints of numbers that are younger than an event, given by its number; of all for -1."""
        mark = self._marks[event] if event >= 0 else 0
        while self._waiting and -self._waiting[0] >= mark:
            node = self.nodes[-heapq.heappop(self._waiting)]
            adjoint, node.adjoint = node.adjoint, 0.0
            for part, slope in node.parts:
                self.give(part, slope * adjoint)
            if node.give is not None and adjoint != 0.0:
                node.give(adjoint)


def _seed(launch: Launch, which: int, dtype: DType, adjoint: float) -> None:
    """What a launch returned has an adjoint."""
    assert launch.mode is not None
    seeds = list(launch.call.seeds or [0.0] * launch.mode.seeds)
    seeds[which] = number(adjoint, dtype, "a seed")
    launch.call.seeds = tuple(seeds)


def _add_to(grad: Buffer, position: tuple[int, ...], adjoint: float) -> None:
    """What was read has an adjoint."""
    grad.put(position, number(grad.item(position) + adjoint, grad.dtype, "a gradient"))


@dataclass(kw_only=True)
class Linking(HostWrites):
    """The host wrote what has derivatives.

    Attributes:
        grad: the gradients of what was written.
    """

    grad: Buffer

    @property
    def is_linked(self) -> bool:
        """Whether adjoints go on from there."""
        return True


@dataclass(kw_only=True)
class LinkedWrites(Linking):
    """The host wrote numbers that know where they came from.

    Attributes:
        links: of the tape.
        positions: where, flat.
        nodes: of the numbers, again and again in this order; None for plain ones, which are inputs.
    """

    links: Links
    positions: npt.NDArray[np.int64]
    nodes: list[int | None]

    @property
    def is_linked(self) -> bool:
        """See `Linking.is_linked`: not of constants."""
        return any(node is not None for node in self.nodes)

    def reverse(self) -> None:
        """What was overwritten has no adjoint any more: it goes to what was written."""
        taken = self.grad.exchange(self.positions, np.zeros(len(self.positions), self.grad.dtype.numpy))
        self._keep_inputs(taken)
        for node, adjoints in zip(self.nodes, taken.reshape(-1, len(self.nodes)).T.tolist(), strict=True):
            if node is not None:
                self.links.give(node, math.fsum(adjoints) if np.isfinite(adjoints).all() else sum(adjoints))

    def _keep_inputs(self, taken: Array) -> None:
        """Of what was taken, keep that of the plain numbers: the gradients of inputs are added up in the end."""
        plain = np.resize([node is None for node in self.nodes], len(taken))
        if plain.any():
            kept = np.zeros(self.grad.shape, self.grad.dtype.numpy)
            kept.reshape(-1)[self.positions] = np.where(plain, taken, 0)
            self.taken.append((self.grad, kept))


@dataclass(kw_only=True)
class LinkedCopy(Linking):
    """The host copied all elements of an array to another one like it.

    Attributes:
        source: the gradients of what was copied.
        active: which elements of that were active, the others being constants; None if all were.
    """

    source: Buffer
    active: Array | None = None

    def reverse(self) -> None:
        """What was overwritten has no adjoint any more: it is added to that of what was copied."""
        taken = np.array(self.grad.read())
        if self.active is not None:
            taken[~self.active] = 0
        self.grad.write(0)
        before = self.source.read()
        with np.errstate(all="ignore"):
            self.source.write(np.where(taken == 0, before, before + taken))


def unrepeated(label: str) -> AdstackRuntimeError:
    """The error for linked numbers of the host in memory that is called so, where gradients are checked."""
    return AdstackRuntimeError(
        f"grad_check can't repeat what the host computed with what kernels returned: it was stored in {label}",
        do="leave grad_check out, or let a kernel do it",
    )
