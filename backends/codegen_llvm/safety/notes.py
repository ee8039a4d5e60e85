"""Notes: what a task remembers of the first access outside, until its function ends and the error record is written.

A note is taken by stores alone: a call in the middle of a task would make all registers live across it be saved and
loaded again, at each of many such places. It is about several accesses that were looked at together, and holds

    a pointer to a table   numbers that say what this note is about, see `Note`
    a mask                 the lanes that ran, unless all did
    values                 each once, of one lane or of all: indices of the iteration, indices and extents of accesses

Which access was the first outside is left to a function of the runtime, which compares indices with extents again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adstack.backends.shared.sites import Site, local_site
from adstack.ir.structure import Op, Place, Region, Value
from adstack.ir.types import DType, i64

from ..function.region import RegionEmitter
from ..function.target import HOST
from .accesses import FEW, bounds_of, extents_of, indices_of, is_guarded, length_of
from .checks import numbered, record

__all__ = [
    "ENTRY",
    "MASK_AT",
    "UNREAD",
    "Note",
    "note_first",
    "note_iteration",
    "open_notes",
    "record_notes",
    "report",
    "word_of",
]

MASK_AT: Final = 16
"""Where the mask of a note stands, in bytes."""
_MASK_BYTES: Final = 16
ENTRY: Final = 7
"""Numbers in a table for each value."""
_VALUE_BYTES: Final = 8
"""What a value takes at least. It is read as a word, so that a note needs as many bytes behind the last one."""

_FIRST: Final = "%outside.first"
UNREAD: Final = "%outside.unread"
_NEXT: Final = "%outside.next"
"""What is noted of the first access outside, and of later ones, which nobody reads; where the next note goes."""


def report(e: RegionEmitter, op: Op) -> None:
    """Record that an access was outside: of the processor's lanes the first in which it was, of a device's thread."""
    if e.target is HOST:
        note_first(e, [op])
        return
    number, limits = _site(e, op)
    record(e, str(number), "0", (*e.frame.indices, *indices_of(op)), limits)


def word_of(e: RegionEmitter, mask: str) -> str:
    """A mask as an integer, with a bit for each lane."""
    return e.w.let(f"bitcast {e.mask_type} {mask} to i{e.lanes}")


def note_first(e: RegionEmitter, accesses: Sequence[Op], note: Note | None = None) -> None:
    """Note accesses of an iteration, in program order, of which some was outside in a lane that runs.

    `note` is the one that their indices were written to as they were computed, if they were.
    """
    (note or Note(e)).close(accesses)


class Note:
    """Writes a note, and its table: numbers (i64).

    The number of lanes, and that of accesses; whether there is a mask, or all lanes ran; for each access its site, how
    many values are told of it, and for each value where it stands in the note, how far it is to that of the next lane
    (bytes), how many bits it has less than 64, whether it has a sign, by how much it grows from lane to lane if it
    stands there once, and what it should be below: a number, or where in the note that stands; -1 if neither.

    Values may be written before the note is closed, even if it never is: as long as no pointer to a table stands in it,
    it tells nothing.
    """

    def __init__(self, e: RegionEmitter) -> None:
        self.e = e
        self.base = e.w.let(f"load ptr, ptr {_NEXT}, align 8")
        self._places, self._end = dict(e.frame.noted), max(e.frame.noted_bytes, MASK_AT + _MASK_BYTES)
        self._table: list[int] = []

    def iteration(self) -> None:
        """Write the indices of the iteration ahead, for all notes that are taken in it."""
        for v in self.e.frame.indices:
            self._told(v)
        frame = self.e.frame
        frame.noted, frame.noted_bytes = self._places, self._end
        frame.note_bytes = max(frame.note_bytes, self._end + _VALUE_BYTES)

    def indices(self, op: Op) -> None:
        """Write the indices of an access ahead."""
        for v, extent in bounds_of(self.e, op):
            if extent:
                self._told(v)

    def _access(self, op: Op) -> None:
        """Write what is told of an access."""
        e = self.e
        number, limits = _site(e, op)
        values = [*((v, "") for v in e.frame.indices), *bounds_of(e, op)]
        self._table += [number, len(values) + len(limits)]
        for v, extent in values:
            self._table += [*self._told(v), *self._below(extent)]
        for name in limits:
            self._table += [*self._value(name, i64, 1), *self._below("")]

    def _told(self, v: Value) -> list[int]:
        """What is told of a value: of one that counts up the first lane, so that no vector is kept for it."""
        width, start = self.e.width(v), self.e.frame.starts.get(v, "")
        if width == 1 or not start:
            return self._value(self.e.at(v, width), v.dtype, width)
        place, *_ = self._value(start, i64, 1)
        return [place, 0, 64 - v.dtype.bits, v.dtype.kind == "i", 1]

    def _below(self, extent: str) -> tuple[int, int]:
        """What an index should be below: a number, or a place in the note; -1 if it is not that."""
        if extent.startswith("%"):
            return -1, self._value(extent, i64, 1)[0]
        return int(extent or -1), -1

    def _value(self, name: str, dtype: DType, width: int) -> list[int]:
        """What is told of a value, which is written once."""
        key = name, dtype
        if key not in self._places:
            bits = max(dtype.bits, 8)
            ty = f"i{bits}" if width == 1 else f"<{width} x i{bits}>"
            if dtype.is_bool:
                name = self.e.w.let(f"zext {self.e.mask_type if width > 1 else 'i1'} {name} to {ty}")
            self._places[key] = [self._end, bits // 8 * (width > 1), 64 - bits, dtype.kind == "i", 0]
            self._store(ty, name, self._end)
            self._end += max(bits // 8 * width, _VALUE_BYTES)
        return self._places[key]

    def _store(self, ty: str, name: str, offset: int) -> None:
        w = self.e.w
        w.do(f"store {ty} {name}, ptr {w.let(f'getelementptr i8, ptr {self.base}, i64 {offset}')}, align 8")

    def close(self, accesses: Sequence[Op]) -> None:
        """Write what is to be told of accesses; the next note is one that nobody reads."""
        e = self.e
        self._table = [e.lanes, len(accesses), e.mask is not None]
        if e.mask is not None:
            self._store(f"i{e.lanes}", word_of(e, e.mask), MASK_AT)
        for op in accesses:
            self._access(op)
        count = len(self._table)
        numbers = ", ".join(f"i64 {int(number)}" for number in self._table)
        table = f"@outside.{self._table[3]}"
        e.module.constant(table, f"[{count} x i64] [{numbers}]")
        e.w.do(f"store ptr {table}, ptr {self.base}, align 8")
        e.w.do(f"store ptr {UNREAD}, ptr {_NEXT}, align 8")
        e.frame.note_bytes = max(e.frame.note_bytes, self._end + _VALUE_BYTES, e.lanes * i64.size)


def _site(e: RegionEmitter, op: Op) -> tuple[int, list[str]]:
    """The number of the site of an access, and its extents, as i64, if a launch decides them."""
    types = tuple(v.dtype for v in indices_of(op))
    place: Place | None = op.attrs.get("place")
    if place is None:
        return numbered(e, local_site(op.operands[0], length_of(op), op.loc, types)), []
    limits = extents_of(e, op) if None in place.shape else []
    return numbered(e, Site("bounds", "", op.loc, (*types, *[i64] * len(limits)), place=place)), limits


def note_iteration(e: RegionEmitter, body: Region) -> None:
    """Write the indices of an iteration, where it begins, if there are many accesses that would tell them."""
    if e.target is HOST and sum(is_guarded(e, op) for op in body.walk()) > FEW:
        Note(e).iteration()


def open_notes(e: RegionEmitter) -> list[str]:
    """The lines of the entry block that make room for notes, if any are taken."""
    size = e.frame.note_bytes
    slots = [f"  {name} = alloca [{size} x i8], align 64" for name in (_FIRST, UNREAD)]
    slots += [f"  {_NEXT} = alloca ptr, align 8", f"  store ptr {_FIRST}, ptr {_NEXT}, align 8"]
    return [*slots, f"  store ptr null, ptr {_FIRST}, align 8"] if size else []


def record_notes(e: RegionEmitter) -> None:
    """Where the function ends: record the first access outside that was noted."""
    if not e.frame.note_bytes:
        return
    table = e.w.let(f"load ptr, ptr {_FIRST}, align 8")
    some, none = e.label("noted"), e.label("unnoted")
    e.split(e.w.let(f"icmp ne ptr {table}, null"), some, none, unlikely=True)
    e.enter(some)
    at = e.w.let(f"getelementptr i64, ptr %ctx, i64 {e.frame.outside}")
    e.w.do(f"call void {e.w.let(f'load ptr, ptr {at}, align 8')}(ptr %errors, ptr nocapture {_FIRST})")
    e.jump(none)
    e.enter(none)
