"""Appends ops to a region; result types come from the table, so ill-typed IR can't be built in silence.

    b = Builder()
    x = b.const(1.5, f32)
    with b.at(loc):
        y = b.mul(x, x)
    body = Region(args=[Value(i32, "i")])
    with b.into(body):
        b.yield_()
    b.parallel_for([(zero, n)], body)

Ops without a method of their own are emitted by their rows: `b.emit(CLZ, x)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..errors import IRError
from . import ops
from . import scalar_ops as scalars
from .location import UNKNOWN, Loc
from .opdef import OpDef
from .ops import ATOMICS
from .structure import Attributes, Op, Place, Region, Value
from .texts import Part
from .types import ArrayType, DType, StackType, Type, i32

__all__ = ["Builder"]


class Builder:
    """Writes at the end of `region`, giving every op the location `loc`."""

    def __init__(self, region: Region | None = None, loc: Loc = UNKNOWN) -> None:
        self.region = Region() if region is None else region
        self.loc = loc

    @contextmanager
    def into(self, region: Region) -> Iterator[Region]:
        """Append to `region` inside the `with` block."""
        outer, self.region = self.region, region
        try:
            yield region
        finally:
            self.region = outer

    @contextmanager
    def at(self, loc: Loc) -> Iterator[None]:
        """Give ops this location inside the `with` block."""
        outer, self.loc = self.loc, loc
        try:
            yield
        finally:
            self.loc = outer

    def append(
        self,
        row: OpDef,
        operands: Sequence[Value] = (),
        types: Sequence[Type] = (),
        attrs: Attributes | None = None,
        regions: Sequence[Region] = (),
    ) -> Op:
        """Append any op with result types given; nothing is checked."""
        op = Op(row, operands, attrs, [Value(t) for t in types], list(regions), self.loc)
        self.region.ops.append(op)
        return op

    def emit(self, row: OpDef, *operands: Value, **attrs: object) -> Value:
        """Append a scalar op of this row, which decides the result's type. Raises IRError for a type error."""
        types = row.signature.infer(row.name, [v.type for v in operands], attrs)
        return self.append(row, operands, types, attrs).result

    # ---- constants and conversions

    def const(self, value: bool | int | float, dtype: DType) -> Value:
        """A constant: rounded to a float type, wrapped to an integer type."""
        return self.append(scalars.CONST, (), (dtype,), {"to": dtype, "value": dtype(value)}).result

    def cast(self, x: Value, to: DType) -> Value:
        """`x` converted to `to`; `x` itself if it has that type."""
        return x if x.type is to else self.emit(scalars.CAST, x, to=to)

    def bitcast(self, x: Value, to: DType) -> Value:
        """The bits of `x` as a `to`, or `x` itself if it has that type. Raises IRError if the widths differ."""
        if x.type is to:
            return x
        if x.dtype.bits != to.bits:
            raise IRError(f"bitcast: {x.dtype} and {to} differ in width")
        return self.emit(scalars.BITCAST, x, to=to)

    # ---- arithmetic, logic, comparison

    def add(self, a: Value, b: Value) -> Value:
        """The sum; integers wrap, as in `sub`, `mul` and `neg`."""
        return self.emit(scalars.ADD, a, b)

    def sub(self, a: Value, b: Value) -> Value:
        """The difference a - b."""
        return self.emit(scalars.SUB, a, b)

    def mul(self, a: Value, b: Value) -> Value:
        """The product."""
        return self.emit(scalars.MUL, a, b)

    def div(self, a: Value, b: Value) -> Value:
        """The quotient of floats; integers have `floordiv` and `raw_div`."""
        return self.emit(scalars.DIV, a, b)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """a * b + c of floats, rounded once."""
        return self.emit(scalars.FMA, a, b, c)

    def neg(self, a: Value) -> Value:
        """-a: of a float only the sign changes, also of a zero."""
        return self.emit(scalars.NEG, a)

    def abs(self, a: Value) -> Value:
        """The magnitude; that of the most negative integer is itself."""
        return self.emit(scalars.ABS, a)

    def sqrt(self, a: Value) -> Value:
        """The root of a float, correctly rounded; NaN below zero."""
        return self.emit(scalars.SQRT, a)

    def floor(self, a: Value) -> Value:
        """The largest integral float not above `a`."""
        return self.emit(scalars.FLOOR, a)

    def rint(self, a: Value) -> Value:
        """The nearest integral float, halves to even."""
        return self.emit(scalars.RINT, a)

    def and_(self, a: Value, b: Value) -> Value:
        """Bits that both have; of u1 whether both hold. So with `or_` and `xor`."""
        return self.emit(scalars.AND, a, b)

    def or_(self, a: Value, b: Value) -> Value:
        """Bits that either has."""
        return self.emit(scalars.OR, a, b)

    def xor(self, a: Value, b: Value) -> Value:
        """Bits in which the two differ."""
        return self.emit(scalars.XOR, a, b)

    def not_(self, a: Value) -> Value:
        """Every bit flipped; of u1 the negation."""
        return self.emit(scalars.NOT, a)

    def shl(self, a: Value, b: Value) -> Value:
        """The bits of `a` moved up by `b`; 0 if `b` is negative or the width is passed, in debug mode an error."""
        return self.emit(scalars.SHL, a, b)

    def shr(self, a: Value, b: Value) -> Value:
        """The bits of `a` moved down by `b`, copies of a sign coming in at the top; 0, or an error, where `shl` is."""
        return self.emit(scalars.SHR, a, b)

    def eq(self, a: Value, b: Value) -> Value:
        """Whether the operands are equal, a u1; false if one is NaN. So with the other comparisons, but for `ne`."""
        return self.emit(scalars.EQ, a, b)

    def ne(self, a: Value, b: Value) -> Value:
        """Whether the operands differ, a u1; true if one is NaN."""
        return self.emit(scalars.NE, a, b)

    def lt(self, a: Value, b: Value) -> Value:
        """Whether a < b, a u1."""
        return self.emit(scalars.LT, a, b)

    def le(self, a: Value, b: Value) -> Value:
        """Whether a <= b, a u1."""
        return self.emit(scalars.LE, a, b)

    def gt(self, a: Value, b: Value) -> Value:
        """Whether a > b, a u1."""
        return self.emit(scalars.GT, a, b)

    def ge(self, a: Value, b: Value) -> Value:
        """Whether a >= b, a u1."""
        return self.emit(scalars.GE, a, b)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """`a` where the u1 holds, else `b`; both are computed."""
        return self.emit(scalars.SELECT, condition, a, b)

    # ---- memory

    def shape(self, place: Place, axis: int, to: DType = i32) -> Value:
        """The extent of one axis of a place, as it is in the launch."""
        return self.append(ops.SHAPE, (), (to,), {"place": place, "axis": axis, "to": to}).result

    def load(self, place: Place, indices: Sequence[Value] = ()) -> Value:
        """The element at one integer index per axis of the place."""
        return self.append(ops.LOAD, indices, (place.dtype,), {"place": place}).result

    def store(self, place: Place, indices: Sequence[Value], value: Value) -> Op:
        """Write the element at one integer index per axis of the place."""
        return self.append(ops.STORE, (*indices, value), (), {"place": place})

    def atomic(self, kind: str, place: Place, indices: Sequence[Value], *values: Value) -> Value:
        """Combine atomically; gives the old value. "cas" takes the expected value, then the new one."""
        if kind not in ATOMICS:
            raise IRError(f"atomic: unknown kind {kind!r}; known are {', '.join(ATOMICS)}")
        attrs = {"place": place, "kind": kind}
        return self.append(ops.ATOMIC, (*indices, *values), (place.dtype,), attrs).result

    def array(self, dtype: DType, length: int, team: str = "") -> Value:
        """The handle of an array of zeros inside the thread, of a fixed length; `team` is a word of `TEAM_ARRAYS`."""
        attrs: dict[str, object] = {"dtype": dtype, "length": length, **({"team": team} if team else {})}
        return self.append(ops.ARRAY_ALLOC, (), (ArrayType(dtype, length),), attrs).result

    def array_load(self, array: Value, index: Value) -> Value:
        """The element of a local array at an integer index."""
        assert isinstance(array.type, ArrayType)
        return self.append(ops.ARRAY_LOAD, (array, index), (array.type.dtype,)).result

    def array_store(self, array: Value, index: Value, value: Value) -> Op:
        """Write the element of a local array at an integer index."""
        return self.append(ops.ARRAY_STORE, (array, index, value))

    def stack(self, dtype: DType, capacity: Value, around: tuple[int, ...] = (), inside: tuple[int, ...] = ()) -> Value:
        """The handle of an empty adstack of so many slots; `around` and `inside` are explained in its row."""
        attrs = {"dtype": dtype, "around": around, "inside": inside}
        return self.append(ops.STACK_ALLOCA, (capacity,), (StackType(dtype),), attrs).result

    def claim(self, needed: Value, count: Value) -> Op:
        """Say whether this iteration needs slots of the stacks that follow, and how many iterations do at most."""
        return self.append(ops.STACK_CLAIM, (needed, count))

    def push(self, stack: Value, value: Value) -> Op:
        """Put a primal on an adstack, with the adjoint 0."""
        return self.append(ops.STACK_PUSH, (stack, value))

    def pop(self, stack: Value) -> Op:
        """Drop the top slot of an adstack; an empty one stays empty."""
        return self.append(ops.STACK_POP, (stack,))

    def put(self, stack: Value, index: Value, value: Value) -> Op:
        """Write the primal at `index`: a push of a stack whose count the program keeps in a value."""
        return self.append(ops.STACK_PUT, (stack, index, value))

    def get(self, stack: Value, index: Value) -> Value:
        """The primal at `index`."""
        assert isinstance(stack.type, StackType)
        return self.append(ops.STACK_GET, (stack, index), (stack.type.dtype,)).result

    def load_top(self, stack: Value) -> Value:
        """The primal of the top slot; of an empty adstack, of slot 0."""
        assert isinstance(stack.type, StackType)
        return self.append(ops.STACK_LOAD_TOP, (stack,), (stack.type.dtype,)).result

    def load_top_adj(self, stack: Value) -> Value:
        """The adjoint of the top slot."""
        assert isinstance(stack.type, StackType)
        return self.append(ops.STACK_LOAD_TOP_ADJ, (stack,), (stack.type.dtype,)).result

    def acc_adjoint(self, stack: Value, value: Value) -> Op:
        """Add to the adjoint of the top slot."""
        return self.append(ops.STACK_ACC_ADJOINT, (stack, value))

    # ---- control; the regions are complete (end with a terminator) when they are passed in

    def yield_(self, *values: Value) -> Op:
        """End a region that an `if`, a loop or a condition owns, with what it gives to its op."""
        return self.append(ops.YIELD, values)

    def return_(self, *values: Value) -> Op:
        """End the body of a kernel, task or function, with its results."""
        return self.append(ops.RETURN, values)

    def if_(self, condition: Value, then: Region, orelse: Region) -> list[Value]:
        """Both regions yield values of the same types, which become the results."""
        types = [v.type for v in then.terminator.operands]
        return self.append(ops.IF, (condition,), types, regions=(then, orelse)).results

    def for_(self, lo: Value, hi: Value, carried: Sequence[Value], body: Region, team: int = 0) -> list[Value]:
        """Run `body(index, *carried) -> carried` for index = lo, lo + 1, ..., hi - 1; gives the last carried values.

        With `team` the iterations are the threads of a block, which has so many at most: see `analysis/teams.py`.
        """
        attrs: dict[str, object] = {"team": team} if team else {}
        return self.append(ops.FOR, (lo, hi, *carried), [v.type for v in carried], attrs, (body,)).results

    def while_(self, carried: Sequence[Value], condition: Region, body: Region) -> list[Value]:
        """`condition(*carried) -> (u1, *carried)`; while it holds, `body(*carried) -> carried`."""
        return self.append(ops.WHILE, carried, [v.type for v in carried], regions=(condition, body)).results

    def parallel_for(self, bounds: Sequence[tuple[Value, Value]], body: Region) -> Op:
        """One unordered iteration of `body(*indices)` per point of the box of half-open `bounds`; task level only."""
        return self.append(ops.PARALLEL_FOR, [v for pair in bounds for v in pair], regions=(body,))

    # ---- effects

    def assert_(self, condition: Value, message: str, *args: Value) -> Op:
        """`message` may hold `{}` for each of `args`."""
        return self.append(ops.ASSERT, (condition, *args), attrs={"message": message})

    def print_(self, parts: Sequence[Part], *args: Value) -> Op:
        """Text, and None or a Format where the next of `args` stands."""
        return self.append(ops.PRINT, args, attrs={"parts": tuple(parts)})
