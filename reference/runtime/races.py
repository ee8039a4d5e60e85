"""Launches that look for races, in debug mode, on backends that do not look for them themselves: `RaceCheck`.

The program leaves marks (`transforms/tasks/races.py`) in memory that each launch gets for them; what it has put on
record is read when it is done, so that the call which has raced raises.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ..errors import AdstackMemoryError, AdstackRaceError, InternalError
from ..interpreter.lanes import Box
from ..interpreter.overlap import Slots, Span, numbered
from ..interpreter.races import Access, Touch, race
from ..ir.opdef import OpDef
from ..ir.ops import ATOMIC, LOAD, STORE
from ..ir.structure import Place, Program
from ..ir.verify.verifier import asked, verify
from ..transforms.tasks.races import BASES, BOXES, MARKS, PAIRS, RECORD, Site, Watched, watched
from .memory.buffers import Array, Buffer
from .protocol.backend import Backend, Bindings, Executable, Scalars
from .protocol.options import Options

__all__ = ["RaceCheck"]

_ACCESS: Final = {STORE: Access.WRITE, LOAD: Access.READ, ATOMIC: Access.ATOMIC}
_APART: Final = 1 << 64
"""More than any address: what the host can't compare has addresses of its own, as far apart."""


class RaceCheck:
    """How a program is launched so that races are found.

    Attributes:
        executable: what launches run whose arguments do not overlap.
    """

    def __init__(self, program: Program, options: Options, backend: Backend, form: Watched | None) -> None:
        self._program, self._options, self._backend = program, options, backend
        self._apart = form, self._compiled(form)
        self._overlapping: tuple[Watched | None, Executable] | None = None
        self.executable = self._apart[1]

    @staticmethod
    def of(program: Program, options: Options, backend: Backend) -> RaceCheck | None:
        """How a program is launched in debug mode; None without debug mode, on a backend that looks for races itself,
        and for a program that races with no arguments.
        """
        if not options.debug or backend.capabilities.races or not program.tasks:
            return None
        form = watched(program, wide=backend.capabilities.wide_atomics)
        arguments = any(place.kind == "ndarray" for place in program.places.values())
        return None if form is None and not arguments else RaceCheck(program, options, backend, form)

    def _compiled(self, form: Watched | None) -> Executable:
        program = self._program if form is None else form.program
        if asked():
            verify(program)
        return self._backend.compile(program, self._options)

    def _form(self, *, everywhere: bool) -> tuple[Watched | None, Executable]:
        """The program with marks, and compiled; `everywhere` if arguments overlap."""
        if not everywhere:
            return self._apart
        if self._overlapping is None:
            form = watched(self._program, wide=self._backend.capabilities.wide_atomics, everywhere=True)
            self._overlapping = form, self._compiled(form)
        return self._overlapping

    def launch(self, scalars: Scalars, bindings: Bindings) -> Scalars:
        """Launch; AdstackRaceError if two iterations of a loop have raced."""
        slots, counts = numbered(dict(self._spans(bindings)))
        everywhere = len({own.memory for own in slots.values()}) < len(slots)
        form, executable = self._form(everywhere=everywhere)
        if form is None:
            return self._backend.launch(executable, scalars, bindings)
        layout = _Layout.of(form, slots, counts)
        buffers = self._buffers(form, layout)
        try:
            more = Bindings(
                {**bindings.storages, **{name: b.storage for name, b in buffers.items()}},
                {**bindings.shapes, **{name: b.shape for name, b in buffers.items()}},
                bindings.sized and not everywhere,
            )
            returned = self._backend.launch(executable, scalars, more)
            record = buffers[RECORD].read().tolist()
            if record[0]:
                raise _Conflict(form, layout, bindings.shapes, buffers[BOXES].read(), record).error()
            return returned
        finally:
            for buffer in buffers.values():
                buffer.drop()

    def _spans(self, bindings: Bindings) -> Iterator[tuple[str, Span]]:
        """Where the elements of each place are."""
        offered = self._backend.capabilities
        alone: dict[int, int] = {}
        for name, place in self._program.places.items():
            storage = bindings.storages.get(name)
            if storage is not None and (offered.direct or offered.addressed):
                start = self._backend.address(storage)
            else:
                start = _APART * (1 + alone.setdefault(id(place if storage is None else storage), len(alone)))
            yield name, Span(start, math.prod(_shape(place, bindings.shapes)), place.dtype.size)

    def _buffers(self, form: Watched, layout: _Layout) -> dict[str, Buffer]:
        """Zeros for what the program leaves, and where its marks begin."""
        shapes = {MARKS: (max(layout.count, 1), 2 * len(form.kinds))}
        buffers: dict[str, Buffer] = {}
        try:
            for name in (MARKS, BASES, BOXES, RECORD):
                place = form.program.places[name]
                shape = shapes.get(name) or _shape(place, {})
                buffers[name] = Buffer(self._backend, place.dtype, shape)
            buffers[BASES].write(np.array(layout.bases, np.int64))
        except AdstackMemoryError as error:
            for buffer in buffers.values():
                buffer.drop()
            raise AdstackMemoryError(
                f"{self._program.name}: looking for races takes {2 * len(form.kinds)} words of {form.dtype.bits} bits "
                f"for each of {layout.count} elements ({error.message})",
                do="launch it on less, or without debug=True",
            ) from error
        return buffers


