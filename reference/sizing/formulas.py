"""Sizers that compute formulas: serial code for what all iterations share, a parallel maximum for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..ir.builder import Builder
from ..ir.location import Loc
from ..ir.ops import SERIAL_LOOPS
from ..ir.structure import Place, Region, Task, Value
from ..ir.types import i32, i64
from .dependence import Dependence
from .emit import Emitter, NeedsMemory
from .expr import Const, SizeExpr, Times, Trips
from .slicing import can_run_ahead, drop_effects, sizer, task_builder

__all__ = ["Element", "FormulaSizers", "serial_sizer"]


@dataclass(frozen=True)
class Element:
    """An element of "depths" to compute.

    Attributes:
        number: its index.
        loc: the location of the code that computes it.
        expr: its formula.
        adds: whether it is the number of iterations for which the formula is above 0, rather than the greatest value.
    """

    number: int
    loc: Loc
    expr: SizeExpr
    adds: bool = False


def serial_sizer(task: Task, depths: Place, elements: Sequence[Element]) -> Task:
    """A serial sizer ahead of `task`: it stores formulas that are the same for all iterations."""
    b, names = task_builder(task)
    emitter = Emitter(b, names)
    for one in elements:
        with b.at(one.loc):
            value = emitter.size(one.expr)
            b.store(depths, (b.const(one.number, i32),), value)
    b.return_()
    return sizer(b.region, "serial", tuple(one.number for one in elements))


class FormulaSizers:
    """Makes the sizers of one task whose elements have formulas.

    Args:
        dependence: of the task.
        depths: the place that sizers write.
    """

    def __init__(self, dependence: Dependence, depths: Place) -> None:
        self.dependence, self.depths = dependence, depths
        self.task = dependence.task

    def may_emit(self, one: Element) -> bool:
        """Whether the formula can be computed by itself, from memory that the task does not write."""
        names = {v: Value(v.type) for v in (*self.task.body.args, *self.dependence.indices)}
        b = Builder(Region([*names.values()]))
        try:
            Emitter(b, names).size(one.expr)
        except NeedsMemory:
            return False
        drop_effects(b.region)
        if one.adds and any(op.opdef in SERIAL_LOOPS for op in b.region.walk()):
            return False
        return can_run_ahead(b.region, self.task)

    def sizers(self, elements: Sequence[Element]) -> list[Task]:
        """At most two tasks: a serial one, and a parallel one for what differs between iterations."""
        varying = [one for one in elements if self.dependence.varies(one.expr)]
        tasks: list[Task] = []
        if elements:
            starts = [replace(one, expr=Const(0)) if one in varying else one for one in elements]
            tasks.append(serial_sizer(self.task, self.depths, starts))
        if varying:
            tasks.append(self._parallel(varying))
        return tasks

    def _parallel(self, elements: Sequence[Element]) -> Task:
        """A parallel task that computes the greatest values over the axes that the formulas depend on."""
        loop = self.task.body.ops[-2]
        b, names = task_builder(self.task)
        emitter = Emitter(b, names)
        with b.at(loop.loc):
            body, bounds, others = self._box(emitter, elements)
            each = emitter.size(others)
        with b.into(body), emitter.inside():
            for one in elements:
                self._reduce(emitter, one, each)
            b.yield_()
        with b.at(loop.loc):
            b.parallel_for(bounds, body)
        b.return_()
        return sizer(b.region, "parallel", tuple(one.number for one in elements))

    def _box(self, emitter: Emitter, elements: Sequence[Element]) -> tuple[Region, list[tuple[Value, Value]], SizeExpr]:
        """A loop over the axes that formulas depend on: an empty body, bounds, how many iterations one stands for."""
        loop = self.task.body.ops[-2]
        matter = frozenset().union(*(self.dependence.arguments_in(one.expr) for one in elements))
        body, bounds = Region(), []
        others: SizeExpr = Const(1)
        for k, index in enumerate(loop.regions[0].args):
            lo, hi = loop.operands[2 * k : 2 * k + 2]
            if index in matter:
                bounds.append((emitter.number(lo), emitter.number(hi)))
                body.define((Value(index.type, index.name),))
                emitter.names[index] = body.args[-1]
            else:
                others = Times(Trips(lo, hi), others)
        return body, bounds, others

    def _reduce(self, emitter: Emitter, one: Element, each: Value) -> None:
        b = emitter.b
        with b.at(one.loc):
            size = emitter.size(one.expr)
            if one.adds:
                zero = b.const(0, i64)
                size = b.select(b.lt(zero, size), each, zero)
            b.atomic("add" if one.adds else "max", self.depths, (b.const(one.number, i32),), size)
