"""A version of each local of the kernel for those who read it: `keep_versions(kernel) -> Restored`.

The reverse pass computes all kernel-level locals again before it reverses anything. A loop that has read a local would
then read what a later loop, or the loop itself, has stored to it since.

Requires: a verified kernel, which is changed.
Ensures: the same meaning; no stretch of the kernel writes a temp that an earlier stretch has read, and a parallel loop
that may overwrite what it has read of a temp has a temp of its own, which other stretches only read later. A stretch
that would do otherwise goes on with a copy, and so do all after it. The result says which parallel loops have temps of
their own, and what these are copied from: who copies once more, and runs an iteration again, finds every value at its
own time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...analysis.manager import Analyses
from ...analysis.order import Order
from ...ir.builder import Builder
from ...ir.ops import LOAD, PLACE_ACCESSES
from ...ir.structure import Kernel, Op, Place, Region
from ...ir.types import i32
from ...transforms.tasks.crossing import Segment, segments
from .conflicts import stays

__all__ = ["Restored", "copy_place", "keep_versions"]

Restored = dict[Op, list[tuple[Place, Place]]]
"""A parallel loop -> (what a temp of the loop's own is copied from, the temp)."""


def keep_versions(kernel: Kernel, analyses: Analyses) -> Restored:
    """Give each temp as many places as it has versions that are read.

    Args:
        kernel: changed in place.
        analyses: what is known of its body; all of it is forgotten if the body changes.
    """
    stretches = segments(kernel.body)
    copies: dict[int, list[Op]] = {}
    restored: Restored = {}
    temps = [place for place in kernel.places.values() if place.kind == "temp"]
    overwriting = _overwriting(stretches, analyses.get(Order, kernel.body)) if temps else set()
    for place in temps:
        _split(kernel, place, stretches, overwriting, copies, restored)
    if copies:
        ops = [op for segment in stretches for op in (*copies.get(segment.start, ()), *segment.ops)]
        kernel.body.ops = [*ops, kernel.body.ops[-1]]
        analyses.invalidate()
    return restored


def _overwriting(stretches: list[Segment], order: Order) -> set[tuple[int, str]]:
    """(start of a parallel loop, name of a temp) where the loop may overwrite what it has read of the temp."""
    overwriting = set()
    for segment in stretches:
        touching = [op for op in segment.walk() if segment.parallel and _accesses_temp(op)]
        for load in touching:
            place: Place = load.attrs["place"]
            writes = (op for op in touching if op.opdef is not LOAD and op.attrs["place"].name == place.name)
            if load.opdef is LOAD and not all(stays(order, load, write) for write in writes):
                overwriting.add((segment.start, place.name))
    return overwriting


def _accesses_temp(op: Op) -> bool:
    return op.opdef in PLACE_ACCESSES and op.attrs["place"].kind == "temp"


def _split(
    kernel: Kernel,
    place: Place,
    stretches: list[Segment],
    overwriting: set[tuple[int, str]],
    copies: dict[int, list[Op]],
    restored: Restored,
) -> None:
    current, is_read = place, False
    for segment in stretches:
        accesses = list(_accesses(segment, place))
        overwrites = (segment.start, place.name) in overwriting
        if overwrites or (is_read and any(op.opdef is not LOAD for op in accesses)):
            version = replace(place, name=f"{current.name}.on")
            kernel.places[version.name] = version
            b = Builder(Region())
            copy_place(b, current, version)
            copies.setdefault(segment.start, []).extend(b.region.ops)
            if overwrites:
                restored.setdefault(segment.ops[0], []).append((current, version))
            current, is_read = version, False
        for op in accesses:
            op.attrs = {**op.attrs, "place": current}
        is_read = is_read or any(op.opdef is LOAD for op in accesses)


def _accesses(segment: Segment, place: Place) -> Iterator[Op]:
    return (op for op in segment.walk() if op.opdef in PLACE_ACCESSES and op.attrs["place"].name == place.name)


def copy_place(b: Builder, source: Place, target: Place) -> None:
    """Store every element of a place to another one of the same shape."""
    for position in np.ndindex(*(extent or 0 for extent in source.shape)):
        indices = [b.const(int(index), i32) for index in position]
        b.store(target, indices, b.load(source, indices))
