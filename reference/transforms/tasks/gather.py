"""Gathered sums: `gather(task)` gives tasks that do the same, with updates of neighbours turned into collecting.

Requires: a lowered task; its accesses are not guarded yet.
Ensures: where `gathering` says that updates are gathered, a first task runs over the elements that they are for. Each
element takes what the iterations that reach it add, in the order of these iterations, and of the program within an
iteration: the same numbers, with the same bits as one iteration after the other, by plain operations. An element is
written if and only if it was updated before. A second task, if anything is left to do, is the loop without the updates.
What an iteration adds to elements of its own and reads afterwards is a load, an operation and a store then.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from ...analysis.exclusivity import by_place, exclusive_updates, may_overlap
from ...analysis.facts import integer
from ...analysis.reductions import COMBINING
from ...analysis.subscripts import are_apart
from ...ir.builder import Builder
from ...ir.ops import IF, LOAD, TABLE
from ...ir.structure import Op, Place, Region, Task, Value
from ...ir.types import u1
from ..memory.forward import forward
from ..rewriting.options import Options
from ..rewriting.rewrite import Renaming, clone_op, clone_region
from ..scalar.cse import cse
from ..scalar.dce import Liveness, dce
from ..scalar.simplify import simplify
from .gathering import DEAREST, Gathering, Offset, Target, gathering, needed_for

__all__ = ["gather"]

_OPTIONS: Final = Options(keep_loops=True)

Sums = dict[Target, tuple[Value, Value]]
"""What each target's element is so far, and whether anything has been added to it."""


def gather(task: Task, dearest: float = DEAREST) -> list[Task]:
    """The tasks that do what a task does; the task itself where nothing is gathered.

    Args:
        task: it may be changed, and must not be used afterwards.
        dearest: how many times the work of the loop gathering may be.
    """
    plan, source = gathering(task, dearest), task
    if plan and isinstance(plan, str):
        source = _forwarded(task)
        plan = gathering(source, dearest)
    if isinstance(plan, str):
        return [task]
    collecting, rest = _Collecting(source, plan).task(), _rest(source, plan)
    for one in (collecting, rest):
        for run in (simplify, cse, dce):
            run(one.body, _OPTIONS)
    return [collecting, rest] if any(op.opdef.writes for op in rest.body.walk()) else [collecting]


def _cloned(task: Task) -> Task:
    return replace(task, body=clone_region(task.body, {}))


# ---- updates of an iteration's own elements


def _forwarded(task: Task) -> Task:
    """A copy whose iterations hand on what they add to elements of their own, and load afterwards."""
    copy = _cloned(task)
    *header, loop, _ = copy.body.ops
    touching = by_place(loop.regions[0])
    places: list[Place] = [ops[0].attrs["place"] for ops in touching.values()]
    own = {op for op in exclusive_updates(loop, header, touching) if op.attrs["kind"] in COMBINING}
    own = {op for op in own if not _is_shared(op.attrs["place"], places)}
    plain = {op for op in own if any(_reads(other, op) for other in touching[op.attrs["place"].name])}
    if plain:
        _make_plain(loop.regions[0], plain)
        for run in (forward, cse, dce):
            run(copy.body, _OPTIONS)
    return copy


def _reads(load: Op, update: Op) -> bool:
    """Whether a load of a place may be of the element that an update of the same iteration is for."""
    return load.opdef is LOAD and not are_apart(load, update)


def _is_shared(place: Place, places: Iterable[Place]) -> bool:
    return place.kind != "field" or place.dtype.is_bool or any(may_overlap(place, other) for other in places)


def _make_plain(region: Region, updates: set[Op]) -> None:
    """Turn updates into a load, an operation and a store, in place."""
    ops, region.ops = region.ops, []
    b = Builder(region)
    for op in ops:
        for inner in op.regions:
            _make_plain(inner, updates)
        if op not in updates:
            region.ops.append(op)
            continue
        with b.at(op.loc):
            place, indices = op.attrs["place"], op.operands[: op.attrs["place"].rank]
            old = b.load(place, indices)
            b.store(place, indices, b.emit(TABLE[op.attrs["kind"]], old, op.operands[-1]))
        op.result.replace_all_uses_with(old)
        op.erase()


