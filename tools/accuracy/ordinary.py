"""Arguments for which no multiply-add of an f32 function meets a subnormal number: found by going through every f32.

python -m adstack.tools.accuracy.ordinary NAME ...

Prints the widest range of sizes about 1, between powers of two, in which none does, none gives 0 for a sum that is not,
and no cold path is taken: what stands in the rows as `ordinary`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import numpy as np

from adstack.ir.builder import Builder
from adstack.ir.functions import builtin
from adstack.ir.scalar_ops import ADD, AND, CONST, EQ, FMA, LT, MUL, NE, NOT, OR, SUB
from adstack.ir.structure import Op, Region, Value
from adstack.ir.types import Array, f32, f64, i32, u1, u32

from .jit import Compiled

__all__ = ["flags", "main", "widest"]


LEAST, MOST = -126, 128
"""Exponents of the least normal number, and of the first that is no f32."""


def flags(name: str) -> Region:
    """A function of the argument that is not 0 if it is not ordinary."""
    function = builtin(name)
    assert function is not None
    return _Flagging(function.body).region


class _Flagging:
    """Copies the ops of the usual way, and looks at every multiply-add."""

    def __init__(self, body: Region) -> None:
        self.region = Region([Value(f32, "x")])
        self.b = Builder(self.region)
        self.found = self.b.const(False, u1)
        self.powers: set[Value] = set()
        self.values = dict(zip(body.args, self.region.args, strict=True))
        self._run(body)
        self.b.yield_(self.b.cast(self.found, i32))

    def _run(self, region: Region) -> Sequence[Value]:
        for op in region.ops[:-1]:
            self._op(op, [self.values[v] for v in op.operands])
        return [self.values[v] for v in region.terminator.operands]

    def _op(self, op: Op, operands: Sequence[Value]) -> None:
        if op.regions:
            self._note(self.b.emit(NOT, operands[0]))
            self.values.update(zip(op.results, self._run(op.regions[0]), strict=True))
            return
        copy = self.b.append(op.opdef, operands, [op.result.type], op.attrs)
        self.values[op.result] = copy.result
        if op.opdef is FMA:
            self._look(operands, copy.result)
        elif op.opdef is CONST and op.result.dtype is f32 and abs(math.frexp(op.attrs["value"])[0]) == 0.5:
            self.powers.add(copy.result)

    def _look(self, operands: Sequence[Value], result: Value) -> None:
        b = self.b
        for number in (*operands, result):
            self._note_subnormal(number)
        x, y, z = (b.cast(v, f64) for v in operands)
        product = b.emit(MUL, x, y)
        self._note_lost(result, b.emit(ADD, product, z))
        if self.powers.intersection(operands[:2]):  # an exact product, and a sum, may stand for it
            rounded = b.emit(MUL, *operands[:2])
            self._note_subnormal(rounded)
            self._note_lost(rounded, product)

    def _note_subnormal(self, number: Value) -> None:
        b = self.b
        size = b.emit(AND, b.bitcast(number, u32), b.const(0x7FFFFFFF, u32))
        self._note(b.emit(LT, b.emit(SUB, size, b.const(1, u32)), b.const(0x7FFFFF, u32)))

    def _note_lost(self, result: Value, exact: Value) -> None:
        """A result is 0, and what it stands for is not."""
        b = self.b
        there = b.emit(NE, exact, b.const(0.0, f64))
        self._note(b.emit(AND, b.emit(EQ, result, b.const(0.0, f32)), there))

    def _note(self, condition: Value) -> None:
        self.found = self.b.emit(OR, self.found, condition)


def widest(name: str) -> tuple[float, float] | None:
    """The widest range of sizes, both ends included, in which every argument is ordinary, if 0 is too."""
    compiled = Compiled(flags(name))

    def clean(numbers: Array) -> bool:
        return not compiled(np.concatenate([numbers, -numbers])).any()

    if not clean(np.zeros(1, np.float32)):
        return None
    least, most = 0, 0
    while least > LEAST and clean(binade(least - 1)):
        least -= 1
    while most < MOST and clean(binade(most)):
        most += 1
    end = np.array([2.0**most if most < MOST else np.inf], np.float32)
    if not clean(end):
        end = np.nextafter(end, np.float32(0))
    return (2.0**least, float(end[0])) if least < most else None


def binade(exponent: int) -> Array:
    """Every f32 from a power of two to the next."""
    return np.arange(exponent + 127 << 23, exponent + 128 << 23, dtype=np.uint32).view(np.float32)


def main(names: Sequence[str]) -> None:
    """One line for each."""
    for name in names:
        interval = widest(f"{name}.f32")
        print(name, "-" if interval is None else f"{interval[0].hex()} {interval[1].hex()}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
