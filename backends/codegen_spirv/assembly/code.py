"""One function under construction, and `Num`: a value in it that takes Python's operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from adstack.ir.types import DType, f32, f64, i32, i64, u1, u16, u32, u64

from .fast_path import FastPath
from .module import Module, instruction
from .opcodes import STD, Decoration, Op, Storage

__all__ = ["DONT_UNROLL", "Code", "Num", "unsigned"]

_ROUNDING = frozenset({Op.FAdd, Op.FSub, Op.FMul, Op.FDiv})
DONT_UNROLL = 2
"""The loop control of a loop whose iterations the driver is to leave one after another."""
_BITS = {8: u16, 16: u16, 32: u32, 64: u64}


def unsigned(dtype: DType) -> DType:
    """The unsigned integer of the width of a float type."""
    return _BITS[dtype.bits]


class Num:
    """A scalar value: an id and its type. Operators are instructions: integers wrap, floats round once."""

    __slots__ = ("c", "dtype", "id")

    def __init__(self, code: Code, dtype: DType, id_: int) -> None:
        self.c, self.dtype, self.id = code, dtype, id_

    def operand(self, other: Num | float) -> int:
        """The id of another operand of this type: a number becomes a constant."""
        return other.id if isinstance(other, Num) else self.c.const(other, self.dtype).id

    def _two(self, op: Op, other: Num | float, to: DType | None = None) -> Num:
        return self.c.let(op, to or self.dtype, self.id, self.operand(other))

    def _kind(self, floats: Op, signed: Op, unsigned_: Op, other: Num | float, to: DType | None = None) -> Num:
        return self._two({"f": floats, "i": signed}.get(self.dtype.kind, unsigned_), other, to)

    def __add__(self, other: Num | float) -> Num:
        return self._kind(Op.FAdd, Op.IAdd, Op.IAdd, other)

    def __sub__(self, other: Num | float) -> Num:
        return self._kind(Op.FSub, Op.ISub, Op.ISub, other)

    def __mul__(self, other: Num | float) -> Num:
        return self._kind(Op.FMul, Op.IMul, Op.IMul, other)

    def __truediv__(self, other: Num | float) -> Num:
        return self._two(Op.FDiv, other)

    def __floordiv__(self, other: Num | float) -> Num:
        """The quotient; of integers it is rounded toward zero."""
        return self._kind(Op.FDiv, Op.SDiv, Op.UDiv, other)

    def __mod__(self, other: Num | float) -> Num:
        """The remainder; of integers with the sign of the dividend: Vulkan leaves it open where one is negative."""
        if self.dtype.kind == "i":
            return self - self // other * other
        return self._kind(Op.UMod, Op.SRem, Op.UMod, other)

    def __and__(self, other: Num | float) -> Num:
        return self._two(Op.LogicalAnd if self.dtype.is_bool else Op.BitwiseAnd, other)

    def __or__(self, other: Num | float) -> Num:
        return self._two(Op.LogicalOr if self.dtype.is_bool else Op.BitwiseOr, other)

    def __xor__(self, other: Num | float) -> Num:
        return self._two(Op.LogicalNotEqual if self.dtype.is_bool else Op.BitwiseXor, other)

    def __invert__(self) -> Num:
        return self.c.let(Op.LogicalNot if self.dtype.is_bool else Op.Not, self.dtype, self.id)

    def __lshift__(self, other: Num | float) -> Num:
        return self._two(Op.ShiftLeftLogical, other)

    def __rshift__(self, other: Num | float) -> Num:
        """Shift to the right: of signed integers arithmetically, of others logically."""
        return self._kind(Op.Not, Op.ShiftRightArithmetic, Op.ShiftRightLogical, other)

    def _compared(self, floats: Op, signed: Op, unsigned_: Op, other: Num | float) -> Num:
        """A comparison; of floats as integers of the same order, if the device takes subnormal numbers for zeros."""
        if not self._is_flushed:
            return self._kind(floats, signed, unsigned_, other, u1)
        right = other if isinstance(other, Num) else self.c.const(other, self.dtype)
        (a, a_is_number), (b, b_is_number) = _ordinal(self), _ordinal(right)
        both, ordered = a_is_number & b_is_number, self.c.let(signed, u1, a.id, b.id)
        return ordered | ~both if floats is Op.FUnordNotEqual else ordered & both

    @property
    def _is_flushed(self) -> bool:
        traits = self.c.m.traits
        return (self.dtype is f32 and not traits.order32) or (self.dtype is f64 and not traits.order64)

    def __lt__(self, other: Num | float) -> Num:
        return self._compared(Op.FOrdLessThan, Op.SLessThan, Op.ULessThan, other)

    def __le__(self, other: Num | float) -> Num:
        return self._compared(Op.FOrdLessThanEqual, Op.SLessThanEqual, Op.ULessThanEqual, other)

    def __gt__(self, other: Num | float) -> Num:
        return self._compared(Op.FOrdGreaterThan, Op.SGreaterThan, Op.UGreaterThan, other)

    def __ge__(self, other: Num | float) -> Num:
        return self._compared(Op.FOrdGreaterThanEqual, Op.SGreaterThanEqual, Op.UGreaterThanEqual, other)

    def eq(self, other: Num | float) -> Num:
        """Equal; a NaN is equal to nothing."""
        return self._compared(Op.FOrdEqual, Op.IEqual, Op.LogicalEqual if self.dtype.is_bool else Op.IEqual, other)

    def ne(self, other: Num | float) -> Num:
        """Not equal; a NaN is not equal to itself."""
        integers = Op.LogicalNotEqual if self.dtype.is_bool else Op.INotEqual
        return self._compared(Op.FUnordNotEqual, Op.INotEqual, integers, other)

    def differs(self, other: Num | float) -> Num:
        """Whether the numbers differ; of floats, whether one is less than the other, which a NaN never is."""
        return self._compared(Op.FOrdNotEqual, Op.INotEqual, Op.INotEqual, other)

    def choose(self, yes: Num, no: Num | float) -> Num:
        """`yes` where this holds, else `no`."""
        return self.c.let(Op.Select, yes.dtype, self.id, yes.id, yes.operand(no))

    def bits(self, to: DType) -> Num:
        """The same bits as another type of the same width."""
        same = self.c.m.type(to) == self.c.m.type(self.dtype)
        return self.signed(to) if same else self.c.let(Op.Bitcast, to, self.id)

    def signed(self, to: DType) -> Num:
        """The same integer, looked at as a type of the same width with or without a sign."""
        return Num(self.c, to, self.id)

    def resize(self, to: DType) -> Num:
        """An integer made wider, by its sign, or narrower; of a u1, 0 or 1."""
        if self.dtype.is_bool:
            return self.choose(self.c.const(1, to), 0)
        if self.dtype.bits == to.bits:
            return self.signed(to)
        return self.c.let(Op.SConvert if self.dtype.kind == "i" else Op.UConvert, to, self.id)

    def convert(self, to: DType) -> Num:
        """From float to float, from float to integer (which must hold it), or from integer to float."""
        if self.dtype.is_float:
            op = Op.FConvert if to.is_float else Op.ConvertFToS if to.kind == "i" else Op.ConvertFToU
        else:
            op = Op.ConvertSToF if self.dtype.kind == "i" else Op.ConvertUToF
        if to is f64 and self.dtype is f32 and not self.c.m.traits.widen:
            return self._widened()
        return self if to is self.dtype else self.c.let(op, to, self.id)

    def _widened(self) -> Num:
        """An f32 as f64, where the device takes subnormal numbers for zeros: these by their significands."""
        raw = self.bits(u32)
        size = raw & 0x7FFFFFFF
        small = size.convert(f64) * 2.0**-149
        signed = (small.bits(u64) | ((raw >> 31).resize(u64) << 63)).bits(f64)
        return (size < 0x800000).choose(signed, self.c.let(Op.FConvert, f64, self.id))


def _ordinal(x: Num) -> tuple[Num, Num]:
    """An integer with the order of floats, which is the same for both zeros; and whether the float is not NaN."""
    signed = i32 if x.dtype is f32 else i64
    raw = x.bits(signed)
    size = raw & signed.max
    infinity = x.c.const(float("inf"), x.dtype).bits(signed)
    return (raw < 0).choose(x.c.const(0, signed) - size, size), size <= infinity


class Code:
    """Words of one function, block by block.

    Attributes:
        m: the module around it.
        block: the label of the block being written.
        watch: called behind every loop with the last value of its condition: true if the driver ended the loop.
        fast: of a function with a fast path, what is told where its result may be wrong.
    """

    def __init__(self, module: Module) -> None:
        self.m = module
        self.words: list[int] = []
        self.variables: list[int] = []
        self._zeros: dict[tuple[DType, bool], Num] = {}
        self._ahead: list[int] = []  # what stands at the start of the function
        self.watch: Callable[[Num], None] | None = None
        self.fast: FastPath[Num] | None = None
        self.enter(module.new())

    # ---- instructions

    def let(self, op: Op, to: DType, *operands: int) -> Num:
        """An instruction with a scalar result."""
        return Num(self, to, self.raw(op, self.m.type(to), *operands))

    def raw(self, op: Op, ty: int, *operands: int) -> int:
        """An instruction with a result of any type; its id."""
        result = self.m.new()
        self.words += ((len(operands) + 3) << 16 | op, ty, result, *operands)
        if op in _ROUNDING:
            self.m.decorate(result, Decoration.NoContraction)
        return result

    def do(self, op: Op, *operands: int) -> None:
        """An instruction without a result."""
        self.words += ((len(operands) + 1) << 16 | op, *operands)

    def std(self, name: str, to: DType, *operands: Num) -> Num:
        """An instruction of GLSL.std.450."""
        result = self.let(Op.ExtInst, to, self.m.std, STD[name], *(x.id for x in operands))
        self.m.decorate(result.id, Decoration.NoContraction)
        return result

    def const(self, value: bool | int | float, dtype: DType) -> Num:
        """A number of a type."""
        if dtype.is_float and value == 0 and not self.m.traits.zeros:
            return self._hidden_zero(float(value), dtype)
        return Num(self, dtype, self.m.constant(value, dtype))

    def _hidden_zero(self, value: float, dtype: DType) -> Num:
        """A zero of which the driver does not know that it is one: made of a bit that no address has."""
        is_minus = math.copysign(1.0, value) < 0
        if (dtype, is_minus) not in self._zeros:
            outer, self.words = self.words, self._ahead
            pointer = self.m.pointer(Storage.PushConstant, self.m.type(u64))
            address = self.let(Op.Load, u64, self.raw(Op.AccessChain, pointer, self.m.pushed, self.m.word(0)))
            raw = (address >> 63).resize(unsigned(dtype))
            number = (raw | 1 << (dtype.bits - 1) if is_minus else raw).bits(dtype)
            self.words = outer
            self.m.floats[number.id] = value
            self._zeros[dtype, is_minus] = number
        return self._zeros[dtype, is_minus]

    # ---- blocks

    def enter(self, label: int) -> None:
        """Start a basic block: what is written next belongs to it."""
        self.do(Op.Label, label)
        self.block: int = label

    def jump(self, label: int) -> None:
        """End the block by a branch to another one, by the id of its label."""
        self.do(Op.Branch, label)

    def split(self, condition: Num, yes: int, no: int) -> None:
        """End the block by a branch to one of two, by the ids of their labels."""
        self.do(Op.BranchConditional, condition.id, yes, no)

    def phi(self, dtype: DType, *pairs: tuple[int, int]) -> Num:
        """The value that comes with the edge taken: (id, block) per edge."""
        return self.let(Op.Phi, dtype, *(word for pair in pairs for word in pair))

    def when(self, condition: Num, then: Callable[[], None]) -> None:
        """Emit code that runs only if a condition holds."""
        inside, after = self.m.new(), self.m.new()
        self.do(Op.SelectionMerge, after, 0)
        self.split(condition, inside, after)
        self.enter(inside)
        then()
        self.jump(after)
        self.enter(after)

    def either(
        self, condition: Num, then: Callable[[], Sequence[Num]], orelse: Callable[[], Sequence[Num]]
    ) -> list[Num]:
        """Emit a branch; the values of the side that is taken."""
        labels, after = (self.m.new(), self.m.new()), self.m.new()
        self.do(Op.SelectionMerge, after, 0)
        self.split(condition, *labels)
        arms = []
        for label, side in zip(labels, (then, orelse), strict=True):
            self.enter(label)
            results = side()
            arms.append((results, self.block))
            self.jump(after)
        self.enter(after)
        (yes, yes_block), (no, no_block) = arms
        return [self.phi(a.dtype, (a.id, yes_block), (b.id, no_block)) for a, b in zip(yes, no, strict=True)]

    def loop(
        self,
        start: Sequence[Num],
        test: Callable[[Sequence[Num]], tuple[Num, Sequence[Num]]],
        body: Callable[[Sequence[Num]], Sequence[Num]],
        control: int = 0,
    ) -> Sequence[Num]:
        """Emit a loop: `body` runs while `test` of the carried values holds; what `test` passed on at the end.

        `control` is what the driver is told of it, such as `DONT_UNROLL`.

        The test is written twice, before the loop and at its end: drivers that run threads in lockstep let them run one
        iteration more than the test at the head of a loop asks for, with no effect, which takes as long as another.
        """
        if not self.m.traits.endless:
            return self._ended(start, test, body, control)
        condition, first = test(start)

        def iterations() -> Sequence[Num]:
            last: Sequence[Num] = ()

            def iteration(carried: Sequence[Num]) -> tuple[Num, Sequence[Num]]:
                nonlocal last
                going, last = test(body(carried))
                return going, last

            self.until(first, iteration, control)
            return last

        return self.either(condition, iterations, lambda: first)

    def until(
        self,
        start: Sequence[Num],
        iteration: Callable[[Sequence[Num]], tuple[Num, Sequence[Num]]],
        control: int = 0,
    ) -> None:
        """A loop with its test at the end: `iteration` of carried values says whether to go on, and gives the next."""
        head, inside, go_on, after = (self.m.new() for _ in range(4))
        before = self.block
        self.jump(head)
        self.enter(head)
        carried, holes = self._carried(start, before, go_on)
        self.do(Op.LoopMerge, after, go_on, control)
        self.jump(inside)
        self.enter(inside)
        condition, following = iteration(carried)
        self.split(condition, go_on, after)
        self.enter(go_on)
        self.jump(head)
        self._fill(holes, following)
        self.enter(after)

    def _ended(
        self,
        start: Sequence[Num],
        test: Callable[[Sequence[Num]], tuple[Num, Sequence[Num]]],
        body: Callable[[Sequence[Num]], Sequence[Num]],
        control: int,
    ) -> Sequence[Num]:
        """A loop that the driver may end: its condition is known behind it."""
        head, first, inside, go_on, after = (self.m.new() for _ in range(5))
        before = self.block
        self.jump(head)
        self.enter(head)
        carried, holes = self._carried(start, before, go_on)
        self.do(Op.LoopMerge, after, go_on, control)
        self.jump(first)
        self.enter(first)
        condition, handed = test(carried)
        self.split(condition, inside, after)
        self.enter(inside)
        following = body(handed)
        self.jump(go_on)
        self.enter(go_on)
        self.jump(head)
        self._fill(holes, following)
        self.enter(after)
        if self.watch is not None:
            self.watch(condition)
        return handed

    def _carried(self, start: Sequence[Num], before: int, go_on: int) -> tuple[list[Num], list[int]]:
        """Phis at the head of a loop, and the positions of the words for their values from the end of the body."""
        carried, holes = [], []
        for value in start:
            carried.append(self.phi(value.dtype, (value.id, before), (0, go_on)))
            holes.append(len(self.words) - 2)
        return carried, holes

    def _fill(self, holes: Sequence[int], following: Sequence[Num]) -> None:
        for hole, value in zip(holes, following, strict=True):
            self.words[hole] = value.id

    def local(self, ty: int, start: Num | None = None) -> int:
        """A variable of the function, which may start as a constant; a pointer to it."""
        variable, first = self.m.new(), [] if start is None else [start.id]
        self.variables += instruction(
            Op.Variable, self.m.pointer(Storage.Function, ty), variable, Storage.Function, *first
        )
        return variable

    # ---- the end

    def function(self, name: int, result: int, signature: int, params: Sequence[int] = ()) -> list[int]:
        """The finished function: head, variables, blocks; the body has ended with a return."""
        head = [*instruction(Op.Function, result, name, 0, signature), *params]
        first, rest = self.words[:2], self.words[2:]
        return [*head, *first, *self.variables, *self._ahead, *rest, *instruction(Op.FunctionEnd)]
