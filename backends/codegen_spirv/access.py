"""Elements of places and thread-local arrays: addresses, loads, stores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from adstack.analysis.shared_updates import Update
from adstack.ir.ops import ARRAY_ALLOC, ARRAY_LOAD, ARRAY_STORE, LOAD, SHAPE, STORE
from adstack.ir.scalar_ops import ADD, AND, MAX, MIN, OR, SUB, XOR
from adstack.ir.structure import Op, Place, Value
from adstack.ir.types import ArrayType, DType, i32, i64, u32

from .assembly.code import Num
from .assembly.opcodes import Op as Spv
from .assembly.opcodes import Storage
from .checks import RELAXED, check_bounds, check_local_bounds
from .guards import guarded, when_inside
from .memory import Address
from .region import RegionEmitter, handles
from .subscripts import without_constants
from .teams import WORKGROUP

__all__ = ["address_of"]

ZEROED_AT_ONCE: Final = 64
"""Longer local arrays are zeroed by a loop: Mesa takes more than linear time for a constant of so many elements."""
_ATOMICS: Final = {
    ADD: (Spv.AtomicIAdd, Spv.AtomicIAdd),
    SUB: (Spv.AtomicISub, Spv.AtomicISub),
    AND: (Spv.AtomicAnd, Spv.AtomicAnd),
    OR: (Spv.AtomicOr, Spv.AtomicOr),
    XOR: (Spv.AtomicXor, Spv.AtomicXor),
    MIN: (Spv.AtomicSMin, Spv.AtomicUMin),
    MAX: (Spv.AtomicSMax, Spv.AtomicUMax),
}
"""The instruction for signed and for unsigned integers."""


def address_of(e: RegionEmitter, place: Place, indices: Sequence[Value]) -> Address:
    """The address of an element, in row-major order.

    Constants in subscripts are added to the address: so accesses to neighbours share what computes it.

    Args:
        e: emits the index arithmetic.
        place: the memory.
        indices: one value per axis, of any integer type; without any, the address of the first element.
    """
    moving = e.moving.get((place.name, tuple(indices)))
    if moving is not None:
        return moving
    bases, distance = without_constants(place, indices)
    counts = _counts(place)
    offset: Num | None = None
    for axis, value in enumerate(bases):
        index = e.c.const(0, counts) if value is None else e.get(value).resize(counts)
        offset = index if offset is None else offset * e.extent(place, axis).resize(counts) + index
    base = e.frame.pointers[place.name]
    address = base if offset is None else base.elements(offset, place.dtype.size)
    return address + distance if distance else address


def _counts(place: Place) -> DType:
    """The type in which elements of a place are counted.

    i32 where each has a number in it: devices have no multiplication of 64 bits, but one that adds a product of 32 bits
    to an address.
    """
    extents = [extent for extent in place.shape if extent is not None]
    return i32 if len(extents) == place.rank and math.prod(extents) <= i32.max else i64


@handles(SHAPE)
def _shape(e: RegionEmitter, op: Op) -> None:
    e.bind(op.result, e.extent(op.attrs["place"], op.attrs["axis"]).resize(op.result.dtype))


@handles(LOAD)
def _load(e: RegionEmitter, op: Op) -> None:
    place: Place = op.attrs["place"]
    check_bounds(e, op, place, op.operands)
    e.bind(op.result, guarded(e, op, lambda: address_of(e, place, op.operands).load(place.dtype)))


@handles(STORE)
def _store(e: RegionEmitter, op: Op) -> None:
    *indices, value = op.operands
    place: Place = op.attrs["place"]
    check_bounds(e, op, place, indices)
    when_inside(e, op, lambda: address_of(e, place, indices).store(e.get(value), place.dtype))


# ---- local arrays


@handles(ARRAY_ALLOC)
def _array_alloc(e: RegionEmitter, op: Op) -> None:
    array = op.result.type
    assert isinstance(array, ArrayType)
    if e.team is not None and e.team.has(op.result):
        e.team.allocate(op)
        return
    ty = e.m.array(array.dtype, array.length)
    variable = e.c.local(ty)
    e.arrays[op.result] = variable
    if array.length <= ZEROED_AT_ONCE:
        e.c.do(Spv.Store, variable, e.m.null(ty))
    else:
        _zero(e, array, variable)


def _zero(e: RegionEmitter, array: ArrayType, variable: int) -> None:
    """Set the elements to 0 one by one."""
    ty = e.m.type(array.dtype)
    pointer, zero = e.m.pointer(Storage.Function, ty), e.m.null(ty)

    def iteration(carried: Sequence[Num]) -> list[Num]:
        (index,) = carried
        e.c.do(Spv.Store, e.c.raw(Spv.AccessChain, pointer, variable, index.id), zero)
        return [index + 1]

    e.c.loop([e.c.const(0, u32)], lambda carried: (carried[0] < array.length, carried), iteration)


def _element(e: RegionEmitter, op: Op) -> int:
    """A pointer to an element."""
    array, index = op.operands[:2]
    assert isinstance(array.type, ArrayType)
    dtype = array.type.dtype
    at = e.get(index)
    pointer = e.m.pointer(Storage.Function, e.m.type(dtype))
    number = at if at.dtype.bits >= 32 else at.resize(i64)
    if e.team is not None and e.team.has(array):
        return e.team.pointer(array, number)
    return e.c.raw(Spv.AccessChain, pointer, e.arrays[array], number.id)


@handles(ARRAY_LOAD)
def _array_load(e: RegionEmitter, op: Op) -> None:
    check_local_bounds(e, op)
    if e.team is not None:
        e.team.wait(op)
    e.bind(op.result, guarded(e, op, lambda: e.c.let(Spv.Load, op.result.dtype, _element(e, op))))


@handles(ARRAY_STORE)
def _array_store(e: RegionEmitter, op: Op) -> None:
    check_local_bounds(e, op)
    update = None if e.team is None else e.team.update(op)
    when_inside(e, op, lambda: _stored(e, op) if update is None else _updated(e, op, update))


def _stored(e: RegionEmitter, op: Op) -> None:
    e.c.do(Spv.Store, _element(e, op), e.get(op.operands[2]).id)


def _updated(e: RegionEmitter, op: Op, update: Update) -> None:
    """Update an integer that the threads of a workgroup share, which several may do at once."""
    dtype = op.operands[2].dtype
    code = _ATOMICS[update.combining.opdef][dtype.kind == "u"]
    orders = e.m.word(WORKGROUP), e.m.word(RELAXED)
    e.c.let(code, dtype, _element(e, op), *orders, e.get(update.value).id)
