"""What each call of a program keeps of memory, decided from where calls read and write: `Keeping`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ...analysis.boxes import Box, include, intersection
from ...errors import AdstackMemoryError
from ...ir.types import i32
from ...runtime.adstacks.budget import current
from ...runtime.memory.buffers import Buffer
from ...runtime.protocol.following import Bound, Lent, Move, SequenceCall
from ..memory.undo import Touched
from ..modes.differentiated import with_arrays
from .lending import Lending

if TYPE_CHECKING:
    from ...launch.arguments import Call
    from ...runtime.plans import Plan
    from ...runtime.protocol.backend import Backend, Storage
    from ..modes.differentiated import Differentiated
    from .steps import Step

__all__ = ["Keeping", "include_all"]

_FREE_BYTES: Final = 1 << 12
_TIMES: Final = 4
"""A call is followed if what is kept for it takes at most so many bytes, or so many times what it took when it was
recorded: then elements were compared, and only those kept that had changed."""

Range = tuple[int, int]
"""Flat positions, the second not included."""


class Keeping:
    """Makes calls of a sequence, one after the other.

    Args:
        backend: where they run.

    Attributes:
        memory: what is kept, and copies of memory as it was before a launch.
        kept: for each call, what it keeps: (what the user calls the memory, how many elements, bytes).
        beside: for each call, what its reverse mode reads as memory from before the launch, by the names of places.
        calls: each with memory for what arrays of the host hold; None for what is not followed.
        lent: these arrays, of each call.
        lending: the memory for them.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.memory: list[Buffer] = []
        self.kept: list[list[tuple[str, int, int]]] = []
        self.beside: list[Mapping[str, Buffer]] = []
        self.calls: list[Call | None] = []
        self.lent: list[Sequence[Lent]] = []
        self.lending = Lending(backend)
        self._needed: dict[int, Touched] = {}
        self._beside: dict[object, Buffer] = {}
        self._between: dict[int, Buffer] = {}
        self._whole: dict[int, Buffer] = {}
        self._latest: Mapping[str, Buffer] = {}

    def skip(self) -> None:
        """Note that something stands between the calls that is not followed."""
        self._note([], {}, None, ())

    def _note(
        self, kept: list[tuple[str, int, int]], beside: Mapping[str, Buffer], call: Call | None, lent: Sequence[Lent]
    ) -> None:
        """Note what belongs to one more call."""
        self.kept.append(kept)
        self.beside.append(beside)
        self.calls.append(call)
        self.lent.append(lent)

    def add(self, step: Step) -> SequenceCall | None:
        """The next call; None, and nothing is added, if too much would have to be kept."""
        include_all(self._needed, step.before)
        regions = [(one, ranges) for one in step.written if (ranges := self._overwritten(one))]
        wanted = sum((end - start) * one.buffer.dtype.size for one, ranges in regions for start, end in ranges)
        keeps = wanted or any(one.is_needed for one in step.lent)
        if wanted > max(_FREE_BYTES, _TIMES * step.nbytes) or (keeps and current().limit):
            return None
        self._whole.clear()
        try:
            saves = [move for one, ranges in regions for move in self._saves(one.buffer, ranges)]
            lent, memory = self.lending.of(step.lent)
            bound = with_arrays(step.call, memory) if memory else step.call
            call = self._call(step, bound, saves, lent)
        except (MemoryError, AdstackMemoryError):
            return None
        self.lending.add(step.lent, lent, memory)
        include_all(self._needed, step.after)
        sizes = [(one, sum(end - start for start, end in ranges)) for one, ranges in regions]
        kept = [(one.label, size, size * one.buffer.dtype.size) for one, size in sizes]
        self._note(kept, {} if step.mode is None else self._latest, bound, lent)
        return call

    def _overwritten(self, written: Touched) -> list[Range]:
        """The elements that are written and that a call up to this one needs, and perhaps some between them."""
        needed = self._needed.get(id(written.buffer))
        if needed is None:
            return []
        common = (intersection(one, other) for one in written.boxes for other in needed.boxes)
        return _merged(_range(written.buffer, box) for box in common if box is not None)

    def _saves(self, buffer: Buffer, ranges: Sequence[Range]) -> Iterator[Move]:
        """Copies of elements, into memory of their own."""
        size, count = buffer.dtype.size, sum(end - start for start, end in ranges)
        entire = count == math.prod(buffer.shape)
        memory = Buffer(buffer.backend, buffer.dtype, buffer.shape if entire else (count,))
        self.memory.append(memory)
        if entire:
            self._whole[id(buffer)] = memory
        at = 0
        for start, end in ranges:
            yield Move(buffer.storage, start * size, memory.storage, at * size, (end - start) * size)
            at += end - start

    def _later(self, saves: Sequence[Move]) -> Iterator[Move]:
        """Exchange what was saved with what is there."""
        for save in saves:
            between = self._memory_between(save.nbytes)
            yield Move(save.source, save.start, between, 0, save.nbytes)
            yield Move(save.target, save.at, save.source, save.start, save.nbytes)
            yield Move(between, 0, save.target, save.at, save.nbytes)

    def _memory_between(self, nbytes: int) -> Storage:
        """Memory of some size, or somewhat more, that is used by one exchange after the other."""
        size = 1 << max(nbytes - 1, 1).bit_length()
        if size not in self._between:
            self._between[size] = Buffer(self._backend, i32, (max(size // i32.size, 1),))
        return self._between[size].storage

    def _call(self, step: Step, call: Call, saves: Sequence[Move], lent: Sequence[Lent]) -> SequenceCall:
        plan, words = step.specialisation.plan, [*step.words]
        forward = Bound(plan.compiled.executable, tuple(call.scalars), plan.bind(call.arrays))
        if step.mode is None:
            return SequenceCall(step.follower, forward, None, saves, [*self._later(saves)], (), words, lent)
        copies = self._copies(step, saves)
        reverse, arrays = step.mode.plan, {**call.arrays, **copies}
        bound = Bound(
            *(reverse.compiled.executable, tuple(call.scalars), reverse.bind(arrays), reverse.compiled.written),
            *_sizes(reverse, arrays, {one.place for one in lent}),
        )
        memory = {**plan.buffers, **call.arrays}
        originals = ((memory[step.mode.beside[alias]], copy) for alias, copy in copies.items())
        apart = ((one, copy) for one, copy in originals if copy is not one and copy is not self._whole.get(id(one)))
        moves = [move for one, copy in apart for move in _copied(one, copy, saves)]
        self._latest = copies
        return SequenceCall(step.follower, forward, bound, saves, [*self._later(saves)], moves, words, lent)

    def _copies(self, step: Step, saves: Sequence[Move]) -> Mapping[str, Buffer]:
        """What a reverse mode reads instead of memory from before the launch, by the names of its places.

        Where the reverse mode only reads, memory of which the launch has overwritten nothing that is needed is still
        what it was, and memory of which all is saved is there as it was. One that writes, because it runs parts of the
        launch again, has a copy: neither what is there now nor what the launch before finds may be lost.
        """
        mode: Differentiated | None = step.mode
        assert mode is not None
        memory, copies = {**step.specialisation.plan.buffers, **step.call.arrays}, dict[str, Buffer]()
        for alias, name in mode.beside.items():
            original, is_written = memory[name], alias in mode.plan.compiled.written
            changed = any(save.source is original.storage for save in saves)
            saved = None if is_written else self._whole.get(id(original))
            copies[alias] = saved or (self._copy(mode, alias, original) if changed or is_written else original)
        return copies

    def _copy(self, mode: Differentiated, alias: str, original: Buffer) -> Buffer:
        key = id(mode), alias, original.shape
        copy = self._beside.get(key)
        if copy is None:
            copy = self._beside[key] = Buffer(original.backend, original.dtype, original.shape)
        return copy


def _sizes(plan: Plan, arrays: Mapping[str, Buffer], lent: set[str]) -> tuple[Sequence[Buffer] | None, int]:
    """The memory that depths of adstacks depend on, None if on more than memory whose writes are noted, and by how many
    parallel loops.
    """
    if plan.sizing is None:
        return (), 0
    memory = {**plan.buffers, **arrays}
    is_more = plan.sizing.transient or not lent.isdisjoint(plan.sizing.reads)
    reads = None if is_more else [memory[name] for name in plan.sizing.reads]
    return reads, plan.sizing.reductions


def _copied(original: Buffer, copy: Buffer, saves: Iterable[Move]) -> Iterator[Move]:
    """Moves that make a copy of memory as it was before what was saved of it was overwritten."""
    yield Move(original.storage, 0, copy.storage, 0, original.nbytes)
    for save in saves:
        if save.source is original.storage:
            yield Move(save.target, save.at, copy.storage, save.start, save.nbytes)


def _range(buffer: Buffer, box: Box) -> Range:
    """From the first element of a box to the last one."""
    return buffer.flat(tuple(low for low, _ in box)), buffer.flat(tuple(high for _, high in box)) + 1


def _merged(ranges: Iterable[Range]) -> list[Range]:
    """The same positions, each once."""
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def include_all(by_memory: dict[int, Touched], more: Iterable[Touched]) -> None:
    """More elements, by memory."""
    for one in more:
        boxes = by_memory.setdefault(id(one.buffer), Touched(one.label, one.buffer, []))
        assert isinstance(boxes.boxes, list)
        for box in one.boxes:
            include(boxes.boxes, box)
