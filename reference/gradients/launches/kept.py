"""Launches that overwrite what their own reverse pass needs: made so that it is kept.

The first way that works is taken: the launch as it is, with copies of what it is about to overwrite; the kernel's
stretches one by one, each with such copies; the launch with a log of the values that it loads. See `recorded.py`, which
makes launches under a tape in the same ways.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ...errors import AdstackDataAccessError, AdstackError, AdstackMemoryError
from ...ir.ops import ATOMIC, LOAD, PLACE_WRITES, RANDOM
from ...launch.specialisation import Specialisation
from ...runtime.memory.buffers import Buffer
from ...runtime.state import Runtime
from ...transforms.tasks.crossing import Segment, segments
from ..events import Launch, memory_of
from ..journal import JournaledLaunch
from ..modes.companions import accompanied
from ..modes.compiled import derived, differentiated, journaled, parted
from ..modes.differentiated import Differentiated
from ..modes.state import Beside, Way, state_of

if TYPE_CHECKING:
    from ...launch.arguments import Call

__all__ = ["KeptLaunch", "kept_launches", "kept_way", "loaded", "reversing"]


def kept_way(specialisation: Specialisation, names: Collection[str], runtime: Runtime) -> Way | None:
    """How launches of a specialisation have to be made, if its reverse pass reads the places `names`.

    None if it needs nothing that the launch overwrites.
    """
    if not _may_lose(specialisation, names):
        return None
    try:
        derived(specialisation, "reverse", runtime)
    except AdstackDataAccessError:
        return _way(specialisation, runtime)
    except AdstackError:
        return None  # .grad() will say why
    return None


def loaded(specialisation: Specialisation) -> set[str]:
    """The places that the kernel reads."""
    places = (op.attrs["place"] for op in specialisation.kernel.body.walk() if "place" in op.attrs and op.opdef.reads)
    return {place.name for place in places if place.role == "primal" and place.kind != "temp"}


def _may_lose(specialisation: Specialisation, names: Collection[str]) -> bool:
    """Whether the reverse pass may need something that the launch does not leave behind."""
    for op in specialisation.kernel.body.walk():
        if op.opdef is RANDOM or (op.opdef in PLACE_WRITES and op.attrs["place"].name in names):
            return True
        if op.opdef is ATOMIC and (op.attrs["kind"] != "add" or op.result.uses):
            return True
    return any(_rewrites_local(segment) for segment in segments(specialisation.kernel.body))


def _rewrites_local(segment: Segment) -> bool:
    """Whether a stretch of the kernel reads a shared local that it writes."""
    temps = [op for op in segment.walk() if "place" in op.attrs and op.attrs["place"].kind == "temp"]
    read = {op.attrs["place"].name for op in temps if op.opdef is LOAD}
    return any(op.opdef is not LOAD and op.attrs["place"].name in read for op in temps)


def _way(specialisation: Specialisation, runtime: Runtime) -> Way | None:
    """The first way in which the launch can be made; None if there is none."""
    try:
        derived(specialisation, "rewinding", runtime)
    except AdstackDataAccessError:
        pieces = parted(specialisation, runtime)
    else:
        return "rewinding"
    try:
        for piece in pieces:
            derived(piece, "rewinding", runtime)
        if not pieces:
            journaled(specialisation, runtime)
    except AdstackDataAccessError:
        return _journaled_way(specialisation, runtime)
    return "parted" if pieces else "journaled"


def _journaled_way(specialisation: Specialisation, runtime: Runtime) -> Way | None:
    try:
        journaled(specialisation, runtime)
    except AdstackDataAccessError:
        return None
    return "journaled"


@dataclass(eq=False)
class KeptLaunch:
    """A launch, or a stretch of one, with what its reverse pass needs and it overwrites.

    Attributes:
        specialisation: what is launched.
        number: the backend's, once it has been.
        copies: name of the place in reverse mode -> what the memory beside it held before.
        journaled: the launch with its log, if that is how it is made.
        spare: memory of an earlier launch like it, which may be used for the copies.
        complete: whether there was memory for everything.
    """

    specialisation: Specialisation
    runtime: Runtime
    number: int = 0
    copies: dict[str, Buffer] = field(default_factory=dict)
    journaled: JournaledLaunch | None = None
    spare: dict[str, Buffer] = field(default_factory=dict)
    complete: bool = True

    @property
    def nbytes(self) -> int:
        """What is kept for it."""
        logs = {} if self.journaled is None else self.journaled.logs
        return sum(buffer.nbytes for buffer in (*self.copies.values(), *logs.values()))

    def wanted(self, call: Call) -> int:
        """How many bytes a call is known to keep before it is launched."""
        if self.journaled is not None:
            return 0
        buffers = {**self.specialisation.plan.buffers, **call.arrays}
        return sum(buffers[name].nbytes for name in _beside(self.specialisation, self.runtime).values())

    def launch(self, call: Call, run: Callable[[Call], object] | None = None) -> object:
        """Launch a call, by `run` if it is given, and keep what its reverse mode needs; the value that is returned."""
        try:
            if self.journaled is not None:
                return self.journaled.launch()
            self._copy({**self.specialisation.plan.buffers, **call.arrays})
            return self.specialisation.run(call) if run is None else run(call)
        finally:
            self.number = self.specialisation.plan.backend.launches

    def _copy(self, buffers: dict[str, Buffer]) -> None:
        """Copy what is about to be overwritten, if there is memory for that."""
        try:
            for alias, name in _beside(self.specialisation, self.runtime).items():
                self.copies[alias] = _copied(buffers[name], self.spare.pop(alias, None))
        except (MemoryError, AdstackMemoryError):
            self.complete = False
            self.copies.clear()

    def told(self, call: Call) -> Iterator[str]:
        """What a call keeps, for people, a line each."""
        if self.journaled is not None:
            yield from (f"a launch logs {log.label}" for log in self.journaled.ways.mode.logs)
            return
        for name in _beside(self.specialisation, self.runtime).values():
            ((label, buffer),) = memory_of(self.specialisation, call, frozenset((name,)))
            yield f"a launch copies {label} before it writes it: {buffer.nbytes} bytes"

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Extents of what its reverse mode reads of what was kept."""
        logs = {} if self.journaled is None else self.journaled.logs
        return {name: buffer.shape for name, buffer in (*self.copies.items(), *logs.items())}

    @property
    def mode(self) -> Differentiated:
        """Its reverse mode."""
        if self.journaled is not None:
            assert self.journaled.mode is not None
            return self.journaled.mode
        return differentiated(self.specialisation, "rewinding", self.runtime, strict=False)

    def reversed(self, call: Call) -> Launch:
        """The launch in reverse mode, on the arrays of a call; memory must be as it was just after it."""
        if self.journaled is not None:
            return replace(self.journaled, call=call)
        return _WithCopies(self.specialisation, call, self.mode, copies=self.copies)


