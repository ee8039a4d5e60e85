"""Updates of one element by all iterations, combined by each thread before they reach memory.

`y[None] += v` in a parallel loop is an atomic update of one element, for which all threads would queue. A thread keeps
the combination of its own values; after its last iteration, threads that run side by side combine theirs, and one of
them updates memory, once. Which updates these are the plan says (`adstack.analysis.accumulation`). Sums of floats are
rounded in another order, as atomics may.
"""

from __future__ import annotations

from collections.abc import Sequence

from adstack.analysis.manager import Analyses
from adstack.analysis.reductions import neutral
from adstack.backends.shared.ways import gathered
from adstack.ir.structure import Op, Region, Value
from adstack.ir.types import u1

from .access import address_of
from .assembly.opcodes import Op as Spv
from .atomics import update
from .guards import when_inside
from .region import RegionEmitter
from .subgroups import TOGETHER, anywhere, combined, elected

__all__ = ["Gathered", "gather"]


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
            total, there = combined(self.kind, total), anywhere(there) & elected(e.c)

        def write() -> None:
            update(e, self.kind, address_of(e, place, self.op.operands[: place.rank]), place.dtype, total)

        def write_inside() -> None:
            when_inside(e, self.op, write)
            e.settle()

        c.when(there, write_inside)


def gather(e: RegionEmitter, body: Region, analyses: Analyses) -> Sequence[Gathered]:
    """Prepare the sums of a loop that each thread gathers, to be added to memory once.

    Args:
        e: has them from now on; constants of the body that are their indices are emitted.
        body: the parallel loop's.
        analyses: what is known of the body.
    """
    updates = []
    for op, constants in gathered(body, analyses):
        for constant in constants:
            e.op(constant)
        e.gathered[op] = update = Gathered(e, op)
        updates.append(update)
    return updates
