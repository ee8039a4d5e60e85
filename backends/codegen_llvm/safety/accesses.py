"""What a guard compares: the indices of an access with the extents of what it accesses."""

from __future__ import annotations

from collections.abc import Sequence

from adstack.analysis.strides import Run
from adstack.ir.structure import Op, Place, Value
from adstack.ir.types import ArrayType, DType, i64, u1

from ..function.region import RegionEmitter
from ..text.writer import scalar_type, type_text

__all__ = [
    "bounds_of",
    "compared",
    "extents_of",
    "guarded_axes",
    "indices_of",
    "is_guarded",
    "is_out",
    "length_of",
    "run_of",
]


def is_guarded(e: RegionEmitter, op: Op) -> bool:
    """Whether an access may be outside."""
    return bool(guarded_axes(e, op))


def guarded_axes(e: RegionEmitter, op: Op) -> list[int]:
    """The axes on which an access may be out of bounds."""
    inside = e.frame.in_bounds.get(op, ())
    return [axis for axis in op.attrs.get("guarded", ()) if axis not in inside]


def run_of(e: RegionEmitter, place: Place, indices: Sequence[Value]) -> Run | None:
    """The run of elements that lanes access, if it is one."""
    return None if e.strides is None else e.strides.run(place, indices)


def compared(e: RegionEmitter, op: Op) -> tuple[tuple[Value, str], ...]:
    """The indices of an access that may be out of bounds, each with the extent that it should be below, as i64."""
    return tuple((index, extent) for index, extent in bounds_of(e, op) if extent)


def bounds_of(e: RegionEmitter, op: Op) -> list[tuple[Value, str]]:
    """The indices of an access, each with the extent that it should be below, as i64; "" if it certainly is."""
    axes, pairs = guarded_axes(e, op), zip(indices_of(op), extents_of(e, op), strict=True)
    return [(index, extent if axis in axes else "") for axis, (index, extent) in enumerate(pairs)]


def is_out(e: RegionEmitter, pairs: Sequence[tuple[Value, str]], width: int) -> str:
    """Where some index of such a list is out of bounds: an i1, or one for each of so many lanes."""
    bad = ""
    for index, extent in pairs:
        over = _over(e, index, extent, width)
        bad = e.w.let(f"or {type_text(u1, width)} {bad}, {over}") if bad else over
    return bad


def _over(e: RegionEmitter, index: Value, extent: str, width: int) -> str:
    """Where an index is not below an extent: a negative one is a huge number without a sign, also in its own type."""
    dtype, name = index.dtype, e.at(index, width)
    if not dtype.is_signed or dtype.bits == 64:
        dtype, name = i64, e.wide(index, width)
    elif extent.isdigit():
        extent = str(min(int(extent), int(dtype.max) + 1))
    else:
        most = str(int(dtype.max) + 1)
        least = e.w.intrinsic("llvm.umin.i64", "i64", [("i64", extent), ("i64", most)])
        extent = e.w.let(f"trunc i64 {least} to i{dtype.bits}")
    return e.w.let(f"icmp uge {type_text(dtype, width)} {name}, {_spread(e, extent, dtype, width)}")


def _spread(e: RegionEmitter, number: str, dtype: DType, width: int) -> str:
    """An integer as a vector of so many lanes."""
    if width == 1:
        return number
    return f"splat ({scalar_type(dtype)} {number})" if number.isdigit() else e.splat(number, dtype)


def indices_of(op: Op) -> Sequence[Value]:
    """The indices of an access."""
    place: Place | None = op.attrs.get("place")
    return op.operands[1:2] if place is None else op.operands[: place.rank]


def extents_of(e: RegionEmitter, op: Op) -> list[str]:
    """The extents of what is accessed, as i64."""
    place: Place | None = op.attrs.get("place")
    return [str(length_of(op))] if place is None else [e.extent(place, axis, 1) for axis in range(place.rank)]


def length_of(op: Op) -> int:
    """The length of the local array that is accessed."""
    array = op.operands[0].type
    assert isinstance(array, ArrayType)
    return array.length