# ---- the rest


def _rest(task: Task, plan: Gathering) -> Task:
    """The task without what is gathered, which leaves it."""
    _drop(task.body, {op for target in plan.targets for op in target.ops})
    return task


def _drop(region: Region, updates: set[Op]) -> None:
    region.keep(lambda op: op not in updates)
    for op in region.ops:
        for inner in op.regions:
            _drop(inner, updates)


# ---- the elements


class _Collecting:
    """Writes the task that runs over elements.

    Args:
        task: whose loop is turned around; stays as it is.
        plan: what is gathered.

    Attributes:
        common: what stands for values that are the same for all elements.
    """

    def __init__(self, task: Task, plan: Gathering) -> None:
        self.source, self.plan = task, plan
        *self.header, self.loop, self.end = task.body.ops
        self.body = self.loop.regions[0]
        self.common: Renaming = {}
        self.b = Builder(Region([Value(v.type, v.name) for v in task.body.args]), self.loop.loc)
        self.common.update(zip(task.body.args, self.b.region.args, strict=True))

    def task(self) -> Task:
        """The task."""
        b = self.b
        outer = b.region
        b.region.ops += [clone_op(op, self.common) for op in self.header]
        bounds = [self.common.get(v, v) for v in self.loop.operands]
        self.bounds = list(zip(bounds[::2], bounds[1::2], strict=True))
        reach = [[offset[axis] for offset in self.plan.offsets] for axis in range(len(self.bounds))]
        self.least, self.most = [min(r) for r in reach], [max(r) for r in reach]
        hull = [
            (self._moved(lo, least), self._moved(hi, most))
            for (lo, hi), least, most in zip(self.bounds, self.least, self.most, strict=True)
        ]
        elements = Region([Value(v.type, v.name) for v in self.body.args])
        with b.into(elements):
            self._element(elements.args)
            b.yield_()
        b.parallel_for(hull, elements)
        b.return_()
        return replace(self.source, name=f"{self.source.name}.gathered", body=outer)

    def _element(self, indices: Sequence[Value]) -> None:
        """All that is collected at one position."""
        b = self.b
        subscripts = {target: self._subscripts(target, indices) for target in self.plan.targets}
        sums: Sums = {}
        for target, at in subscripts.items():
            sums[target] = self._old(target.place, at), b.const(False, u1)
        for offset in self.plan.offsets:
            self._collect(offset, indices, sums)
        for target, (total, changed) in sums.items():
            with b.at(target.ops[0].loc):
                b.if_(changed, self._storing(target, subscripts[target], total), self._region())

    def _storing(self, target: Target, at: Sequence[Value], total: Value) -> Region:
        region = Region()
        with self.b.into(region):
            self.b.store(target.place, at, total).attrs["sums"] = "gathered"
            self.b.yield_()
        return region

    def _region(self, *values: Value) -> Region:
        """A region that does nothing but hand on values."""
        region = Region()
        with self.b.into(region):
            self.b.yield_(*values)
        return region

    def _old(self, place: Place, at: Sequence[Value]) -> Value:
        """What the element is before; 0 where there is none, which is no error unless something is added to it."""
        b, inside = self.b, Region()
        conditions = []
        for axis, index in enumerate(at):
            extent = place.shape[axis]
            end = b.shape(place, axis, index.dtype) if extent is None else b.const(extent, index.dtype)
            conditions += [b.ge(index, b.const(0, index.dtype)), b.lt(index, end)]
        with b.into(inside):
            b.yield_(b.load(place, at))
        return b.if_(self._all(conditions), inside, self._region(b.const(0, place.dtype)))[0]

    def _all(self, conditions: Sequence[Value]) -> Value:
        """Whether all of these hold, of which there are some."""
        return functools.reduce(self.b.and_, conditions)

    def _collect(self, offset: Offset, indices: Sequence[Value], sums: Sums) -> None:
        """Add what the iteration adds that is an offset away."""
        b, updates = self.b, self.plan.at(offset)
        at = [self._moved(index, -step) for index, step in zip(indices, offset, strict=True)]
        conditions = []
        for axis, (index, (lo, hi)) in enumerate(zip(at, self.bounds, strict=True)):
            conditions += [] if offset[axis] == self.least[axis] else [b.ge(index, lo)]
            conditions += [] if offset[axis] == self.most[axis] else [b.lt(index, hi)]
        touched = list(dict.fromkeys(updates.values()))
        before = [value for target in touched for value in sums[target]]
        inside = Region()
        renamed = {**self.common, **dict(zip(self.body.args, at, strict=True))}
        slice_ = _Slice(b, updates, needed_for(self.body, updates), dict(sums))
        with b.into(inside):
            slice_.run(self.body, renamed)
            b.yield_(*(value for target in touched for value in slice_.sums[target]))
        results = b.if_(self._all(conditions), inside, self._region(*before))
        for number, target in enumerate(touched):
            sums[target] = results[2 * number], results[2 * number + 1]

    def _moved(self, index: Value, step: int) -> Value:
        """An index plus a number."""
        number = integer(index)
        if number is not None:
            return self.b.const(number + step, index.dtype)
        return index if step == 0 else self.b.add(index, self.b.const(step, index.dtype))

    def _subscripts(self, target: Target, indices: Sequence[Value]) -> list[Value]:
        """The subscripts of a target's element."""
        fixed = target.ops[0].operands
        return [self._copy(fixed[n]) if axis is None else indices[axis] for n, axis in enumerate(target.axes)]

    def _copy(self, value: Value) -> Value:
        """A value that is the same in all iterations, computed here."""
        if value not in self.common and value.op is not None:
            for operand in value.op.operands:
                self._copy(operand)
            self.b.region.ops.append(clone_op(value.op, self.common))
        return self.common[value]


