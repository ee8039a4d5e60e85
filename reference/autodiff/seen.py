"""What a kernel looks at: `seen(kernel, names) -> Seen`, what it writes: `written(kernel, names) -> Seen`, and which
loads decide its control flow: `deciding(kernel)`.

Requires: a verified kernel; names of places. Ensures: the kernel does what it did. Besides, each load (each store and
atomic update) of an element of these places leaves its number in a mark, a place of its own that is zero when the
kernel starts; of several of one element the last in program order does.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from ..ir.builder import Builder
from ..ir.opdef import OpDef
from ..ir.ops import LOAD, PLACE_WRITES
from ..ir.structure import Kernel, Op, Place, Region
from ..ir.types import i32
from ..transforms.rewriting.rewrite import clone_kernel
from .activities.origins import Origins, decides

__all__ = ["Seen", "deciding", "seen", "written"]


@dataclass
class Seen:
    """A kernel that leaves marks.

    Attributes:
        kernel: it.
        marks: name of a place -> the place of its marks (i32, of the same shape).
        sites: the accesses by number; nothing is at 0.
    """

    kernel: Kernel
    marks: dict[str, Place] = field(default_factory=dict)
    sites: list[Op | None] = field(default_factory=lambda: [None])


def seen(kernel: Kernel, names: Collection[str]) -> Seen:
    """The kernel with marks for what it reads of the places `names`."""
    return _marked(kernel, names, "seen", (LOAD,))


def written(kernel: Kernel, names: Collection[str]) -> Seen:
    """The kernel with marks for what it writes of the places `names`, whether or not that changes anything."""
    return _marked(kernel, names, "written", PLACE_WRITES)


def _marked(kernel: Kernel, names: Collection[str], title: str, opdefs: Collection[OpDef]) -> Seen:
    kernel = clone_kernel(kernel)
    marked = Seen(kernel)
    accessed = {op.attrs["place"].name for op in kernel.body.walk() if op.opdef in opdefs}
    for name in sorted(accessed & set(names)):
        marked.marks[name] = replace(kernel.places[name], name=f"{name}.{title}", dtype=i32, kind="ndarray")
    kernel.places.update({mark.name: mark for mark in marked.marks.values()})
    _mark(kernel.body, Builder(), marked, opdefs)
    return marked


def _mark(region: Region, b: Builder, marked: Seen, opdefs: Collection[OpDef]) -> None:
    ops, region.ops = region.ops, []
    with b.into(region):
        for op in ops:
            for inner in op.regions:
                _mark(inner, b, marked, opdefs)
            mark = marked.marks.get(op.attrs["place"].name) if op.opdef in opdefs else None
            if mark is not None:
                with b.at(op.loc):
                    b.atomic("max", mark, op.operands[: mark.rank], b.const(len(marked.sites), i32))
                marked.sites.append(op)
            region.ops.append(op)


def deciding(kernel: Kernel) -> set[Op]:
    """The loads whose values decide, or may decide, how often loops run and which branches are taken."""
    return Origins(kernel.body).loads_behind(v for op in kernel.body.walk() for v in decides(op))
