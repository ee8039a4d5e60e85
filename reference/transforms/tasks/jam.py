"""Jammed iterations: `jam(task)` lets one iteration do the work of several, so that they update memory together.

Requires: verified IR of a task; its accesses are not guarded yet.
Ensures: where updates in an inner loop of a parallel loop are of elements that do not depend on one of its indices, as
those of a weight that all rows of a batch have, an iteration stands for several along that index: what they compute is
side by side, inner loops run once for all of them, and what they add to one element is added up first. An element is
updated if and only if it was before, by a sum of the same numbers in another order. This is unroll-and-jam (Callahan,
Carr and Kennedy, 1990) of an outer loop, whose iterations may run in any order.

It is done only where all extents are constants, all accesses are inside, and enough iterations are left to keep a
device busy.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ...analysis.exclusivity import by_place, may_overlap
from ...analysis.facts import integer
from ...analysis.iteration_space import known_extent
from ...analysis.ranges import Ranges
from ...analysis.reductions import COMBINING
from ...analysis.subscripts import is_wide
from ...analysis.uniformity import varying_along
from ...ir.builder import Builder
from ...ir.ops import ATOMIC, FOR, IF, LOAD, STORE, TABLE, YIELD
from ...ir.structure import Op, Place, Region, Task, Value
from ..memory.guard import Walk
from ..rewriting.options import Options
from ..rewriting.rewrite import Renaming, clone_op
from ..scalar.cse import cse
from ..scalar.dce import dce
from ..scalar.simplify import simplify

__all__ = ["LEAST", "jam"]

LEAST: Final = 1 << 17
"""Iterations that keep a device busy; fewer must not be left."""
_MOST: Final = 8
"""Iterations that become one, at most: what each of them computes is in registers at the same time."""
_ALLOWED: Final = frozenset({LOAD, STORE, ATOMIC, IF, FOR, YIELD})
"""Operations that are not pure, and do not ask which iteration they are in."""
_OPTIONS: Final = Options(keep_loops=True)


def jam(task: Task, least: int = LEAST) -> Task:
    """The task that does what a task does, or the task itself where nothing is gained.

    Args:
        task: serial or parallel; it stays as it is.
        least: how many iterations must be left.
    """
    if task.kind != "parallel" or task.sizes:
        return task
    *header, loop, _ = task.body.ops
    axis, count = _axis(loop), 0
    if axis is not None:
        count = _count(loop, header, axis, least)
    if axis is None or count < 2 or not _is_plain(task):
        return task
    jammed = _Jamming(task, axis, count).task()
    for run in (simplify, cse, dce):
        run(jammed.body, _OPTIONS)
    return jammed


def _axis(loop: Op) -> int | None:
    """The index of the loop, but for the last one, on which no subscript of an update in an inner loop depends."""
    (body,) = loop.regions
    updates = [op for inner in body.ops if inner.opdef is FOR for op in inner.regions[0].ops if _combines(op)]
    for axis in range(len(body.args) - 1):
        varying = varying_along(body, axis)
        if is_wide(body.args[axis]) and any(varying.isdisjoint(_subscripts(op)) for op in updates):
            return axis
    return None


def _count(loop: Op, header: Sequence[Op], axis: int, least: int) -> int:
    """How many iterations become one: a power of two that divides the extent of the axis; 1 if there is none."""
    total, lo, hi = known_extent(loop, header), *(integer(v) for v in loop.operands[2 * axis : 2 * axis + 2])
    if total is None or lo is None or hi is None:
        return 1
    count = _MOST
    while count > 1 and ((hi - lo) % count or total // count < least):
        count //= 2
    return count


def _is_plain(task: Task) -> bool:
    """Whether the operations do not ask which iteration they are in, and no access may be outside."""
    if any(not op.opdef.pure and op.opdef not in _ALLOWED for op in task.body.ops[-2].regions[0].walk()):
        return False
    inside = _Inside(Ranges())
    inside.region(task.body)
    return inside.all


class _Inside(Walk):
    """Sees whether all accesses are inside.

    Attributes:
        all: whether they are.
    """

    all = True

    def access(self, op: Op) -> None:
        self.all = self.all and not any(True for _ in self.outside(op))


def _combines(op: Op) -> bool:
    return op.opdef is ATOMIC and op.attrs["kind"] in COMBINING and not op.result.uses


def _subscripts(op: Op) -> Sequence[Value]:
    place: Place = op.attrs["place"]
    return op.operands[: place.rank]


class _Jamming:
    """Writes the task whose iterations stand for several.

    Args:
        task: stays as it is.
        axis: the index along which iterations are put together.
        count: how many become one.
    """

    def __init__(self, task: Task, axis: int, count: int) -> None:
        self.source, self.axis, self.count = task, axis, count
        *self.header, self.loop, self.end = task.body.ops
        self.body = self.loop.regions[0]
        touching = by_place(self.body)
        written: list[Place] = [ops[0].attrs["place"] for ops in touching.values() if any(o.opdef.writes for o in ops)]
        self.changing = [
            name
            for name, ops in touching.items()
            if any(ops[0].attrs["place"] == p or may_overlap(ops[0].attrs["place"], p) for p in written)
        ]
        self.copies: list[Renaming] = [{} for _ in range(count)]
        self.b = Builder(Region([Value(v.type, v.name) for v in task.body.args]), self.loop.loc)

    def task(self) -> Task:
        """The task."""
        b, outer = self.b, self.b.region
        self._bind(self.source.body.args, outer.args)
        for op in self.header:
            self._once(op)
        bounds = [self.copies[0].get(v, v) for v in self.loop.operands]
        lo, hi = (integer(v) for v in self.loop.operands[2 * self.axis : 2 * self.axis + 2])
        assert lo is not None
        assert hi is not None
        dtype = self.body.args[self.axis].dtype
        bounds[2 * self.axis : 2 * self.axis + 2] = b.const(0, dtype), b.const((hi - lo) // self.count, dtype)
        iteration = Region([Value(v.type, v.name) for v in self.body.args])
        with b.into(iteration):
            self._bind(self.body.args, iteration.args)
            first = b.mul(iteration.args[self.axis], b.const(self.count, dtype))
            for k, copy in enumerate(self.copies):
                copy[self.body.args[self.axis]] = b.add(first, b.const(lo + k, dtype))
            self._ops(self.body.ops)
        loop = Op(self.loop.opdef, bounds, dict(self.loop.attrs), [], [iteration], self.loop.loc)
        outer.ops.append(loop)
        self._once(self.end)
        return replace(self.source, body=outer)

    def _bind(self, values: Sequence[Value], to: Sequence[Value]) -> None:
        """Let values stand for others in all copies."""
        for copy in self.copies:
            copy.update(zip(values, to, strict=True))

    def _bind_each(self, values: Sequence[Value], to: Sequence[Value]) -> None:
        """Let values stand for others, as many for each as there are copies."""
        for number, value in enumerate(values):
            for k, copy in enumerate(self.copies):
                copy[value] = to[number * self.count + k]

    def _same(self, values: Sequence[Value]) -> bool:
        """Whether values are the same ones in all copies."""
        first = self.copies[0]
        return all(copy.get(v, v) is first.get(v, v) for copy in self.copies[1:] for v in values)

    def _once(self, op: Op) -> None:
        """Emit an op that gives the same in all copies."""
        self.b.region.ops.append(clone_op(op, self.copies[0]))
        self._bind(op.results, self.b.region.ops[-1].results)

    def _ops(self, ops: Sequence[Op]) -> None:
        """Emit ops for all copies, up to their terminator, which hands on what there is of each copy."""
        for op in ops:
            if op.opdef is YIELD:
                handed = [copy.get(v, v) for v in op.operands for copy in self.copies]
                self.b.region.ops.append(Op(YIELD, handed, loc=op.loc))
            elif op.opdef is FOR and self._same(op.operands[:2]):
                self._for(op)
            elif self._same(op.operands) and self._is_shared(op):
                self._once(op)
            elif _combines(op) and self._same(_subscripts(op)):
                self._update(op)
            else:
                self.b.region.ops += [clone_op(op, copy) for copy in self.copies]

    def _is_shared(self, op: Op) -> bool:
        """Whether an op gives the same wherever its operands do: it is pure, or loads what no iteration changes."""
        return op.opdef.pure or (op.opdef is LOAD and op.attrs["place"].name not in self.changing)

    def _for(self, op: Op) -> None:
        """One loop for all copies, which carries what each of them carries."""
        lo, hi, *initial = op.operands
        index, *carried = op.regions[0].args
        starts = [copy.get(v, v) for v in initial for copy in self.copies]
        body = Region([Value(v.type, v.name) for v in (index, *(arg for arg in carried for _ in self.copies))])
        self._bind([index], body.args[:1])
        self._bind_each(carried, body.args[1:])
        with self.b.into(body):
            self._ops(op.regions[0].ops)
        results = [Value(v.type, v.name) for v in op.results for _ in self.copies]
        bounds = [self.copies[0].get(v, v) for v in (lo, hi)]
        self.b.region.ops.append(Op(FOR, [*bounds, *starts], dict(op.attrs), results, [body], op.loc))
        self._bind_each(op.results, results)

    def _update(self, op: Op) -> None:
        """One update for all copies, by what they add, added up."""
        row = TABLE[op.attrs["kind"]]
        values = [copy.get(op.operands[-1], op.operands[-1]) for copy in self.copies]
        with self.b.at(op.loc):
            total = functools.reduce(lambda a, b: self.b.emit(row, a, b), values)
        copy = clone_op(op, self.copies[0])
        copy.set_operands([*copy.operands[:-1], total])
        self.b.region.ops.append(copy)