@dataclass
class _WithCopies(Launch):
    """A launch whose overwritten memory was copied before it."""

    copies: dict[str, Buffer]

    def _propagate(self, mode: Differentiated) -> None:
        written = mode.plan.compiled.written & self.copies.keys()
        scratch = {alias: _copied(self.copies[alias]) for alias in written}  # the launch is made again in it
        try:
            mode.launch(self.call, {**self.copies, **scratch})
        finally:
            _drop(scratch)


def _beside(specialisation: Specialisation, runtime: Runtime) -> Mapping[str, str]:
    """See `Derived.beside`, of the mode that reads memory from before the launch."""
    state, places = state_of(specialisation), accompanied(specialisation, "grad")
    if state.beside is None or state.beside.places is not places:
        state.beside = Beside(places, derived(specialisation, "rewinding", runtime).beside)
    return state.beside.names


def _copied(buffer: Buffer, spare: Buffer | None = None) -> Buffer:
    """A copy of the memory; `spare` is reused for it where it fits."""
    copy = spare
    if copy is None or not copy.alive or copy.shape != buffer.shape:
        copy = Buffer(buffer.backend, buffer.dtype, buffer.shape)
    if not copy.copy_from(buffer):
        copy.write(buffer.read())
    return copy


def _drop(copies: dict[str, Buffer]) -> None:
    for buffer in copies.values():
        buffer.drop()


def kept_launches(
    specialisation: Specialisation, call: Call, way: Way | None, runtime: Runtime
) -> Sequence[KeptLaunch]:
    """The launches that a call is made of, one after the other, to be kept in this way; none if `way` is None."""
    if way is None:
        return ()
    if way == "parted":
        return [KeptLaunch(piece, runtime) for piece in parted(specialisation, runtime)]
    if way == "rewinding":
        return [KeptLaunch(specialisation, runtime)]
    ways = journaled(specialisation, runtime)
    return [KeptLaunch(specialisation, runtime, journaled=JournaledLaunch(specialisation, call, ways.backward, ways))]


def reversing(
    specialisation: Specialisation, call: Call, runtime: Runtime
) -> tuple[Sequence[Differentiated], Sequence[str]]:
    """The reverse modes that differentiate a launch outside a tape, and in words what the launch keeps for them.

    AdstackDataAccessError if no launch can keep what is needed.
    """
    try:
        return [differentiated(specialisation, "reverse", runtime)], ()
    except AdstackDataAccessError:
        pieces = kept_launches(specialisation, call, _way(specialisation, runtime), runtime)
        if not pieces:
            raise
        lines = dict.fromkeys(line for piece in pieces for line in piece.told(call))
        return [piece.mode for piece in pieces], [*lines]