def _shape(place: Place, shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    return shapes.get(place.name) or tuple(extent or 0 for extent in place.shape)


@dataclass(frozen=True)
class _Layout:
    """Where marks are.

    Attributes:
        bases: for each row of BASES where the elements of its place begin, and how far apart they are.
        ends: for each of them where the elements of its memory end.
        count: how many elements there are in all loops.
    """

    bases: list[tuple[int, int]]
    ends: list[int]
    count: int

    @staticmethod
    def of(form: Watched, slots: Mapping[str, Slots], counts: Sequence[int]) -> _Layout:
        begins: dict[tuple[int, int], int] = {}
        bases, ends, count = [], [], 0
        for loop, name in form.rows:
            own = slots[name]
            begin = begins.setdefault((loop, own.memory), count)
            count = max(count, begin + counts[own.memory])
            bases.append((begin + own.first, own.step))
            ends.append(begin + counts[own.memory])
        return _Layout(bases, ends, count)


class _Conflict:
    """A row of marks that has a conflict, as it stands on record."""

    def __init__(
        self,
        form: Watched,
        layout: _Layout,
        shapes: Mapping[str, tuple[int, ...]],
        boxes: Array,
        record: Sequence[int],
    ) -> None:
        self._form, self._layout, self._shapes, self._boxes = form, layout, shapes, boxes
        self._row, words = form.top - record[0], record[1:]
        self._marks = {
            kind: (form.top - words[2 * k], words[2 * k + 1] - 1)
            for k, kind in enumerate(form.kinds)
            if words[2 * k + 1]
        }

    def error(self) -> AdstackRaceError:
        """The error that names both iterations."""
        one, other = self._pair()
        site = self._site(*one)
        base, step = self._layout.bases[self._form.rows.index(site.row)]
        place: Place = site.op.attrs["place"]
        shape, element = _shape(place, self._shapes), (self._row - base) // step
        index = tuple(map(int, np.unravel_index(element, shape))) if shape else ()
        return race(place.called, index, self._touch(*one), self._touch(*other))

    def _pair(self) -> tuple[tuple[OpDef, int], tuple[OpDef, int]]:
        """Two marks that conflict: (row of the access, mark)."""
        for kind, other in ((STORE, STORE), *PAIRS):
            for one in self._marks.get(kind, ())[::-1]:
                for mark in self._marks.get(other, ()):
                    if one >> self._form.shift != mark >> self._form.shift:
                        return (kind, one), (other, mark)
        raise InternalError("a row of marks without a conflict is on record")

    def _site(self, kind: OpDef, mark: int) -> Site:
        """The access that left a mark; of narrow marks the first that may have."""
        form, layout = self._form, self._layout
        if form.wide:
            return form.sites[mark & ((1 << form.shift) - 1)]
        places = zip(form.rows, layout.bases, layout.ends, strict=True)
        inside = [row for row, (base, _), end in places if base <= self._row < end]
        return next(site for site in form.sites if site.op.opdef is kind and site.row in inside)

    def _touch(self, kind: OpDef, mark: int) -> Touch:
        site = self._site(kind, mark)
        bounds = self._boxes[site.loop].tolist()
        end = 2 * self._form.axes[site.loop]
        lows, highs = bounds[:end:2], bounds[1:end:2]
        box = Box(tuple(lows), tuple(hi - lo for lo, hi in zip(lows, highs, strict=True)))
        return _ACCESS[kind], box.point(mark >> self._form.shift), site.op.loc
