"""Memory: places that outlive the thread, and arrays that it has of its own."""

from __future__ import annotations

from collections.abc import Sequence

from adstack.ir.ops import ARRAY_ALLOC, ARRAY_LOAD, ARRAY_STORE, LOAD, SHAPE, STORE
from adstack.ir.structure import Op, Place, Value
from adstack.ir.types import ArrayType

from .checks import check_bounds, check_local_bounds
from .guards import guarded, when_inside
from .region import RegionEmitter, handles
from .spelling import enclosed, memory_type, type_name

__all__ = ["element", "pointer", "stored"]


def offset(e: RegionEmitter, place: Place, indices: Sequence[Value]) -> str:
    """The number of an element, in row-major order."""
    if len(indices) <= 1:
        return e.get(indices[0]) if indices else "0"
    text = e.index(indices[0])
    for axis, value in enumerate(indices[1:], 1):
        text = f"{text} * {e.extent(place, axis)} + {e.index(value)}"
        text = text if axis == len(indices) - 1 else f"({text})"
    return text


def element(e: RegionEmitter, place: Place, indices: Sequence[Value]) -> str:
    """An element, as it is in memory."""
    return f"{e.frame.pointers[place.name]}[{offset(e, place, indices)}]"


def pointer(e: RegionEmitter, place: Place, indices: Sequence[Value]) -> str:
    """A pointer to an element."""
    base = e.frame.pointers[place.name]
    return f"({base} + {enclosed(offset(e, place, indices))})" if indices else base


def stored(text: str, place: Place) -> str:
    """A value as memory holds it: truth values are bytes."""
    return f"{memory_type(place.dtype)}({text})" if place.dtype.is_bool else text


@handles(SHAPE)
def _shape(e: RegionEmitter, op: Op) -> None:
    e.let(op.result, f"{type_name(op.result.dtype)}({e.extent(op.attrs['place'], op.attrs['axis'])})")


@handles(LOAD)
def _load(e: RegionEmitter, op: Op) -> None:
    place: Place = op.attrs["place"]
    check_bounds(e, op, place, op.operands)
    text = element(e, place, op.operands)
    guarded(e, op, lambda: f"{text} != 0" if place.dtype.is_bool else text)


@handles(STORE)
def _store(e: RegionEmitter, op: Op) -> None:
    *indices, value = op.operands
    place: Place = op.attrs["place"]
    check_bounds(e, op, place, indices)
    when_inside(e, op, lambda: e.w.line(f"{element(e, place, indices)} = {stored(e.get(value), place)};"))


# ---- local arrays


@handles(ARRAY_ALLOC)
def _array_alloc(e: RegionEmitter, op: Op) -> None:
    array = op.result.type
    assert isinstance(array, ArrayType)
    if e.team is not None and e.team.has(op.result):
        e.team.allocate(op)
        return
    name = e.w.name(op.result.name)
    e.arrays[op.result] = name
    e.w.line(f"{type_name(array.dtype)} {name}[{max(1, array.length)}] = {{}};")


def _local(e: RegionEmitter, op: Op) -> str:
    array, index = op.operands[:2]
    if e.team is not None and e.team.has(array):
        return e.team.element(array, e.get(index))
    return f"{e.arrays[array]}[{e.get(index)}]"


@handles(ARRAY_LOAD)
def _array_load(e: RegionEmitter, op: Op) -> None:
    check_local_bounds(e, op)
    if e.team is not None:
        e.team.wait(op)
    guarded(e, op, lambda: _local(e, op))


@handles(ARRAY_STORE)
def _array_store(e: RegionEmitter, op: Op) -> None:
    check_local_bounds(e, op)
    when_inside(e, op, lambda: e.w.line(_array_stored(e, op)))


def _array_stored(e: RegionEmitter, op: Op) -> str:
    update = None if e.team is None else e.team.update(op)
    if e.team is not None and update is not None:
        return e.team.updated(update, _local(e, op), e.get(update.value))
    return f"{_local(e, op)} = {e.get(op.operands[2])};"
