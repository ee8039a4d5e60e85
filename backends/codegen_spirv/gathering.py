"""Updates of one element by all iterations, combined by each thread before they reach memory.

`y[None] += v` in a parallel loop is an atomic update of one element, for which all threads would queue. A thread keeps
the combination of its own values; after its last iteration, threads that run side by side combine theirs, and one of
them updates memory, once. That is right where nothing else in the loop touches the place. Sums of floats are rounded in
another order, as atomics may.
"""

from __future__ import annotations

from collections.abc import Sequence

from adstack.analysis.reductions import COMBINING, neutral
from adstack.ir.structure import Op, Place, Region, Value
from adstack.ir.types import u1

from .access import address_of
from .assembly.code import Num, unsigned
from .assembly.opcodes import Capability
from .assembly.opcodes import Op as Spv
from .atomics import update
from .guards import when_inside
from .region import RegionEmitter

__all__ = ["Gathered", "gather"]

_SUBGROUP = 3
"""The scope of threads that run side by side."""
TOGETHER = {
    ("add", "f32"): Spv.GroupNonUniformFAdd,
    ("add", "f64"): Spv.GroupNonUniformFAdd,
    ("add", "i32"): Spv.GroupNonUniformIAdd,
    ("add", "u32"): Spv.GroupNonUniformIAdd,
    ("min", "i32"): Spv.GroupNonUniformSMin,
    ("min", "u32"): Spv.GroupNonUniformUMin,
    ("max", "i32"): Spv.GroupNonUniformSMax,
    ("max", "u32"): Spv.GroupNonUniformUMax,
    ("and", "i32"): Spv.GroupNonUniformBitwiseAnd,
    ("and", "u32"): Spv.GroupNonUniformBitwiseAnd,
    ("or", "i32"): Spv.GroupNonUniformBitwiseOr,
    ("or", "u32"): Spv.GroupNonUniformBitwiseOr,
    ("xor", "i32"): Spv.GroupNonUniformBitwiseXor,
    ("xor", "u32"): Spv.GroupNonUniformBitwiseXor,
}
"""What subgroups combine. Not the least and greatest of floats: devices may take a NaN for either."""


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
            total, there = _together(self.kind, total, there)

        def write() -> None:
            update(e, self.kind, address_of(e, place, self.op.operands[: place.rank]), place.dtype, total)

        c.when(there, lambda: when_inside(e, self.op, write))


def _together(kind: str, mine: Num, there: Num) -> tuple[Num, Num]:
    """Combine the values of a subgroup; the result, and whether this is the thread that updates memory."""
    c, dtype = mine.c, mine.dtype
    for what in ("", "Vote", "Arithmetic"):
        c.m.need(Capability[f"GroupNonUniform{what}"])
    scope, reduce = c.m.word(_SUBGROUP), 0
    total = c.let(TOGETHER[kind, dtype.name], dtype, scope, reduce, mine.id)
    if dtype.is_float:
        # devices may begin with 0, which turns a sum of nothing but -0 into 0
        nothing = c.const(neutral(kind, dtype), dtype)
        bits = unsigned(dtype)
        only = c.let(Spv.GroupNonUniformAll, u1, scope, mine.bits(bits).eq(nothing.bits(bits)).id)
        total = only.choose(nothing, total)
    anyone = c.let(Spv.GroupNonUniformAny, u1, scope, there.id)
    return total, anyone & c.let(Spv.GroupNonUniformElect, u1, scope)


def gather(e: RegionEmitter, body: Region) -> Sequence[Gathered]:
    """Prepare what can be gathered in a loop; indices that are constants of the body are bound."""
    inside = {v: op for op in body.walk() for v in op.results}
    inner = set(inside).union(body.args, *(r.args for op in body.walk() for r in op.regions))
    touched: dict[Place, list[Op]] = {}
    for op in body.walk():
        if "place" in op.attrs and op.name != "shape":
            touched.setdefault(op.attrs["place"], []).append(op)
    if sum(place.kind == "ndarray" for place in touched) > 1:
        touched = {
            place: ops for place, ops in touched.items() if place.kind != "ndarray"
        }  # two array arguments may be one memory
    gathered = []
    for place, ops in touched.items():
        if all(_gathers(op, place, ops[0], inside, inner) for op in ops):
            for op in ops:
                for index in op.operands[: place.rank]:
                    if index in inside:
                        e.op(inside[index])
                e.gathered[op] = update = Gathered(e, op)
                gathered.append(update)
    return gathered


def _gathers(op: Op, place: Place, first: Op, inside: dict[Value, Op], inner: set[Value]) -> bool:
    """Whether an access is an update, of the same kind as the others, whose index does not depend on the iteration."""
    if op.name != "atomic" or op.attrs["kind"] not in COMBINING or op.attrs["kind"] != first.attrs["kind"]:
        return False
    fixed = all(v not in inner or (v in inside and inside[v].name == "const") for v in op.operands[: place.rank])
    return fixed and not op.result.uses
