"""Guarded accesses: nothing outside is touched, and the first index that is outside is recorded.

The access alone is in a branch; its report follows with those of its neighbours (`RegionEmitter.settle`).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence

from adstack.backends.shared.sites import Site, local_site
from adstack.ir.structure import Op, Place, Value
from adstack.ir.types import ArrayType, i64, u1, u32, u64

from .assembly.code import Num
from .checks import report
from .region import RegionEmitter

__all__ = ["extents_of", "guarded", "guarded_axes", "indices_of", "is_inside", "when_inside"]


def guarded(e: RegionEmitter, op: Op, access: Callable[[], Num]) -> Num:
    """Emit an access under its guard.

    Args:
        e: emits it.
        op: the access; its attribute "guarded" says which axes to compare, and without it there is no guard.
        access: emits the access itself; what it reads.

    Returns:
        What is read; 0 if an index is out of bounds, which is reported.
    """
    if not guarded_axes(e, op):
        return access()
    bad = _noted(e, op)
    dtype = op.result.dtype
    return e.c.either(bad, lambda: [e.c.const(dtype(0), dtype)], lambda: [access()])[0]


def when_inside(e: RegionEmitter, op: Op, act: Callable[[], None]) -> None:
    """Emit what is to be done only if an access is in bounds; that it is not is reported.

    Args:
        e: emits it.
        op: the access; without the attribute "guarded" there is no condition.
        act: emits what is to be done.
    """
    if not guarded_axes(e, op):
        act()
        return
    e.c.when(~_noted(e, op), act)


def is_inside(e: RegionEmitter, op: Op) -> Num:
    """Whether an access is inside; nothing is recorded."""
    return ~_outside(e, op) if guarded_axes(e, op) else e.c.const(True, u1)


def guarded_axes(e: RegionEmitter, op: Op) -> list[int]:
    """The axes on which an access may be out of bounds."""
    inside = e.frame.in_bounds.get(op, ())
    return [axis for axis in op.attrs.get("guarded", ()) if axis not in inside]


def _noted(e: RegionEmitter, op: Op) -> Num:
    """Whether some guarded index is out of bounds; if so, it is reported where the straight-line code ends."""
    bad = _outside(e, op)
    e.unreported.append((bad, lambda: _report(e, op)))
    return bad


def _outside(e: RegionEmitter, op: Op) -> Num:
    """Whether some guarded index is out of bounds."""
    indices, extents = indices_of(op), extents_of(e, op)
    bad = [_over(e, indices[axis], extents[axis], _known(op, axis)) for axis in guarded_axes(e, op)]
    return functools.reduce(operator.or_, bad)


def _over(e: RegionEmitter, index: Value, extent: Num, length: int | None) -> Num:
    """Whether an index is not below an extent: a negative one is a huge number without a sign, also in its own type."""
    dtype = index.dtype
    if length is not None and dtype.is_signed and dtype.bits == 32:
        return e.get(index).signed(u32) >= min(length, int(dtype.max) + 1)
    return e.index(index).signed(u64) >= extent.signed(u64)


def _known(op: Op, axis: int) -> int | None:
    """An extent that is known when compiling."""
    place: Place | None = op.attrs.get("place")
    return _length(op) if place is None else place.shape[axis]


def _report(e: RegionEmitter, op: Op) -> None:
    indices, place = indices_of(op), op.attrs.get("place")
    types = tuple(v.dtype for v in indices)
    if place is None:
        report(e, local_site(op.operands[0], _length(op), op.loc, types), e.all(indices))
        return
    extents: Sequence[Num] = () if None not in place.shape else extents_of(e, op)
    site = Site("bounds", "", op.loc, (*types, *[i64] * len(extents)), place=place)
    report(e, site, [*e.all(indices), *extents])


def indices_of(op: Op) -> Sequence[Value]:
    """The indices of an access to a place, or to a local array."""
    place: Place | None = op.attrs.get("place")
    return op.operands[1:2] if place is None else op.operands[: place.rank]


def extents_of(e: RegionEmitter, op: Op) -> list[Num]:
    """The extents that these are to be below, as i64."""
    place: Place | None = op.attrs.get("place")
    if place is None:
        return [e.c.const(_length(op), i64)]
    return [e.extent(place, axis) for axis in range(place.rank)]


def _length(op: Op) -> int:
    array = op.operands[0].type
    assert isinstance(array, ArrayType)
    return array.length
