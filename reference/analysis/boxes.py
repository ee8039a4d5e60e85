"""Boxes of indices: for each axis the least and the greatest."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from .intervals import Interval

__all__ = ["Box", "box_at", "contains", "include", "intersection", "slices", "volume"]

Box = tuple[Interval, ...]

MOST: Final = 32
"""The most boxes that a set consists of; more are replaced by their bounding box."""
KNOWN: Final = 4096
"""For so many boxes it is remembered what is asked about them at each launch."""


def include(boxes: list[Box], new: Box) -> None:
    """Add a box to a set of boxes, in place; two boxes whose union is a box become that box."""
    for k, old in enumerate(boxes):
        if contains(old, new):
            return
        together = _union(old, new)
        if together is not None:
            del boxes[k]
            include(boxes, together)
            return
    boxes.append(new)
    if len(boxes) > MOST:
        axes = zip(*boxes, strict=True)
        boxes[:] = [tuple((min(lo for lo, _ in axis), max(hi for _, hi in axis)) for axis in axes)]


def contains(outer: Box, inner: Box) -> bool:
    """Whether every index of one is in the other."""
    for (a, b), (c, d) in zip(outer, inner, strict=True):
        if c < a or d > b:
            break
    else:
        return True
    return False


def _union(one: Box, other: Box) -> Box | None:
    """The union, if it is a box."""
    if contains(other, one):
        return other
    differing = [k for k, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
    if len(differing) != 1:
        return None
    (k,) = differing
    (a, b), (c, d) = one[k], other[k]
    if c > b + 1 or a > d + 1:
        return None
    return (*one[:k], (min(a, c), max(b, d)), *one[k + 1 :])


def intersection(one: Box, other: Box) -> Box | None:
    """The indices that both hold; None if there are none."""
    for (a, b), (c, d) in zip(one, other, strict=True):
        if a < c or b > d:
            break
    else:
        return one  # which lies in the other one, most of the time
    common = []
    for (a, b), (c, d) in zip(one, other, strict=True):
        low, high = (a if a > c else c), (b if b < d else d)
        if low > high:
            return None
        common.append((low, high))
    return tuple(common)


@lru_cache(maxsize=KNOWN)
def slices(box: Box) -> tuple[slice, ...]:
    """The box as an index of a numpy array."""
    return tuple([slice(lo, hi + 1) for lo, hi in box])


@lru_cache(maxsize=KNOWN)
def volume(box: Box) -> int:
    """How many indices a box holds."""
    elements = 1
    for lo, hi in box:
        elements *= hi - lo + 1
    return elements


def box_at(position: tuple[int, ...], shape: tuple[int, ...]) -> Box:
    """The box of all indices that begin with a position."""
    return (*((k, k) for k in position), *((0, extent - 1) for extent in shape[len(position) :]))
