"""Whether memory was computed again: by the same launches, from the same contents.

A state that a program computes anew, to differentiate a step that it did not keep, may differ from the first one in the
last bits: float atomics come in another order. It is a state of the same program all the same. Versions can't tell so:
a state that was computed again has another one. *Origins* do. The origin of what a launch writes is a digest of what is
launched, of its scalars, and of the origins of all that it may read; so equal origins are equal ways to compute, all
the way back. What the host writes has an origin of its own each time, and so has what a launch writes that draws random
numbers, uses what memory held before its atomics, which come in any order, or reads memory that others may write
without a word. A digest has 128 bits: equal ones are equal ways.

Each watched buffer has a `History`: the origins of its elements now. Nothing is remembered of earlier writes, so that
what a launch costs does not grow with the number of launches before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, NamedTuple, Protocol

from ...analysis.boxes import Box, contains
from ...analysis.may_access import Accesses
from ...analysis.must_access import must_access
from ...ir.ops import ATOMIC, RANDOM
from ...ir.structure import Program
from ..protocol.backend import Scalars
from ..protocol.words import BY_MACHINE_CODE, VERSION, Words
from .history import History, Written, unique
from .origins import DIGEST
from .scalar_bits import scalar_bits

__all__ = ["Source", "Sources"]

MOST: Final = 4096
"""For how many different arguments a plan remembers what its launches read and write."""


class CompiledProgram(Protocol):
    """What was made of a program: see `compiled.Compiled`."""

    @property
    def program(self) -> Program:
        """The lowered program."""

    @property
    def read(self) -> frozenset[str]:
        """The names of the places that it may read."""


class Remembered(Protocol):
    """Memory whose writes may be on record: see `buffers.Buffer`."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, one per axis."""

    @property
    def shared(self) -> bool:
        """Whether others, such as torch, may write it without announcing that."""

    @property
    def version(self) -> int:
        """Another number after every write that is known of."""

    @property
    def written(self) -> int:
        """How often machine code has written it."""

    @property
    def watch(self) -> Remembering | None:
        """Who is told of writes, if anybody is."""


class Remembering(Protocol):
    """A watch with a history."""

    @property
    def history(self) -> History:
        """Where what the buffer holds comes from."""

    @property
    def words(self) -> Words | None:
        """The record of the buffer, if it has one."""


@dataclass
class _Accessed:
    """What all launches access that differ in nothing but numbers.

    Attributes:
        reach: the elements.
        read: (name of the place, boxes).
        written: name of the place -> (box, whether what the launch leaves there follows from what it reads).
    """

    reach: Accesses
    read: Sequence[tuple[str, Sequence[Box]]]
    written: Mapping[str, Sequence[tuple[Box, bool]]]


class Source(NamedTuple):
    """What launches of a plan with the same arguments have in common.

    Attributes:
        itself: tells them from others.
        read: (memory that they read, boxes).
        written: see `Written`.
    """

    itself: bytes
    read: Sequence[tuple[Remembered, Sequence[Box]]]
    written: Mapping[str, Sequence[tuple[Box, bool]]]


class Sources:
    """Where what the launches of a plan write comes from.

    Args:
        compiled: what is launched.
        buffers: place name -> memory that is the same in every launch.
    """

    def __init__(self, compiled: CompiledProgram, buffers: Mapping[str, Remembered]) -> None:
        self._compiled, self._buffers = compiled, buffers
        self._itself = unique()
        self._params = compiled.program.params
        self._accessed: dict[int, _Accessed] = {}  # by the identity of the elements
        self._is_settled: bool | None = None

    def source(self, scalars: Scalars, arrays: Mapping[str, Remembered], reach: Accesses) -> Source:
        """What launches with the same arguments have in common.

        Args:
            scalars: the scalar arguments.
            arrays: the array arguments.
            reach: the elements that they may access.
        """
        accessed = self._accessed.get(id(reach))
        if accessed is None:
            accessed = self._access(scalars, arrays, reach)
        shapes = repr([(name, buffer.shape) for name, buffer in arrays.items()]).encode() if arrays else b""
        itself = self._itself + (scalar_bits(self._params, scalars) if self._params else b"")
        read = [((self._buffers[n] if n in self._buffers else arrays[n]), boxes) for n, boxes in accessed.read]
        return Source(itself + shapes, read, accessed.written)

    def written(self, source: Source) -> Written:
        """A launch, before it writes."""
        if self._is_settled is None:
            self._is_settled = _is_settled(self._compiled.program)
        if not self._is_settled:
            return unique(), source.written
        parts = [source.itself]
        for buffer, boxes in source.read:
            if buffer.shared:
                return unique(), source.written
            watch = buffer.watch
            if watch is None:
                parts.append(b"version " + buffer.version.to_bytes(8, "little", signed=True))
                continue
            history, words = watch.history, watch.words
            unseen = buffer.written if words is None else words[VERSION] & BY_MACHINE_CODE
            if history.unseen != unseen:
                history.settle(unseen)
            alone = history.tiles.alone(boxes[0]) if len(boxes) == 1 else None
            parts.append(history.digest(boxes) if alone is None else alone)
        return blake2b(b"".join(parts), digest_size=DIGEST).digest(), source.written

    def _access(self, scalars: Scalars, arrays: Mapping[str, Remembered], reach: Accesses) -> _Accessed:
        """What launches like this one access; noted."""
        shapes = {name: buffer.shape for name, buffer in arrays.items()}
        stored = must_access(self._compiled.program, scalars, shapes).written
        named = self._buffers.keys() | arrays.keys()
        read = [(name, tuple(reach.read[name])) for name in sorted(self._compiled.read & named & reach.read.keys())]
        written = {}
        for name, boxes in reach.written.items():
            settled = [*stored.get(name, ()), *reach.read.get(name, ())]
            written[name] = [(box, any(contains(one, box) for one in settled)) for box in boxes]
        if len(self._accessed) == MOST:
            self._accessed.clear()
        accessed = self._accessed[id(reach)] = _Accessed(reach, read, written)
        return accessed


def _is_settled(program: Program) -> bool:
    """Whether what it writes follows from what it reads, but for the last bits of sums."""
    return not any(
        op.opdef is RANDOM or (op.opdef is ATOMIC and op.result.uses)
        for task in program.tasks
        for op in task.body.walk()
    )
