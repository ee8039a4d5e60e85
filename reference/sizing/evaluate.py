"""Formulas evaluated on the host, in Python's integers: independent of the sizers, which are checked against it.

Numbers of the program are computed in their own types, by the table of operations, one thread at a time. It is
simple, and slow.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ..errors import InternalError
from ..ir.functions import evaluate as call
from ..ir.ops import CALL, FOR, IF, LOAD, SHAPE
from ..ir.scalar_ops import CONST
from ..ir.structure import Constant, Op, Region, Value
from .expr import MOST, Branch, Const, Number, Plus, SizeExpr, SumOverRange, Times, Triangle, Trips
from .size import Size

__all__ = ["evaluate"]

Array = npt.NDArray[np.generic]


def evaluate(size: Size, scalars: Sequence[Constant], memory: Mapping[str, Array]) -> int:
    """The depth in a launch with these arguments and this memory (by place name): the greatest of any iteration."""
    if size.expr is None:
        raise InternalError(f"depth {size.number} is counted: there is no formula")
    task = size.dependence.task
    parameters = dict(zip(task.body.args, scalars, strict=True))
    host = _Host(parameters, memory)
    if task.kind == "serial":
        return host.size(size.expr)
    loop = task.body.ops[-2]
    ends = [int(host.number(v)) for v in loop.operands]
    deepest = 0
    for point in itertools.product(*(range(lo, hi) for lo, hi in zip(ends[::2], ends[1::2], strict=True))):
        inner = _Host({**parameters, **dict(zip(loop.regions[0].args, point, strict=True))}, memory)
        deepest = max(deepest, inner.size(size.expr))
    return deepest


class _Host:
    """Evaluates values and formulas of a task for one thread."""

    def __init__(self, values: Mapping[Value, Constant], memory: Mapping[str, Array]) -> None:
        self.known, self.memory = dict(values), memory

    def size(self, expr: SizeExpr) -> int:
        """The count that a formula gives: from 0 to MOST."""
        return min(self.exact(expr), MOST)

    def exact(self, expr: SizeExpr) -> int:
        """The same without an upper end: an integer of any size."""
        match expr:
            case Const(value):
                return value
            case Number(value):
                return max(0, int(self.number(value)))
            case Trips(lo, hi):
                return max(0, int(self.number(hi)) - int(self.number(lo)))
            case Plus(terms):
                return sum(self.exact(term) for term in terms)
            case Times(count, each):
                times = self.exact(count)
                return times * self.exact(each) if times else 0
            case Branch(condition, yes, no):
                return self.exact(yes if self.number(condition) else no)
            case SumOverRange(index, lo, hi, body):
                return sum(self._at(index, k).exact(body) for k in range(int(self.number(lo)), int(self.number(hi))))
            case Triangle(lo, hi, shift):
                return sum(max(0, k + shift) for k in range(int(self.number(lo)), int(self.number(hi))))
        raise InternalError(f"no formula: {expr!r}")

    def _at(self, index: Value, number: int) -> _Host:
        return _Host({**self._arguments(), index: number}, self.memory)

    def _arguments(self) -> dict[Value, Constant]:
        """The values that need not be computed: parameters and indices."""
        return {v: x for v, x in self.known.items() if v.op is None}

    def number(self, value: Value) -> Constant:
        """A value of the task, in its own type."""
        if value not in self.known:
            maker = value.op
            assert maker is not None
            if maker.regions:
                self.known.update(zip(maker.results, self._structured(maker), strict=True))
            else:
                self.known[value] = self._computed(maker)
        return self.known[value]

    def _structured(self, op: Op) -> list[Constant]:
        """The results of a branch or a loop."""
        if op.opdef is IF:
            region = op.regions[0 if self.number(op.operands[0]) else 1]
            return [self.number(v) for v in region.terminator.operands]
        if op.opdef is FOR:
            return self._for(op)
        state = [self.number(v) for v in op.operands]
        while True:
            going, *state = self._region(op.regions[0], state)
            if not going:
                return state
            state = self._region(op.regions[1], state)

    def _for(self, op: Op) -> list[Constant]:
        lo, hi, *state = (self.number(v) for v in op.operands)
        for k in range(int(lo), int(hi)):
            state = self._region(op.regions[0], [k, *state])
        return state

    def _region(self, region: Region, arguments: Sequence[Constant]) -> list[Constant]:
        bound = dict(zip(region.args, arguments, strict=True))
        inner = _Host({**self._arguments(), **bound}, self.memory)
        return [inner.number(v) for v in region.terminator.operands]

    def _computed(self, op: Op) -> Constant:
        number: Constant
        if op.opdef in (CONST, LOAD, SHAPE):
            number = self._looked_up(op)
        else:
            operands = [np.array([self.number(v)], v.dtype.numpy) for v in op.operands]
            with np.errstate(all="ignore"):
                number = self._result(op, operands).item()
        return number

    def _looked_up(self, op: Op) -> Constant:
        number: Constant
        if op.opdef is CONST:
            number = op.attrs["value"]
            return number
        array = self.memory[op.attrs["place"].name]
        if op.opdef is SHAPE:
            number = array.shape[op.attrs["axis"]]
        else:
            number = array[tuple(int(self.number(v)) for v in op.operands)].item()
        return number

    def _result(self, op: Op, operands: Sequence[Array]) -> Array:
        if op.opdef is CALL:
            return call(op.attrs["function"], operands)[0]
        if op.opdef.meaning is None:
            raise InternalError(f"the host can't compute {op.name}")
        result: Array = op.opdef.meaning(op.result.dtype, *operands)
        return result
