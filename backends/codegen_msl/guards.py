"""Guarded accesses: nothing outside is touched, and the first index that is outside is recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from adstack.backends.shared.sites import Site, local_site
from adstack.ir.structure import Op, Place, Value
from adstack.ir.types import ArrayType, i64

from .checks import report
from .region import RegionEmitter
from .spelling import literal, type_name

__all__ = ["guarded", "when_inside"]


def guarded(e: RegionEmitter, op: Op, access: Callable[[], str]) -> None:
    """Emit an access under its guard, and bind what it reads, or 0 if it is out of bounds."""
    if "guarded" not in op.attrs:
        e.let(op.result, access())
        return
    dtype = op.result.dtype
    name = e.w.variable(type_name(dtype), literal(dtype(0), dtype), op.result.name)
    when_inside(e, op, lambda: e.w.line(f"{name} = {access()};"))
    e.bind(op.result, name)


def when_inside(e: RegionEmitter, op: Op, act: Callable[[], object]) -> None:
    """Emit `act`, which runs if an access is in bounds."""
    if "guarded" not in op.attrs:
        act()
        return
    with e.w.block(f"if ({_outside(e, op)})"):
        _report(e, op)
        e.w.instead()
        act()


def _outside(e: RegionEmitter, op: Op) -> str:
    """Whether some guarded index is out of bounds: a negative one is a huge number without a sign."""
    indices, extents = _indices(op), _extents(e, op)
    return " || ".join(f"ulong({e.index(indices[k])}) >= ulong({extents[k]})" for k in op.attrs["guarded"])


def _report(e: RegionEmitter, op: Op) -> None:
    indices, place = _indices(op), op.attrs.get("place")
    types = tuple(v.dtype for v in indices)
    arguments = [(e.get(v), v.dtype) for v in indices]
    if place is None:
        report(e, local_site(op.operands[0], _length(op), op.loc, types), arguments)
        return
    extents = [] if None not in place.shape else [(text, i64) for text in _extents(e, op)]
    site = Site("bounds", "", op.loc, (*types, *[i64] * len(extents)), place=place)
    report(e, site, [*arguments, *extents])


def _indices(op: Op) -> Sequence[Value]:
    place: Place | None = op.attrs.get("place")
    return op.operands[1:2] if place is None else op.operands[: place.rank]


def _extents(e: RegionEmitter, op: Op) -> list[str]:
    place: Place | None = op.attrs.get("place")
    if place is None:
        return [literal(_length(op), i64)]
    return [e.extent(place, axis) for axis in range(place.rank)]


def _length(op: Op) -> int:
    array = op.operands[0].type
    assert isinstance(array, ArrayType)
    return array.length
