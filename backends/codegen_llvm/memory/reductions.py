"""Reductions: atomic updates that each thread combines over all its iterations, and applies once.

Which atomics these are the plan says (`adstack.analysis.accumulation`), by the attribute `sums`. Places that the caller
hands in may overlap others: that is compared when the task runs, and where they do, nothing is combined before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adstack.analysis.exclusivity import may_overlap
from adstack.ir.scalar_ops import CONST
from adstack.ir.structure import Op, Place, Region, Value

from ..function.region import RegionEmitter
from ..safety.guards import when_inside
from ..text.writer import scalar_type, type_text
from .access import address_of
from .atomics import reduced
from .one_lane import combine, identity, update

__all__ = ["Reductions"]


class _Slot:
    """The partial result of one reduction in one loop, a number per lane, in memory of the function."""

    def __init__(self, e: RegionEmitter, op: Op, address: str, apart: str) -> None:
        self.kind: str = op.attrs["kind"]
        self.dtype = op.attrs["place"].dtype
        self.op, self.address, self.apart, self.lanes = op, address, apart, e.lanes
        self.memory = e.frame.slot(self._type)
        neutral = e.repeated(identity(self.kind, self.dtype), self.dtype)
        e.w.do(f"store {self._type} {neutral}, ptr {self.memory}, align 64")

    @property
    def _type(self) -> str:
        return type_text(self.dtype, self.lanes)

    def _load(self, e: RegionEmitter) -> str:
        return e.w.let(f"load {self._type}, ptr {self.memory}, align 64")

    def add(self, e: RegionEmitter, value: Value) -> None:
        """Combine the running lanes' values; one lane applies its value at once where places overlap."""
        if self.apart and self.lanes == 1:
            self._add_or_apply(e, value)
        else:
            self._add(e, value)

    def _add(self, e: RegionEmitter, value: Value) -> None:
        old = self._load(e)
        new = combine(e, self.lanes, self.kind, self.dtype, old, e.vector(value))
        if e.mask is not None:
            new = e.choose(e.mask, new, old, self.dtype)
        e.w.do(f"store {self._type} {new}, ptr {self.memory}, align 64")

    def _add_or_apply(self, e: RegionEmitter, value: Value) -> None:
        gather, apply, after = e.label("gather"), e.label("apply"), e.label("gathered")
        e.split(self.apart, gather, apply)
        e.enter(gather)
        self._add(e, value)
        e.jump(after)
        e.enter(apply)
        one = e.scalar(value)
        when_inside(e, self.op, lambda: update(e, self.kind, self.address, self.dtype, one, wanted=False))
        e.jump(after)
        e.enter(after)

    def close(self, e: RegionEmitter) -> None:
        """Apply the combined value by one update, unless that is neutral: the loop may not have touched the element."""
        total = reduced(e, self.kind, self.dtype, self._load(e))
        total, speaks = e.target.gathered(e, self.kind, self.dtype, total)
        ty, word = scalar_type(self.dtype), f"i{self.dtype.bits}"
        neutral = identity(self.kind, self.dtype)
        if self.dtype.is_float:
            bits, none = e.w.let(f"bitcast {ty} {total} to {word}"), e.w.let(f"bitcast {ty} {neutral} to {word}")
        else:
            bits, none = total, neutral
        e.frame.indices = ()  # the loop is over
        some, after = e.label("some"), e.label("applied")
        wanted = e.w.let(f"icmp ne {word} {bits}, {none}")
        e.split(e.w.let(f"and i1 {wanted}, {speaks}") if speaks else wanted, some, after)
        e.enter(some)
        when_inside(e, self.op, lambda: update(e, self.kind, self.address, self.dtype, total, wanted=False))
        e.jump(after)
        e.enter(after)


class Reductions:
    """The reductions of a loop body.

    Args:
        touching: per place, the ops of the body that touch its memory.

    Attributes:
        ops: the atomics.
        apart: an i1 that says whether nothing overlaps what they update; "" if that is certain.
    """

    def __init__(self, touching: Mapping[str, Sequence[Op]]) -> None:
        self._touching = touching
        self.ops = [op for ops in self._touching.values() for op in ops if op.attrs.get("sums") == "uniform"]
        self._addresses: dict[Op, str] = {}
        self.apart = ""

    def prepare(self, e: RegionEmitter, body: Region) -> None:
        """Before the loops: compute the addresses, and whether they are apart from everything else."""
        indices = {v for op in self.ops for v in op.operands[:-1]}
        for op in body.walk():
            if op.opdef is CONST and op.result in indices:
                e.op(op)
        for op in self.ops:
            place: Place = op.attrs["place"]
            address = address_of(e, place, op.operands[:-1], inbounds=False).name
            self._addresses[op] = address
            for others in self._touching.values():
                other: Place = others[0].attrs["place"]
                if may_overlap(place, other):
                    is_apart = _apart(e, address, place, other)
                    self.apart = e.w.let(f"and i1 {self.apart}, {is_apart}") if self.apart else is_apart

    def open(self, e: RegionEmitter) -> None:
        """In front of a loop: start the partial results."""
        e.reductions = {op: _Slot(e, op, self._addresses[op], self.apart) for op in self.ops}

    def close(self, e: RegionEmitter) -> None:
        """Behind the loop: apply the partial results."""
        for slot in e.reductions.values():
            slot.close(e)
        e.reductions = {}


def _apart(e: RegionEmitter, address: str, place: Place, other: Place) -> str:
    """Whether an element of one place lies outside the memory of another."""
    w = e.w
    start = w.let(f"ptrtoint ptr {address} to i64")
    end = w.let(f"add i64 {start}, {place.dtype.size}")
    first = w.let(f"ptrtoint ptr {e.frame.pointers[other.name]} to i64")
    size = str(other.dtype.size)
    for axis in range(other.rank):
        size = w.let(f"mul i64 {size}, {e.extent(other, axis, 1)}")
    last = w.let(f"add i64 {first}, {size}")
    before, behind = w.let(f"icmp ule i64 {end}, {first}"), w.let(f"icmp uge i64 {start}, {last}")
    return w.let(f"or i1 {before}, {behind}")
