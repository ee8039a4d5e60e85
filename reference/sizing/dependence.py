"""What the values and formulas of a task depend on: arguments of the loops around them."""

from __future__ import annotations

from ..ir.def_use import live_into
from ..ir.ops import FOR, PARALLEL_FOR, WHILE
from ..ir.structure import Op, Task, Value
from .expr import Branch, Number, Plus, SizeExpr, SumOverRange, Times, Triangle, Trips

__all__ = ["Dependence"]


class Dependence:
    """The dependence of a task's values on its loops.

    Attributes:
        task: the task.
        indices: the indices of its parallel loop; empty for serial code.
        carried: the arguments of `for` and `while` that change from iteration to iteration, indices of `for` left out.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.indices: tuple[Value, ...] = ()
        self.carried: set[Value] = set()
        self._arguments: dict[Value, frozenset[Value]] = {}
        for op in task.body.walk():
            if op.opdef is PARALLEL_FOR:
                self.indices = tuple(op.regions[0].args)
            elif op.opdef is FOR:
                self.carried.update(op.regions[0].args[1:])
            elif op.opdef is WHILE:
                self.carried.update(a for region in op.regions for a in region.args)

    def arguments_of(self, value: Value) -> frozenset[Value]:
        """The arguments of loops that a value depends on; parameters of the task are left out."""
        work = [value]
        while work:
            top = work[-1]
            if top in self._arguments:
                work.pop()
                continue
            op = top.op
            used = [] if op is None else live_into(op)
            missing = [v for v in used if v not in self._arguments]
            if missing:
                work += missing
                continue
            self._arguments[top] = self._own(top, op).union(*(self._arguments[v] for v in used))
        return self._arguments[value]

    def _own(self, value: Value, op: Op | None) -> frozenset[Value]:
        return frozenset() if op is not None or value in self.task.body.args else frozenset((value,))

    def arguments_in(self, expr: SizeExpr) -> frozenset[Value]:
        """The arguments of loops that a formula depends on; the index of a sum is bound by the sum."""
        match expr:
            case Number(value):
                return self.arguments_of(value)
            case Trips(lo, hi) | Triangle(lo, hi, _):
                return self.arguments_of(lo) | self.arguments_of(hi)
            case Plus(terms):
                return frozenset().union(*map(self.arguments_in, terms))
            case Times(count, each):
                return self.arguments_in(count) | self.arguments_in(each)
            case Branch(condition, yes, no):
                return self.arguments_of(condition) | self.arguments_in(yes) | self.arguments_in(no)
            case SumOverRange(index, lo, hi, body):
                return self.arguments_of(lo) | self.arguments_of(hi) | (self.arguments_in(body) - {index})
        return frozenset()

    def varies(self, expr: SizeExpr) -> bool:
        """Whether a formula may differ between the iterations of the task's parallel loop."""
        return not self.arguments_in(expr).isdisjoint(self.indices)
