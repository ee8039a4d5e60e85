"""Two atomic additions to neighbours in memory by one instruction, where there is one: to x and y of a vector, say.

They follow each other in the program, of elements 2 k and 2 k + 1 of the last axis of a field, whose extent is even:
then the two are where an instruction finds both.
"""

from __future__ import annotations

from adstack.analysis.combined_updates import indices_of, run_of_updates
from adstack.ir.scalar_ops import CONST
from adstack.ir.structure import Op, Value
from adstack.ir.types import f32

from ..function.region import RegionEmitter
from ..safety.guards import guarded
from ..text.writer import literal, scalar_type
from .access import address_of
from .joined import Update

__all__ = ["add_pair", "is_pairable", "neighbour"]


def is_pairable(op: Op) -> bool:
    """Whether an update may be one of a pair: an addition of f32 to a field, whose old value nobody uses."""
    place = op.attrs["place"]
    pairs = op.attrs["kind"] == "add" and op.attrs.get("sums") == "atomic" and place.dtype is f32
    even = place.kind == "field" and place.rank > 0 and place.shape[-1] is not None and place.shape[-1] % 2 == 0
    return pairs and even and not op.result.uses


def neighbour(e: RegionEmitter, op: Op) -> Op | None:
    """The update behind one, if both are a pair; it is marked as emitted, and constants between them are."""
    if e.current is None or e.frame.debug or not e.frame.parallel or e.lanes > 1 or not e.target.adds_pairs:
        return None
    if not is_pairable(op):
        return None
    run, constants = run_of_updates(op, e.current.ops, is_pairable)
    if len(run) < 2 or not _are_neighbours(*run[:2]):
        return None
    for constant in constants:
        e.op(constant)
    e.joined.add(run[1])
    return run[1]


def _are_neighbours(one: Op, other: Op) -> bool:
    *rows, last = indices_of(one)
    *same, beside = indices_of(other)
    first, second = _number(last), _number(beside)
    return (
        one.attrs["place"] == other.attrs["place"]
        and one.attrs.get("guarded", ()) == other.attrs.get("guarded", ())
        and all(a is b for a, b in zip(rows, same, strict=True))
        and first is not None
        and second is not None
        and first ^ 1 == second
    )


def _number(value: Value) -> int | None:
    """An index that is a constant."""
    op = value.owner
    number = op.attrs["value"] if isinstance(op, Op) and op.opdef is CONST else None
    return number if isinstance(number, int) and number >= 0 else None


def add_pair(e: RegionEmitter, one: Op, other: Op, update: Update) -> None:
    """Emit both: by one instruction where memory adds both to the bit, else one after the other."""
    first, second = sorted((one, other), key=lambda op: _number(indices_of(op)[-1]) or 0)
    guarded(e, first, lambda: _added(e, first, second, update))


def _added(e: RegionEmitter, first: Op, second: Op, update: Update) -> None:
    w, ty = e.w, scalar_type(f32)
    pointers = [address_of(e, op.attrs["place"], indices_of(op)).name for op in (first, second)]
    values = [e.scalar(op.operands[-1]) for op in (first, second)]
    sizes = [w.intrinsic("llvm.fabs.f32", ty, [(ty, value)]) for value in values]
    least = literal(e.target.float_adds["f32"], f32)
    smalls = [w.let(f"fcmp olt {ty} {size}, {least}") for size in sizes]
    apart, at_once, after = e.label("apart"), e.label("pair"), e.label("added")
    e.split(w.let(f"or i1 {smalls[0]}, {smalls[1]}"), apart, at_once)
    e.enter(at_once)
    e.target.add_pair(e, pointers[0], values)
    e.jump(after)
    e.enter(apart)
    for pointer, value in zip(pointers, values, strict=True):
        update(e, "add", pointer, f32, value)
    e.jump(after)
    e.enter(after)
