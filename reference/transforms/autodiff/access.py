"""Checks of the data access rule: `checked(kernel, names) -> Checked`.

Requires: a verified kernel, optimised with its accesses kept; names of places.
Ensures: the kernel does what it did. Besides, each read of an element of these places leaves a mark, the number of the
load, in a place of its own; the first write of a marked element leaves both numbers in the record. Marks and record are
zero when it starts.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Final

from ...ir.builder import Builder
from ...ir.structure import Kernel, Op, Place, Region, Value
from ...ir.types import i32
from ..rewrite import clone_kernel

__all__ = ["Checked", "checked"]

RECORD: Final = "access.record"


@dataclass
class Checked:
    """A kernel that checks.

    Attributes:
        kernel: it.
        marks: name of a place -> the place of its marks (i32, of the same shape).
        record: three i32: whether there is something, the number of a load, the number of the write that came later.
        sites: the loads and writes, by number; nothing is at 0.
    """

    kernel: Kernel
    marks: dict[str, Place] = field(default_factory=dict)
    record: Place = field(default_factory=lambda: Place(RECORD, i32, (3,), "ndarray"))
    sites: list[Op | None] = field(default_factory=lambda: [None])


def checked(kernel: Kernel, names: Collection[str]) -> Checked:
    """The kernel with checks of the places `names` that it both reads and writes."""
    kernel = clone_kernel(kernel)
    made = Checked(kernel)
    used = {op.name: set[str]() for op in kernel.body.walk()}
    for op in kernel.body.walk():
        if "place" in op.attrs:
            used[op.name].add(op.attrs["place"].name)
    written = used.get("store", set()) | used.get("atomic", set())
    for name in sorted(used.get("load", set()) & written & set(names)):
        made.marks[name] = replace(kernel.places[name], name=f"{name}.read", dtype=i32, kind="ndarray")
    kernel.places.update({mark.name: mark for mark in made.marks.values()})
    if made.marks:
        kernel.places[RECORD] = made.record
        _Marking(made).region(kernel.body)
    return made


class _Marking:
    """Rebuilds regions with marks."""

    def __init__(self, made: Checked) -> None:
        self.made = made
        self.b = Builder()

    def region(self, region: Region) -> None:
        ops, region.ops = region.ops, []
        with self.b.into(region):
            for op in ops:
                self._op(op)

    def _op(self, op: Op) -> None:
        for inner in op.regions:
            self.region(inner)
        mark = self.made.marks.get(op.attrs["place"].name) if op.name in ("load", "store", "atomic") else None
        if mark is None:
            self.b.region.ops.append(op)
            return
        with self.b.at(op.loc):
            number = self.b.const(len(self.made.sites), i32)
            self.made.sites.append(op)
            indices = op.operands[: mark.rank]
            if op.name == "load":
                self.b.atomic("max", mark, indices, number)
            else:
                self._check(mark, indices, number)
            self.b.region.ops.append(op)

    def _check(self, mark: Place, indices: list[Value], number: Value) -> None:
        """If the element was read, and nothing is on record yet, record it."""
        b, record = self.b, self.made.record
        zero, one, two = (b.const(k, i32) for k in (0, 1, 2))
        read = b.load(mark, indices)
        found, first, nothing = Region(), Region(), Region()
        with b.into(found):
            before = b.atomic("cas", record, [zero], zero, one)
            with b.into(first):
                b.store(record, [one], read)
                b.store(record, [two], number)
                b.yield_()
            with b.into(nothing):
                b.yield_()
            b.if_(b.eq(before, zero), first, nothing)
            b.yield_()
        otherwise = Region()
        with b.into(otherwise):
            b.yield_()
        b.if_(b.gt(read, zero), found, otherwise)
