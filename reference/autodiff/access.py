"""Checks of the data access rule: `checked(kernel, names) -> Checked`.

Requires: a verified kernel, optimised with its accesses kept; names of places.
Ensures: the kernel does what it did. Besides, each read of an element of these places leaves a mark, the number of the
load, in a place of its own; the first write of a marked element leaves both numbers and the element's indices in the
record. Marks and record are zero when it starts. If only some loads count, a store that changes no bit does not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ..ir.builder import Builder
from ..ir.ops import LOAD, PLACE_ACCESSES, STORE
from ..ir.scalar_ops import AND, BITCAST, NE
from ..ir.structure import Kernel, Op, Place, Region, Value
from ..ir.types import DType, i32, u16, u32, u64
from ..transforms.rewriting.rewrite import clone_kernel
from .places import RECORD

__all__ = ["Checked", "checked"]


@dataclass
class Checked:
    """A kernel that checks.

    Attributes:
        kernel: the kernel with the checks.
        marks: name of a place -> the place of its marks (i32, of the same shape).
        record: i32: whether there is something, the number of a load, the number of the write that came later, and the
            element's indices.
        sites: the loads and writes, by number; nothing is at 0.
    """

    kernel: Kernel
    marks: dict[str, Place] = field(default_factory=dict)
    record: Place = field(default_factory=lambda: Place(RECORD, i32, (3,), "ndarray"))
    sites: list[Op | None] = field(default_factory=lambda: [None])


def checked(kernel: Kernel, names: Collection[str], counts: Callable[[Op], bool] | None = None) -> Checked:
    """The kernel with checks of the places `names` that it both reads and writes; `counts` says which loads matter."""
    kernel = clone_kernel(kernel)
    checked_kernel = Checked(kernel)
    accesses = [op for op in kernel.body.walk() if op.opdef in PLACE_ACCESSES]
    loaded = {op.attrs["place"].name for op in accesses if op.opdef is LOAD}
    written = {op.attrs["place"].name for op in accesses if op.opdef is not LOAD}
    for name in sorted(loaded & written & set(names)):
        checked_kernel.marks[name] = replace(kernel.places[name], name=f"{name}.read", dtype=i32, kind="ndarray")
    kernel.places.update({mark.name: mark for mark in checked_kernel.marks.values()})
    if checked_kernel.marks:
        checked_kernel.record = replace(
            checked_kernel.record, shape=(3 + max(mark.rank for mark in checked_kernel.marks.values()),)
        )
        kernel.places[RECORD] = checked_kernel.record
        _Marking(checked_kernel, counts).region(kernel.body)
    return checked_kernel


class _Marking:
    """Rebuilds regions with marks."""

    def __init__(self, checked_kernel: Checked, counts: Callable[[Op], bool] | None) -> None:
        self.kernel = checked_kernel
        self.counts = counts
        self.b = Builder()

    def region(self, region: Region) -> None:
        """Rebuild a region: its loads and writes of the watched places with their marks and checks."""
        ops, region.ops = region.ops, []
        with self.b.into(region):
            for op in ops:
                self._op(op)

    def _op(self, op: Op) -> None:
        for inner in op.regions:
            self.region(inner)
        mark = self.kernel.marks.get(op.attrs["place"].name) if op.opdef in PLACE_ACCESSES else None
        if mark is None or (op.opdef is LOAD and self.counts is not None and not self.counts(op)):
            self.b.region.ops.append(op)
            return
        with self.b.at(op.loc):
            number = self.b.const(len(self.kernel.sites), i32)
            self.kernel.sites.append(op)
            indices = op.operands[: mark.rank]
            if op.opdef is LOAD:
                self.b.atomic("max", mark, indices, number)
            else:
                self._check(op, mark, indices, number)
            self.b.region.ops.append(op)

    def _check(self, op: Op, mark: Place, indices: Sequence[Value], number: Value) -> None:
        """If the element was read, and nothing is on record yet, record it."""
        b = self.b
        read = b.load(mark, indices)
        wrong = b.gt(read, b.const(0, i32))
        if op.opdef is STORE and self.counts is not None:
            wrong = b.emit(AND, wrong, self._differs(op))
        report = Region()
        with b.into(report):
            before = b.atomic("cas", self.kernel.record, [b.const(0, i32)], b.const(0, i32), b.const(1, i32))
            b.if_(b.eq(before, b.const(0, i32)), self._entry([read, number, *indices]), _nothing(b))
            b.yield_()
        b.if_(wrong, report, _nothing(b))

    def _differs(self, op: Op) -> Value:
        """Whether a store changes the bits of its element."""
        place = op.attrs["place"]
        old, new = self.b.load(place, op.operands[: place.rank]), op.operands[place.rank]
        if place.dtype.is_float:
            bits = _BITS[place.dtype.size]
            old, new = (self.b.emit(BITCAST, v, to=bits) for v in (old, new))
        return self.b.emit(NE, old, new)

    def _entry(self, words: list[Value]) -> Region:
        """A region that writes these words to the record, from its second word on."""
        entry = Region()
        with self.b.into(entry):
            for k, word in enumerate(words, 1):
                self.b.store(self.kernel.record, [self.b.const(k, i32)], self.b.cast(word, i32))
            self.b.yield_()
        return entry


_BITS: Final[dict[int, DType]] = {2: u16, 4: u32, 8: u64}


def _nothing(b: Builder) -> Region:
    region = Region()
    with b.into(region):
        b.yield_()
    return region
