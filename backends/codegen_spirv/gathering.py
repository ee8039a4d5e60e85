"""Updates of one element by all iterations, combined by each thread before they reach memory.

`y[None] += v` in a parallel loop is an atomic update of one element, for which all threads would queue. A thread keeps
the combination of its own values; after its last iteration, threads that run side by side combine theirs, and one of
them updates memory, once. Which updates these are the plan says (`adstack.analysis.accumulation`). Sums of floats are
rounded in another order, as atomics may.
"""

from __future__ import annotations

from collections.abc import Sequence

from adstack.analysis.exclusivity import by_place, may_overlap
from adstack.analysis.reductions import neutral
from adstack.ir.structure import Op, Place, Region, Value
from adstack.ir.types import u1

from .access import address_of
from .assembly.opcodes import Op as Spv
from .atomics import update
from .guards import when_inside
from .region import RegionEmitter
from .subgroups import TOGETHER, combined, elected

__all__ = ["Gathered", "alone", "gather"]


class Gathered:
    """The partial result of one such update: a variable for its value, and one that tells whether there is any."""

    def __init__(self, e: RegionEmitter, op: Op) -> None:
        c, m = e.c, e.m
        self.op, self.place, self.kind = op, op.attrs["place"], op.attrs["kind"]
        dtype = self.place.dtype
        self.total, self.any = c.local(m.type(dtype)), c.local(m.type(u1))
        value = neutral(self.kind, dtype)
        c.do(Spv.Store, self.total, c.const(bool(value) if dtype.is_bool else value, dtype).id)
        c.do(Spv.Store, self.any, c.const(False, u1).id)

    def add(self, e: RegionEmitter, value: Value) -> None:
        """Take this iteration's value."""
        c, dtype = e.c, self.place.dtype
        old = c.let(Spv.Load, dtype, self.total)
        c.do(Spv.Store, self.total, e.combine(self.kind, dtype, old, e.get(value)).id)
        c.do(Spv.Store, self.any, c.const(True, u1).id)

    def close(self, e: RegionEmitter) -> None:
        """Apply the combined value, if there is any; if there is none, the element may be out of bounds."""
        c, place = e.c, self.place
        total, there = c.let(Spv.Load, place.dtype, self.total), c.let(Spv.Load, u1, self.any)
        if e.m.traits.subgroups and (self.kind, place.dtype.name) in TOGETHER:
            total, there = combined(self.kind, total), elected(there)

        def write() -> None:
            update(e, self.kind, address_of(e, place, self.op.operands[: place.rank]), place.dtype, total)

        c.when(there, lambda: when_inside(e, self.op, write))


def gather(e: RegionEmitter, body: Region) -> Sequence[Gathered]:
    """Prepare what can be gathered in a loop; indices that are constants of the body are bound."""
    constants = {op.result: op for op in body.walk() if op.name == "const"}
    gathered = []
    for op in alone(body, "uniform"):
        for index in op.operands[: op.attrs["place"].rank]:
            if index in constants:
                e.op(constants[index])
        e.gathered[op] = update = Gathered(e, op)
        gathered.append(update)
    return gathered


def alone(body: Region, way: str) -> Sequence[Op]:
    """The updates that are added up in a way, if no other memory that the body touches may be that of their place."""
    touching = by_place(body)
    places: list[Place] = [ops[0].attrs["place"] for ops in touching.values()]
    return [
        op
        for name, ops in touching.items()
        if not any(may_overlap(ops[0].attrs["place"], other) for other in places)
        for op in ops
        if op.attrs.get("sums") == way
    ]
