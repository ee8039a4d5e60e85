"""Induction values: integers that change by the same amount in every iteration of a `for`, at the start of the loop."""

from __future__ import annotations

from adstack.analysis.induction import Induction as AffineInduction
from adstack.ir.scalar_ops import CONST
from adstack.ir.structure import Op, Value
from adstack.ir.types import DType, i64

from ..function.region import RegionEmitter
from ..text.scalar_ops import emit
from ..text.writer import type_text

__all__ = ["Induction"]


class Induction(AffineInduction):
    """What induction values are where a loop begins, and how many iterations it has from there on.

    Args:
        e: writes the code in front of the loop.
        op: the loop.
        start: its index where it begins: later than in the program if some iterations have been run before.
        bits: see `AffineInduction`.
    """

    def __init__(self, e: RegionEmitter, op: Op, start: str, bits: int = 64) -> None:
        (body,) = op.regions
        super().__init__(body, bits)
        self.e, self.start = e, start
        self._first: dict[Value, str] = {}

    def first(self, value: Value) -> str:
        """What a value is where the loop begins, as an i64."""
        return self._widened(value.dtype, self._at_start(value))

    def trip_count(self, hi: Value) -> str:
        """How many iterations the loop has, as an i64; 0 if it does not run."""
        e, dtype = self.e, hi.dtype
        ty = type_text(dtype, 1)
        some = e.w.let(f"icmp {'slt' if dtype.is_signed else 'ult'} {ty} {self.start}, {e.scalar(hi)}")
        count = e.w.let(f"sub {ty} {e.scalar(hi)}, {self.start}")
        wide = count if dtype.bits == 64 else e.w.let(f"zext {ty} {count} to i64")
        return e.w.let(f"select i1 {some}, i64 {wide}, i64 0")

    def _at_start(self, value: Value) -> str:
        e = self.e
        if value is self.index:
            return self.start
        op = self.definition(value)
        if op is None or e.is_constant(value):
            return e.scalar(value)
        if op.opdef is CONST:
            return e.w.constant(op.attrs["value"], value.dtype, 1)
        if value not in self._first:
            types = tuple(v.dtype for v in op.operands)
            args = tuple(self._at_start(v) for v in op.operands)
            self._first[value] = emit(e.w, 1, op.opdef, value.dtype, types, args)
        return self._first[value]

    def _widened(self, dtype: DType, name: str) -> str:
        if dtype.bits == 64:
            return name
        word = "sext" if dtype.is_signed else "zext"
        return self.e.w.let(f"{word} {type_text(dtype, 1)} {name} to {type_text(i64, 1)}")
