"""Whether memory was computed again: by the same launches, from the same contents.

A state that a program computes anew, to differentiate a step that it did not keep, may differ from the first one in the
last bits: float atomics come in another order. It is a state of the same program all the same. `is_recomputed` tells so
from who wrote what: every watched buffer has a list of its latest writes, each of which knows what it read. Two
stretches of writes are alike if they are launches of the same programs with the same scalars, in the same order, up to
one that certainly wrote every element in question; and if what each of them read was alike in turn. Launches that draw
random numbers are never alike. Versions can't tell all that: a state that was computed again has another one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol
from weakref import ReferenceType, ref

from ...analysis.boxes import Box, contains, intersection
from ...analysis.may_access import Accesses
from ...analysis.must_access import must_access
from ...ir.ops import RANDOM
from ...ir.structure import Program
from ..protocol.backend import Backend, Scalars
from .scalar_bits import scalar_bits

__all__ = ["History", "Sources", "Written", "is_recomputed"]

MOST: Final = 4096
"""How many writes are remembered for each buffer."""
DEPTH: Final = 64
"""How many launches that were made again may follow from each other."""


class CompiledProgram(Protocol):
    """What was made of a program: see `compiled.Compiled`."""

    @property
    def program(self) -> Program:
        """The lowered program."""

    @property
    def read(self) -> frozenset[str]:
        """The names of the places that it may read."""

    def reach(self, scalars: Scalars, shapes: Mapping[str, tuple[int, ...]]) -> Accesses:
        """Which elements a launch with these scalars and extents may access."""


class Remembered(Protocol):
    """Memory whose writes may be on record: see `buffers.Buffer`."""

    @property
    def backend(self) -> Backend:
        """Whose memory it is."""

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
        """What has been written since the watch began."""


class Launched(Protocol):
    """What launches a program: see `plans.Plan`."""

    @property
    def compiled(self) -> CompiledProgram:
        """What is launched."""

    @property
    def sources(self) -> Sources:
        """Where the contents of what it reads come from."""


class Sources:
    """The memory that all launches of a plan read, rather than one of them as an argument.

    Args:
        plan: whose launches; only a weak reference to it is kept.
        compiled: what it launches.
        buffers: place name -> memory that is the same in every launch.

    Attributes:
        plan, references: weak references to the plan, and to the memory.
        memory: (place name, memory).
    """

    def __init__(self, plan: Launched, compiled: CompiledProgram, buffers: Mapping[str, Remembered]) -> None:
        self.plan = ref(plan)
        self.memory = [(name, buffers[name]) for name in compiled.read & buffers.keys()]
        self.references = {name: ref(buffer) for name, buffer in self.memory}


class Written:
    """One launch that wrote watched memory, or, without a plan, writes of the host.

    Args:
        number: how many launches there had been before.
        plan: what was launched.
        scalars: its scalar arguments.
        arrays: its array arguments.

    Attributes:
        moment: when, see `after`: the host writes between two launches.
        shapes: extents of these.
        unwatched: what is known of memory that it read and whose history is not watched.
    """

    __slots__ = ("_memory", "_plan", "moment", "number", "scalars", "shapes", "unwatched")

    def __init__(
        self,
        number: int,
        plan: Launched | None = None,
        scalars: Scalars = (),
        arrays: Mapping[str, Remembered] | None = None,
    ) -> None:
        self.number, self.scalars = number, tuple(scalars)
        self.moment = after(number) + (plan is not None)
        self.shapes: Mapping[str, tuple[int, ...]] = {}
        self.unwatched: dict[str, object] = {}
        self._plan: ReferenceType[Launched] | None = None
        self._memory: Mapping[str, ReferenceType[Remembered]] = {}
        if plan is not None:
            sources = plan.sources
            self._plan, self._memory = sources.plan, sources.references
            self._settle(sources.memory)
            if arrays:
                self._add(plan, arrays)

    def _add(self, plan: Launched, arrays: Mapping[str, Remembered]) -> None:
        """Array arguments, too."""
        self.shapes = {name: buffer.shape for name, buffer in arrays.items()}
        read = [(name, arrays[name]) for name in plan.compiled.read & arrays.keys()]
        self._memory = {**self._memory, **{name: ref(buffer) for name, buffer in read}}
        self._settle(read)

    def _settle(self, memory: Iterable[tuple[str, Remembered]]) -> None:
        """Note what is known of memory that is about to be read."""
        for name, buffer in memory:
            if buffer.shared:
                self.unwatched[name] = object()  # equal to nothing: others may have written it
            elif buffer.watch is None:
                self.unwatched[name] = buffer.version
            else:
                buffer.watch.history.settle(self.number, buffer.written)

    @property
    def plan(self) -> Launched | None:
        """What was launched, if anything was, and it is still there."""
        return None if self._plan is None else self._plan()

    @property
    def memory(self) -> dict[str, Remembered | None]:
        """What it read, as far as it is still there: memory by the names of places."""
        return {name: reference() for name, reference in self._memory.items()}


class History:
    """The latest writes of one buffer: (who, the name of the place, boxes; None for all elements), oldest first."""

    def __init__(self) -> None:
        self._writes: deque[tuple[Written, str, Sequence[Box] | None]] = deque(maxlen=MOST)
        self._unseen = 0

    def settle(self, number: int, unseen: int) -> None:
        """Add the writes of machine code since the last call, which it does not announce: as one of all elements.

        Args:
            number: how many launches there were up to now.
            unseen: how many such writes there were up to now.
        """
        if unseen != self._unseen:
            self._unseen = unseen
            self._writes.append((Written(number - 1), "", None))

    def add(self, written: Written, name: str, boxes: Sequence[Box] | None) -> None:
        """Add a write of some boxes of elements (None: of any), by a launch that calls the buffer `name`."""
        self._writes.append((written, name, boxes))

    def writers(self, boxes: Sequence[Box], moment: int | None) -> list[Written] | None:
        """Who made what is, or before a moment was, in some boxes, latest first; None if that is not known."""
        writers: list[Written] = []
        for written, name, region in reversed(self._writes):
            if moment is not None and written.moment >= moment:
                continue
            if region is None or any(intersection(one, box) is not None for one in region for box in boxes):
                writers.append(written)
                if _covers(written, name, boxes):
                    return writers
        return None if len(self._writes) == MOST else writers


def _covers(written: Written, name: str, boxes: Sequence[Box]) -> bool:
    """Whether a launch certainly stored to every element of some boxes, whatever was there."""
    plan = written.plan
    if plan is None or name in plan.compiled.read:
        return False
    stored = must_access(plan.compiled.program, written.scalars, written.shapes).written.get(name, ())
    return all(any(contains(one, box) for one in stored) for box in boxes)


def _draws_random(program: Program) -> bool:
    return any(op.opdef is RANDOM for task in program.tasks for op in task.body.walk())


def after(number: int) -> int:
    """The moment after so many launches, before the host writes anything else and the next launch reads it."""
    return 2 * number


def is_recomputed(buffer: Remembered, boxes: Sequence[Box], number: int) -> bool:
    """Whether launches computed elements again as they were before, going by what the launches were.

    Args:
        buffer: the memory, which knows the launches that wrote it.
        boxes: which elements: per axis the first and the last index, both inside.
        number: how many launches there had been when the elements were as they are to be.
    """
    return _Comparison().alike(buffer, boxes, after(number), None, DEPTH)


class _Comparison:
    """Compares states of memory, each pair of launches once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Written, Written], bool] = {}

    def alike(self, buffer: Remembered, boxes: Sequence[Box], one: int | None, other: int | None, depth: int) -> bool:
        """Whether the same launches made what was in some boxes before two moments (None: what is there now)."""
        if buffer.watch is None or buffer.shared:
            return False
        buffer.watch.history.settle(buffer.backend.launches, buffer.written)
        some, others = (buffer.watch.history.writers(boxes, moment) for moment in (one, other))
        if some is None or others is None or len(some) != len(others):
            return False
        return all(a is b or self._launches(a, b, depth - 1) for a, b in zip(some, others, strict=True))

    def _launches(self, one: Written, other: Written, depth: int) -> bool:
        if (one, other) not in self._known:
            self._known[one, other] = self._compared(one, other, depth)
        return self._known[one, other]

    def _compared(self, one: Written, other: Written, depth: int) -> bool:
        plan, memory = one.plan, one.memory
        if plan is None or plan is not other.plan or _draws_random(plan.compiled.program):
            return False
        params = plan.compiled.program.params
        if scalar_bits(params, one.scalars) != scalar_bits(params, other.scalars):
            return False
        if depth == 0 or one.unwatched != other.unwatched or memory != other.memory:
            return False
        read = plan.compiled.reach(one.scalars, one.shapes).read
        return all(
            buffer is not None and self.alike(buffer, read.get(name, ()), one.moment, other.moment, depth)
            for name, buffer in memory.items()
            if name not in one.unwatched
        )
