"""Updates of one element by all iterations, combined by each thread before they reach memory.

`y[None] += v` in a parallel loop is an atomic update of one element, for which all threads would queue. A thread keeps
the combination of its own values; after its last iteration, the threads of a simdgroup combine theirs, and the first
one updates memory, once. Which updates these are the plan says (`adstack.analysis.accumulation`). Sums of floats are
rounded in another order, as atomics may.

The threads combine in a tree that only the width of a simdgroup decides: half of them take what the other half has,
then half of these, and so on. The values of threads that have left are not defined, and nobody takes them. That is
right if those that are here are the first ones of the simdgroup, which is so unless an error has made some leave; then
each updates memory by itself.
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

__all__ = ["LANE", "WIDTH", "Gathered", "close", "gather"]

LANE = "simd_lane"
"""The number of a thread in its simdgroup."""
WIDTH = "simd_width"
"""How many threads a simdgroup has, with those that are not here."""


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
        self._take(e, e.get(value))
        e.w.line(f"{self.any} = true;")

    def _take(self, e: RegionEmitter, text: str) -> None:
        e.w.line(f"{self.total} = {e.combine(self.kind, self.place.dtype, self.total, text)};")

    def join(self, e: RegionEmitter, here: str, step: str) -> None:
        """Take what the thread `step` places on has, if it is among the first `here` ones of the simdgroup."""
        other = e.w.let(self.place.dtype, f"beyond({self.total}, {step})")
        with e.w.block(f"if ({LANE} + {step} < {here})"):
            self._take(e, other)

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


def close(e: RegionEmitter, updates: Sequence[Gathered]) -> None:
    """Combine what the threads of a simdgroup have gathered, and apply it: after the loop, where they are together."""
    if not updates:
        return
    w = e.w
    here, step = w.typed("uint", "first_here()", "here"), w.name("step")
    with w.block(f"if ({here} > 1)"):
        with w.block(f"for (uint {step} = {WIDTH} / 2; {step} > 0; {step} /= 2)"):
            for update in updates:
                update.join(e, here, step)
        for update in updates:
            w.line(f"{update.any} = simd_any({update.any}) && {LANE} == 0;")
    for update in updates:
        update.close(e)
