"""Atomic products, exchanges and compare-and-swaps as loads and stores: `plain_updates(kernel) -> Kernel`.

Requires: a verified kernel.
Ensures: the same meaning, up to the order of products. An update of an element that only one iteration of a parallel
loop touches, and any in serial code, needs no atomicity. A parallel loop in which several iterations multiply one
element becomes a serial one. Exchanges of an element that several iterations share stay: their order is not known.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...ir.builder import Builder
from ...ir.ops import TABLE
from ...ir.structure import Kernel, Op, Place, Region, Value
from ...ir.types import DType, i16, i32, i64
from ..rewrite import Renaming, clone_kernel, rename_operands
from .conflicts import Order

__all__ = ["plain_updates", "serial"]

_BITS: dict[int, DType] = {16: i16, 32: i32, 64: i64}


def plain_updates(kernel: Kernel) -> Kernel:
    """The kernel with these updates spelled out."""
    if not any(_is_update(op) for op in kernel.body.walk()):
        return kernel
    kernel = clone_kernel(kernel)
    ops = kernel.body.ops
    ops[:] = [serial(op) if _multiplies_shared(op, Order(kernel)) else op for op in ops]
    shared = {op for op in kernel.body.walk() if _is_update(op) and _shared(op, Order(kernel))}
    _spell_out(kernel.body, shared)
    return kernel


def _is_update(op: Op) -> bool:
    return op.name == "atomic" and op.attrs["kind"] in ("mul", "xchg", "cas") and op.attrs["place"].dtype.is_float


def _multiplies_shared(op: Op, order: Order) -> bool:
    inside = op.regions[0].walk() if op.name == "parallel_for" else iter(())
    return any(_is_update(o) and o.attrs["kind"] == "mul" and _shared(o, order) for o in inside)


def _shared(op: Op, order: Order) -> bool:
    """Whether several iterations of a parallel loop may update one element."""
    parallel = [loop for loop in order.spots[op].loops if loop.name == "parallel_for"]
    picked = {order.offset(v)[0] for v in op.operands[: op.attrs["place"].rank]}
    return any(index not in picked for loop in parallel for index in loop.regions[0].args)


def _spell_out(region: Region, shared: Collection[Op]) -> None:
    renamed: Renaming = {}
    made = Builder(Region())
    for op in region.ops:
        for inner in op.regions:
            _spell_out(inner, shared)
        if _is_update(op) and op not in shared:
            with made.at(op.loc):
                renamed[op.result] = _update(made, op)
        else:
            made.region.ops.append(op)
    region.ops = made.region.ops
    rename_operands(region.ops, renamed)


def _update(b: Builder, op: Op) -> Value:
    """Load, combine, store; the old value."""
    place: Place = op.attrs["place"]
    indices, values = op.operands[: place.rank], op.operands[place.rank :]
    old = b.load(place, indices)
    b.store(place, indices, _combined(b, op.attrs["kind"], old, values))
    return old


def _combined(b: Builder, kind: str, old: Value, values: Sequence[Value]) -> Value:
    if kind == "mul":
        return b.mul(old, values[0])
    if kind == "xchg":
        return values[0]
    bits = _BITS[old.dtype.bits]
    return b.select(b.eq(b.bitcast(old, bits), b.bitcast(values[0], bits)), values[1], old)


def serial(op: Op) -> Op:
    """A parallel loop as a nest of serial ones, the last axis fastest."""
    (body,) = op.regions
    bounds = list(zip(op.operands[::2], op.operands[1::2], strict=True))
    for (lo, hi), index in zip(reversed(bounds), reversed(body.args), strict=True):
        body.args = [index]
        loop = Op(TABLE["for"], [lo, hi], regions=[body], loc=op.loc)
        body = Region(ops=[loop, Op(TABLE["yield"], [], loc=op.loc)])
    return loop
