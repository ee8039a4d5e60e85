"""From a formula to code: `Emitter.size(expr)` appends the ops that compute it, in arithmetic that saturates."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Final

from ..errors import InternalError
from ..ir.builder import Builder
from ..ir.def_use import live_into
from ..ir.ops import ARRAY_ALLOC, ARRAY_LOAD, ARRAY_STORE
from ..ir.scalar_ops import FLOORDIV, MAX, MOD
from ..ir.structure import Op, Region, Value
from ..ir.types import i64, u1
from ..transforms.rewriting.rewrite import clone_op
from .expr import MOST, Branch, Const, Number, Plus, SizeExpr, SumOverRange, Times, Triangle, Trips

__all__ = ["Emitter", "NeedsMemory"]

_ARRAY_OPS: Final = (ARRAY_ALLOC, ARRAY_LOAD, ARRAY_STORE)


class NeedsMemory(Exception):  # noqa: N818 - not an error: the caller takes another way
    """Raised where a formula reads a local array: all the code that fills the array would have to run for it."""


class Emitter:
    """Writes code that computes formulas of one task.

    Args:
        b: the builder that it appends to.
        names: value of the task -> the value that stands for it there: parameters and indices, to begin with.
    """

    def __init__(self, b: Builder, names: dict[Value, Value]) -> None:
        self.b = b
        self.names: MutableMapping[Value, Value] = ChainMap(names)

    # ---- numbers of the program

    def number(self, value: Value) -> Value:
        """Append the ops that compute a value of the task, with all that they depend on; the value there."""
        work = [value]
        while work:
            top = work[-1]
            if top in self.names:
                work.pop()
                continue
            maker = top.op
            if maker is None:
                raise InternalError(f"a size depends on {top}, which is not known ahead of the loop")
            if maker.opdef in _ARRAY_OPS or _reads_arrays(maker):
                raise NeedsMemory
            missing = [v for v in live_into(maker) if v not in self.names]
            if missing:
                work += missing
                continue
            self.b.region.ops.append(clone_op(maker, self.names))  # type: ignore[arg-type]
        return self.names[value]

    # ---- formulas

    def size(self, expr: SizeExpr) -> Value:
        """The count (i64) that a formula gives: from 0 to MOST."""
        return _RULES[type(expr)](self, expr)

    def emit_const(self, expr: Const) -> Value:
        """A constant of the formula."""
        return self.b.const(min(expr.value, MOST), i64)

    def emit_number(self, expr: Number) -> Value:
        """A number of the program, as a count: negative ones are 0."""
        value = self.number(expr.value)
        if value.dtype.bits == 64 and not value.dtype.is_signed:
            return self._or_most(self.b.lt(value, self.b.const(2**63, value.dtype)), self.b.cast(value, i64))
        return self.not_negative(self.b.cast(value, i64))

    def not_negative(self, value: Value) -> Value:
        """An i64, or 0 if it is negative."""
        zero = self.b.const(0, i64)
        return self.b.select(self.b.lt(value, zero), zero, value)

    def _or_most(self, fits: Value, value: Value) -> Value:
        return self.b.select(fits, value, self.b.const(MOST, i64))

    def emit_trips(self, expr: Trips) -> Value:
        """A trip count: max(0, hi - lo)."""
        return self._distance(self.number(expr.lo), self.number(expr.hi))

    def _distance(self, lo: Value, hi: Value) -> Value:
        """max(0, hi - lo). As 64-bit integers the difference may wrap below 0 only when it is past MOST."""
        b = self.b
        between = b.sub(b.cast(hi, i64), b.cast(lo, i64))
        zero = b.const(0, i64)
        return b.select(b.lt(lo, hi), self._or_most(b.ge(between, zero), between), zero)

    def emit_plus(self, expr: Plus) -> Value:
        """A sum, which saturates at MOST."""
        total = self.size(expr.terms[0])
        for term in expr.terms[1:]:
            total = self._sum(total, self.size(term))
        return total

    def _sum(self, one: Value, other: Value) -> Value:
        total = self.b.add(one, other)
        return self._or_most(self.b.ge(total, self.b.const(0, i64)), total)

    def _product(self, one: Value, other: Value) -> Value:
        b = self.b
        some = b.emit(MAX, other, b.const(1, i64))
        fits = b.le(one, b.emit(FLOORDIV, b.const(MOST, i64), some))
        return self._or_most(fits, b.mul(one, other))

    def emit_times(self, expr: Times) -> Value:
        """A product, which saturates at MOST; the second factor is computed only where the first is not 0."""
        count = self.size(expr.count)
        if isinstance(expr.each, Const):
            return self._product(count, self.size(expr.each))
        some = self.b.lt(self.b.const(0, i64), count)
        return self._choice(some, lambda: self._product(count, self.size(expr.each)), lambda: self.b.const(0, i64))

    def emit_branch(self, expr: Branch) -> Value:
        """An `if` of whose sides one is computed."""
        condition = self.number(expr.condition)
        assert condition.dtype is u1
        return self._choice(condition, lambda: self.size(expr.yes), lambda: self.size(expr.no))

    def _choice(self, condition: Value, yes: Callable[[], Value], no: Callable[[], Value]) -> Value:
        sides = []
        for side in (yes, no):
            region = Region()
            with self.b.into(region), self.inside():
                self.b.yield_(side())
            sides.append(region)
        return self.b.if_(condition, *sides)[0]

    def emit_sum_over_range(self, expr: SumOverRange) -> Value:
        """A loop that adds up the body of the sum over its index."""
        lo, hi = self.number(expr.lo), self.number(expr.hi)
        index, total = Value(expr.index.type, expr.index.name), Value(i64)
        body = Region([index, total])
        with self.b.into(body), self.inside():
            self.names[expr.index] = index
            self.b.yield_(self._sum(total, self.size(expr.body)))
        return self.b.for_(lo, hi, [self.b.const(0, i64)], body)[0]

    def emit_triangle(self, expr: Triangle) -> Value:
        """T(hi - 1 + shift) - T(lo - 1 + shift), where T(n) = n (n + 1) / 2 of a positive n, else 0."""
        b = self.b
        lo, hi = self.number(expr.lo), self.number(expr.hi)
        ends = [self._triangular(b.add(b.cast(end, i64), b.const(expr.shift - 1, i64))) for end in (hi, lo)]
        most, zero = b.const(MOST, i64), b.const(0, i64)
        inner = b.select(b.eq(ends[0], most), most, b.sub(*ends))
        return b.select(b.lt(lo, hi), inner, zero)

    def _triangular(self, n: Value) -> Value:
        b = self.b
        n = self.not_negative(n)
        one, two = b.const(1, i64), b.const(2, i64)
        even = b.eq(b.emit(MOD, n, two), b.const(0, i64))
        half = b.select(even, b.emit(FLOORDIV, n, two), n)
        other = b.select(even, b.add(n, one), b.emit(FLOORDIV, b.add(n, one), two))
        return self._or_most(b.lt(n, b.const(2**32 - 1, i64)), b.mul(half, other))

    @contextmanager
    def inside(self) -> Iterator[None]:
        """A scope: values that are computed inside a region are forgotten at its end."""
        outer = self.names
        self.names = ChainMap({}, outer)
        try:
            yield
        finally:
            self.names = outer


def _reads_arrays(op: Op) -> bool:
    return any(inner.opdef in _ARRAY_OPS for region in op.regions for inner in region.walk())


_RULES: Final[dict[type, Callable[..., Value]]] = {
    Const: Emitter.emit_const,
    Number: Emitter.emit_number,
    Trips: Emitter.emit_trips,
    Plus: Emitter.emit_plus,
    Times: Emitter.emit_times,
    Branch: Emitter.emit_branch,
    SumOverRange: Emitter.emit_sum_over_range,
    Triangle: Emitter.emit_triangle,
}
