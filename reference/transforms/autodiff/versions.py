"""Locals of the kernel that keep what they held: `keep_versions(kernel) -> None`.

The reverse pass runs what gives kernel-level locals their values again, all of it, before it reverses anything. A loop
that read a local would then find what a later loop made of it.

Requires: a verified kernel, which is changed.
Ensures: the same meaning; no stretch of the kernel writes a temp that an earlier stretch has read. One that would goes
on with a copy, and so do all after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...ir.builder import Builder
from ...ir.structure import Kernel, Op, Place, Region
from ...ir.types import i32
from ..crossing import Segment, segments

__all__ = ["keep_versions"]


def keep_versions(kernel: Kernel) -> None:
    """Give each temp as many places as it has versions that are read."""
    found = segments(kernel.body)
    copies: dict[int, list[Op]] = {}
    for place in [place for place in kernel.places.values() if place.kind == "temp"]:
        _split(kernel, place, found, copies)
    ops = [op for segment in found for op in (*copies.get(segment.start, ()), *segment.ops)]
    kernel.body.ops = [*ops, kernel.body.ops[-1]]


def _split(kernel: Kernel, place: Place, found: list[Segment], copies: dict[int, list[Op]]) -> None:
    current, is_read = place, False
    for segment in found:
        accesses = list(_accesses(segment, place))
        if is_read and any(op.name != "load" for op in accesses):
            version = replace(place, name=f"{current.name}.on")
            kernel.places[version.name] = version
            copies.setdefault(segment.start, []).extend(_copy(current, version))
            current, is_read = version, False
        for op in accesses:
            op.attrs = {**op.attrs, "place": current}
        is_read = is_read or any(op.name == "load" for op in accesses)


def _accesses(segment: Segment, place: Place) -> Iterator[Op]:
    names = ("load", "store", "atomic")
    return (op for op in segment.walk() if op.name in names and op.attrs["place"].name == place.name)


def _copy(source: Place, target: Place) -> list[Op]:
    b = Builder(Region())
    for position in np.ndindex(*(extent or 0 for extent in source.shape)):
        indices = [b.const(int(index), i32) for index in position]
        b.store(target, indices, b.load(source, indices))
    return b.region.ops
