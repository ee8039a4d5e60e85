"""Updates of one element by all iterations, combined by each thread before they reach memory.

`y[None] += v` in a parallel loop is an atomic update of one element, for which all threads would queue. A thread keeps
the combination of its own values, and updates memory after its last iteration. Which updates these are the plan says
(`adstack.analysis.accumulation`). Sums of floats are rounded in another order, as atomics may.
"""

from __future__ import annotations

from collections.abc import Sequence

from adstack.analysis.manager import Analyses
from adstack.analysis.reductions import neutral
from adstack.backends.shared.ways import gathered
from adstack.ir.structure import Op, Place, Region, Value

from .access import pointer
from .atomics import update
from .guards import when_inside
from .region import RegionEmitter
from .spelling import literal, type_name

__all__ = ["Gathered", "gather"]


class Gathered:
    """The partial result of one such update: a variable for its value, and one that tells whether there is any."""

    def __init__(self, e: RegionEmitter, op: Op) -> None:
        self.op, self.kind = op, op.attrs["kind"]
        self.place: Place = op.attrs["place"]
        dtype = self.place.dtype
        value = neutral(self.kind, dtype)
        start = literal(bool(value) if dtype.is_bool else value, dtype)
        self.total = e.w.variable(type_name(dtype), start, f"{self.place.name}_total")
        self.any = e.w.variable("bool", "false", f"{self.place.name}_any")

    def add(self, e: RegionEmitter, value: Value) -> None:
        """Take this iteration's value."""
        e.w.line(f"{self.total} = {e.combine(self.kind, self.place.dtype, self.total, e.get(value))};")
        e.w.line(f"{self.any} = true;")

    def close(self, e: RegionEmitter) -> None:
        """Apply the combined value, if there is any; if there is none, the element may be out of bounds."""
        place, indices = self.place, self.op.operands[: self.place.rank]
        with e.w.block(f"if ({self.any})"):
            when_inside(e, self.op, lambda: update(e, self.kind, place, pointer(e, place, indices), [self.total]))


def gather(e: RegionEmitter, body: Region, analyses: Analyses) -> Sequence[Gathered]:
    """Prepare what can be gathered in a loop; indices that are constants of the body are bound."""
    updates = []
    for op, constants in gathered(body, analyses):
        for constant in constants:
            e.op(constant)
        e.gathered[op] = update = Gathered(e, op)
        updates.append(update)
    return updates
