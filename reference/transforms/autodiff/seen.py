"""What a kernel looks at: `seen(kernel, names) -> Seen`, and which loads decide its control flow: `deciding(kernel)`.

Requires: a verified kernel; names of places. Ensures: the kernel does what it did. Besides, each load of an element of
these places leaves its number in a mark, a place of its own that is zero when the kernel starts; of several loads of
one element the last in program order does.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from ...ir.builder import Builder
from ...ir.structure import Kernel, Op, Place, Region, Value
from ...ir.types import i32
from ..rewrite import clone_kernel
from .activity import flows

__all__ = ["Seen", "deciding", "seen"]


@dataclass
class Seen:
    """A kernel that leaves marks.

    Attributes:
        kernel: it.
        marks: name of a place -> the place of its marks (i32, of the same shape).
        sites: the loads by number; nothing is at 0.
    """

    kernel: Kernel
    marks: dict[str, Place] = field(default_factory=dict)
    sites: list[Op | None] = field(default_factory=lambda: [None])


def seen(kernel: Kernel, names: Collection[str]) -> Seen:
    """The kernel with marks for the places `names`."""
    kernel = clone_kernel(kernel)
    made = Seen(kernel)
    loaded = {op.attrs["place"].name for op in kernel.body.walk() if op.name == "load"}
    for name in sorted(loaded & set(names)):
        made.marks[name] = replace(kernel.places[name], name=f"{name}.seen", dtype=i32, kind="ndarray")
    kernel.places.update({mark.name: mark for mark in made.marks.values()})
    _mark(kernel.body, Builder(), made)
    return made


def _mark(region: Region, b: Builder, made: Seen) -> None:
    ops, region.ops = region.ops, []
    with b.into(region):
        for op in ops:
            for inner in op.regions:
                _mark(inner, b, made)
            mark = made.marks.get(op.attrs["place"].name) if op.name == "load" else None
            if mark is not None:
                with b.at(op.loc):
                    b.atomic("max", mark, op.operands, b.const(len(made.sites), i32))
                made.sites.append(op)
            region.ops.append(op)


def deciding(kernel: Kernel) -> set[Op]:
    """The loads whose values decide, or may decide, how often loops run and which branches are taken."""
    sources = _Sources()
    sources.region(kernel.body)
    found: set[Op] = set()
    known: set[Value] = set()
    work = [v for op in kernel.body.walk() for v in _decides(op)]
    while work:
        value = work.pop()
        if value not in known:
            known.add(value)
            work += sources.values.get(value, ())
            if value in sources.loads:
                found.add(sources.loads[value])
    return found


def _decides(op: Op) -> list[Value]:
    if op.name == "for":
        return op.operands[:2]
    if op.name in ("if", "parallel_for"):
        return op.operands
    return op.regions[0].terminator.operands[:1] if op.name == "while" else []


class _Sources:
    """Where values come from. What decides whether a value is made at all is decided elsewhere.

    Attributes:
        values: a value -> those that it may be made of.
        loads: a value that is loaded -> the load.
    """

    def __init__(self) -> None:
        self.values: dict[Value, list[Value]] = {}
        self.loads: dict[Value, Op] = {}

    def region(self, region: Region) -> None:
        for op in region.ops:
            self._op(op)
            for inner in op.regions:
                self.region(inner)

    def _op(self, op: Op) -> None:
        if op.name == "load":
            self.loads[op.result] = op
        if op.name == "array.store":
            self.values.setdefault(op.operands[0], []).extend(op.operands[1:])
        elif not op.regions:
            self.values.update((result, [*op.operands]) for result in op.results)
        for sources, targets in flows(op):
            for source, target in zip(sources, targets, strict=True):
                self.values.setdefault(target, []).append(source)
        if op.name in ("for", "parallel_for"):
            axes = op.regions[0].args if op.name == "parallel_for" else op.regions[0].args[:1]
            self.values.update((index, op.operands[2 * k : 2 * k + 2]) for k, index in enumerate(axes))
