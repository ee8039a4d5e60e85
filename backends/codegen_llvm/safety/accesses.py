"""What a guard compares: the indices of an access with the extents of what it accesses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from adstack.analysis.strides import Run
from adstack.ir.structure import Op, Place, Value
from adstack.ir.types import ArrayType, DType, i64, u1

from ..function.region import RegionEmitter
from ..text.writer import any_lane, any_of, scalar_type, type_text

__all__ = [
    "FEW",
    "bounds_of",
    "compared",
    "elsewhere",
    "extents_of",
    "guarded_axes",
    "indices_of",
    "is_any_out",
    "is_crowded",
    "is_guarded",
    "is_out",
    "length_of",
    "run_of",
]

FEW: Final = 4
"""Guarded accesses that are looked at together: what so many have to tell is in registers until then."""
_BITS_AT_ONCE: Final = 512
"""Of indices whose greatest is compared: the widest register."""


def is_guarded(e: RegionEmitter, op: Op) -> bool:
    """Whether an access may be outside."""
    return bool(guarded_axes(e, op))


def guarded_axes(e: RegionEmitter, op: Op) -> list[int]:
    """The axes on which an access may be out of bounds."""
    inside, fast_path = e.frame.in_bounds.get(op, ()), e.fast_path
    if fast_path is not None:
        inside = (*inside, *fast_path.in_bounds.get(op, ()))
    return [axis for axis in op.attrs.get("guarded", ()) if axis not in inside]


def is_crowded(e: RegionEmitter) -> bool:
    """Whether the region being emitted has many guarded accesses: what these have to tell, registers do not hold.

    Those with the same indices in all lanes are not counted. LLVM would keep each of their checks to the end.
    """
    region = e.current
    if e.crowded is None or e.crowded[0] is not region:
        spread = (op for op in region.ops if is_guarded(e, op)) if region is not None else ()
        number = sum(any(e.width(index) > 1 for index, _ in compared(e, op)) for op in spread)
        e.crowded = region, number > FEW
    return e.crowded[1]


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


def is_any_out(e: RegionEmitter, pairs: Sequence[tuple[Value, str]], width: int) -> str:
    """Whether some index of such a list is out of bounds in one of so many lanes, all of which run: an i1.

    The greatest of several numbers without a sign is compared, as a maximum takes less than a comparison, whose bits
    are to be joined with those of the others.
    """
    greatest: dict[tuple[DType, str], str] = {}
    for index, extent in pairs:
        dtype, name, limit = _unsigned(e, index, extent, width)
        other = greatest.get((dtype, limit))
        greatest[dtype, limit] = name if other is None else _greater(e, other, name, dtype, width)
    over: dict[int, str] = {}
    for (dtype, limit), name in greatest.items():
        lanes = width
        while lanes * dtype.bits > _BITS_AT_ONCE:
            lanes //= 2
            name = _greater(e, *_halves(e, name, dtype, lanes), dtype, lanes)
        bad = e.w.let(f"icmp uge {type_text(dtype, lanes)} {name}, {_spread(e, limit, dtype, lanes)}")
        over[lanes] = e.w.let(f"or {type_text(u1, lanes)} {over[lanes]}, {bad}") if lanes in over else bad
    return any_of(e.w, [any_lane(e.w, lanes, bad) for lanes, bad in over.items()])


def _greater(e: RegionEmitter, a: str, b: str, dtype: DType, lanes: int) -> str:
    """The greater of two numbers without a sign, in each lane."""
    form = type_text(dtype, lanes)
    suffix = f"v{lanes}{scalar_type(dtype)}" if lanes > 1 else form
    return e.w.intrinsic(f"llvm.umax.{suffix}", form, [(form, a), (form, b)])


def _halves(e: RegionEmitter, name: str, dtype: DType, lanes: int) -> tuple[str, str]:
    """The first so many lanes of twice as many, and the others."""
    ty = type_text(dtype, 2 * lanes)
    first, second = (
        e.w.let(f"shufflevector {ty} {name}, {ty} poison, <{lanes} x i32> <{', '.join(f'i32 {k}' for k in numbers)}>")
        for numbers in (range(lanes), range(lanes, 2 * lanes))
    )
    return first, second


def _over(e: RegionEmitter, index: Value, extent: str, width: int) -> str:
    """Where an index is not below an extent: an i1, or one for each of so many lanes."""
    dtype, name, limit = _unsigned(e, index, extent, width)
    return e.w.let(f"icmp uge {type_text(dtype, width)} {name}, {_spread(e, limit, dtype, width)}")


def _unsigned(e: RegionEmitter, index: Value, extent: str, width: int) -> tuple[DType, str, str]:
    """An index as a number without a sign, of which a negative one is huge: its type, its name, and its extent's."""
    dtype, name = index.dtype, e.at(index, width)
    if not dtype.is_signed or dtype.bits == 64:
        dtype, name = i64, e.wide(index, width)
    elif extent.isdigit():
        extent = str(min(int(extent), int(dtype.max) + 1))
    else:
        most = str(int(dtype.max) + 1)
        least = e.w.intrinsic("llvm.umin.i64", "i64", [("i64", extent), ("i64", most)])
        extent = e.w.let(f"trunc i64 {least} to i{dtype.bits}")
    return dtype, name, extent


def _spread(e: RegionEmitter, number: str, dtype: DType, width: int) -> str:
    """An integer as a vector of so many lanes."""
    if width == 1:
        return number
    return f"splat ({scalar_type(dtype)} {number})" if number.isdigit() else e.splat(number, dtype, width)


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


def elsewhere(e: RegionEmitter, inside: str, other: str, access: Callable[[], str | None]) -> str | None:
    """The access, to `other` where it is not inside: a condition with its type, of all lanes or of each."""
    outer, e.aside = e.aside, (inside, other)
    name = access()
    e.aside = outer
    return name
