"""Updates of one element by all iterations, combined by each thread before they reach memory.

`y[None] += v` in a parallel loop is an atomic update of one element, for which all threads would queue. A thread keeps
the combination of its own values; after its last iteration, the threads of a simdgroup combine theirs, then the first
thread of a threadgroup what its simdgroups have, and updates memory, once. Which updates these are the plan says
(`adstack.analysis.accumulation`). Sums of floats are rounded in another order, as atomics may.

The threads of a simdgroup combine in a tree that only its width decides: half of them take what the other half has,
then half of these, and so on. The values of threads that are not there are not defined, and nobody takes them.

Where an error may make some threads of a task leave, those that are left must not wait for a whole threadgroup. There
each simdgroup updates memory, and where those that are here are not the first ones of a simdgroup, each thread does.
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

__all__ = ["COUNT", "LANE", "NUMBER", "WIDTH", "Gathered", "close", "gather"]

LANE = "simd_lane"
"""The number of a thread in its simdgroup."""
WIDTH = "simd_width"
"""How many threads a simdgroup has, with those that are not here."""
NUMBER = "simd_number"
"""The number of a simdgroup in its threadgroup."""
COUNT = "simd_count"
"""How many simdgroups a threadgroup has."""
_SIMDGROUPS = 32
"""How many it has at most: 256 threads, of which a simdgroup has 8 at least."""


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
        self._parts, self._there = (e.w.name(f"{self.place.name}_{name}") for name in ("parts", "there"))

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

    def leave(self, e: RegionEmitter) -> None:
        """Let the threadgroup see what the simdgroup has; its first thread has it."""
        e.w.line(f"threadgroup {type_name(self.place.dtype)} {self._parts}[{_SIMDGROUPS}];")
        e.w.line(f"threadgroup bool {self._there}[{_SIMDGROUPS}];")
        with e.w.block(f"if ({LANE} == 0)"):
            e.w.line(f"{self._parts}[{NUMBER}] = {self.total};")
            e.w.line(f"{self._there}[{NUMBER}] = {self.any};")

    def fetch(self, e: RegionEmitter, number: str) -> None:
        """Take what the simdgroup of a number has left."""
        self._take(e, f"{self._parts}[{number}]")
        e.w.line(f"{self.any} = {self.any} || {self._there}[{number}];")

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
    """Combine what threads have gathered, and apply it: after the loop, where they are together."""
    if not updates:
        return
    here = e.w.typed("uint", "first_here()", "here")
    if e.frame.leaves:
        with e.w.block(f"if ({here} > 1)"):
            _join(e, updates, here)
            for one in updates:
                e.w.line(f"{one.any} = {one.any} && {LANE} == 0;")
    else:
        _join(e, updates, here)
        _fetch(e, updates)
    for one in updates:
        one.close(e)


def _join(e: RegionEmitter, updates: Sequence[Gathered], here: str) -> None:
    """The first thread of a simdgroup, of which the first ones are here, gets what all have."""
    w = e.w
    step = w.name("step")
    with w.block(f"for (uint {step} = {WIDTH} / 2; {step} > 0; {step} /= 2)"):
        for one in updates:
            one.join(e, here, step)
    for one in updates:
        w.line(f"{one.any} = simd_any({one.any});")


def _fetch(e: RegionEmitter, updates: Sequence[Gathered]) -> None:
    """The first thread of a threadgroup gets what its simdgroups have; others have nothing then."""
    w = e.w
    for one in updates:
        one.leave(e)
    w.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
    first, number = w.typed("bool", f"{NUMBER} == 0 && {LANE} == 0", "first"), w.name("number")
    with w.block(f"for (uint {number} = 1; {first} && {number} < {COUNT}; ++{number})"):
        for one in updates:
            one.fetch(e, number)
    for one in updates:
        w.line(f"{one.any} = {one.any} && {first};")