class _Slice:
    """Copies what some updates of an iteration need, and adds to sums instead of updating.

    Args:
        b: where to.
        updates: the updates, and what each adds to.
        needed: what they need.
        sums: so far; changed.
    """

    def __init__(self, b: Builder, updates: dict[Op, Target], needed: Liveness, sums: Sums) -> None:
        self.b, self.updates, self.needed, self.sums = b, updates, needed, sums

    def run(self, region: Region, renamed: Renaming) -> None:
        """Copy the ops of a region, without its end."""
        for op in region.ops[:-1]:
            if op in self.updates:
                self._add(op, renamed)
            elif op.opdef is IF and op in self.needed.ops:
                self._branch(op, renamed)
            elif op in self.needed.ops:
                self.b.region.ops.append(clone_op(op, renamed))

    def _add(self, op: Op, renamed: Renaming) -> None:
        target = self.updates[op]
        value = renamed.get(op.operands[-1], op.operands[-1])
        with self.b.at(op.loc):
            total = self.b.emit(TABLE[op.attrs["kind"]], self.sums[target][0], value)
            self.sums[target] = total, self.b.const(True, u1)

    def _branch(self, op: Op, renamed: Renaming) -> None:
        """Copy an `if`, with those of its results that are needed, and with the sums of updates in it."""
        wanted = [number for number, result in enumerate(op.results) if result in self.needed.values]
        inside = [self.updates[o] for region in op.regions for o in region.walk() if o in self.updates]
        touched, before, sides = list(dict.fromkeys(inside)), dict(self.sums), []
        for region in op.regions:
            self.sums, side = dict(before), Region()
            with self.b.into(side):
                self.run(region, renamed)
                yielded = [region.terminator.operands[number] for number in wanted]
                sums = [value for target in touched for value in self.sums[target]]
                self.b.yield_(*(renamed.get(v, v) for v in yielded), *sums)
            sides.append(side)
        condition = renamed.get(op.operands[0], op.operands[0])
        with self.b.at(op.loc):
            results = self.b.if_(condition, sides[0], sides[1])
        renamed.update(zip((op.results[number] for number in wanted), results, strict=False))
        rest, self.sums = results[len(wanted) :], before
        for number, target in enumerate(touched):
            self.sums[target] = rest[2 * number], rest[2 * number + 1]
