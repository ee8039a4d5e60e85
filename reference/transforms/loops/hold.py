"""Held sums: `hold(task)` adds up in a register what an inner loop adds to one element, and updates memory behind it.

Requires: verified IR of a task; its accesses are not guarded yet.
Ensures: an atomic update in a `for` or `while` of a parallel loop, whose old value nobody uses, whose element is the
same in every iteration, and which the loop touches in no other way, is replaced by an operation on a carried value, and
one update behind the loop, which runs if an iteration has run the update. So are several updates of one element by one
iteration of the parallel loop itself: one update ends the iteration. An element is updated if and only if it was
before, by a sum of the same numbers in another order. Updates of elements that one iteration of the parallel loop has
to itself stay as they are: the order of their sums is fixed. So do those of memory that the loop may read by another
name, and those of an element that all iterations share, which are held by each thread. Loops over the threads of a
block carry nothing: a device may run them side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...analysis.accumulation import plan
from ...analysis.exclusivity import by_place, may_overlap
from ...analysis.facts import integer
from ...analysis.reductions import COMBINING, neutral
from ...analysis.subscripts import are_apart
from ...ir.def_use import defined_in
from ...ir.ops import ATOMIC, IF, TABLE, WHILE, YIELD
from ...ir.scalar_ops import CONST
from ...ir.structure import Op, Place, Region, Task, Value
from ...ir.types import DType, u1
from ..rewriting.carried import LOOPS, add_carried
from ..rewriting.rewrite import constant_op

__all__ = ["hold"]

Key = tuple[Place, str, tuple[Value | int, ...]]
"""What is updated: a place, in which way, and at which indices: constants by their number."""


def hold(task: Task) -> None:
    """Hold the sums of a task, in place."""
    decisions = plan(task).decisions
    if decisions:
        own = {op for op, decision in decisions.items() if decision.way == "own"}
        shared = {op for op, decision in decisions.items() if decision.way == "uniform"}
        body, holder = task.body.ops[-2].regions[0], _Holder(own)
        holder.region(body)
        holder.iteration(body, shared)


@dataclass
class _Sum:
    """A sum while it is threaded through a loop.

    Attributes:
        updates: the atomics that it replaces.
        total: what has been added up so far.
        ran: whether an update has run (u1).
    """

    updates: set[Op]
    total: Value
    ran: Value


class _Holder:
    """Rewrites regions, inner loops first.

    Args:
        own: updates that stay as they are.
    """

    def __init__(self, own: set[Op]) -> None:
        self._own = own

    def region(self, region: Region) -> None:
        """Hold the sums of all loops in a region."""
        ops: list[Op] = []
        for op in region.ops:
            for inner in op.regions:
                self.region(inner)
            if op.opdef in LOOPS and "team" not in op.attrs:
                nest = Region(ops=[op])
                groups = self._groups(
                    nest, set(_outside_loops(op.regions[-1])), defined_in(nest).difference(op.results)
                )
                before, after = list[Op](), list[Op]()
                for (place, kind, _), updates in groups.items():
                    _hold(op, place, kind, updates, before, after)
                ops += [*before, op, *after]
            else:
                ops.append(op)
        region.ops = ops

    def iteration(self, body: Region, shared: set[Op]) -> None:
        """Hold what an iteration of the parallel loop adds to one element several times."""
        nested = {v for op in body.ops for region in op.regions for v in (*region.args, *defined_in(region))}
        groups = self._groups(body, set(_outside_loops(body)).difference(shared), nested)
        for (place, kind, _), updates in groups.items():
            if len(updates) > 1:
                _hold_in(body, place, kind, updates)

    def _groups(self, region: Region, here: set[Op], inside: set[Value]) -> dict[Key, list[Op]]:
        """The updates of a region that can be held, those of one element together.

        Args:
            region: all that is done between the first and the last of them.
            here: the updates in question.
            inside: values that are not known behind the region.
        """
        touching = by_place(region)
        groups: dict[Key, list[Op]] = {}
        for ops in touching.values():
            place: Place = ops[0].attrs["place"]
            beside = [o for others in touching.values() for o in others if may_overlap(place, o.attrs["place"])]
            others = [op for op in ops if not self._combines(op)]
            kinds = {op.attrs["kind"] for op in (*ops, *beside) if self._combines(op)}
            if len(kinds) != 1 or not all(map(self._combines, beside)):
                continue
            for op in ops:
                indices = tuple(v if (n := integer(v)) is None else n for v in op.operands[: place.rank])
                fixed = op in here and inside.isdisjoint(v for v in indices if isinstance(v, Value))
                if fixed and self._combines(op) and all(are_apart(op, other) for other in others):
                    groups.setdefault((place, op.attrs["kind"], indices), []).append(op)
        return groups

    def _combines(self, op: Op) -> bool:
        """Whether an access is an atomic update that commutes, and whose old value is not used."""
        return op.opdef is ATOMIC and op not in self._own and not op.result.uses and op.attrs["kind"] in COMBINING


def _outside_loops(region: Region) -> Iterable[Op]:
    """The ops of a region, branches included, but not those of loops in it."""
    for op in region.ops:
        yield op
        if op.opdef is IF:
            for inner in op.regions:
                yield from _outside_loops(inner)


def _hold(loop: Op, place: Place, kind: str, updates: Sequence[Op], before: list[Op], after: list[Op]) -> None:
    """Hold one sum; gives what goes in front of the loop and behind it."""
    dtype, first = place.dtype, updates[0]
    begin, never = (_constant(number, to, first, before) for number, to in ((neutral(kind, dtype), dtype), (False, u1)))
    args = [[Value(init.type) for _ in loop.regions] for init in (begin, never)]
    for init, pair in zip((begin, never), args, strict=True):
        add_carried(loop, init, pair, Value(init.type))
    total, ran = (pair[-1] for pair in args)
    if loop.opdef is WHILE:
        loop.regions[0].terminator.append_operands([pair[0] for pair in args])
    held, subscripts = _Sum(set(updates), total, ran), first.operands[: place.rank]
    _thread(loop.regions[-1], held)
    loop.regions[-1].terminator.append_operands([held.total, held.ran])
    _update(first, subscripts, loop.results[-2], loop.results[-1], after)


def _hold_in(body: Region, place: Place, kind: str, updates: Sequence[Op]) -> None:
    """Hold one sum from the beginning of a region to its end."""
    dtype, first, before, after = place.dtype, updates[0], list[Op](), list[Op]()
    begin, never = (_constant(number, to, first, before) for number, to in ((neutral(kind, dtype), dtype), (False, u1)))
    held, subscripts = _Sum(set(updates), begin, never), first.operands[: place.rank]
    _thread(body, held)
    _update(first, subscripts, held.total, held.ran, after)
    body.ops = [*before, *body.ops[:-1], *after, body.ops[-1]]


def _update(first: Op, subscripts: Sequence[Value], total: Value, ran: Value, after: list[Op]) -> None:
    """Update the element, if one of the updates that this stands for has run."""
    indices = [_outside(v, after) for v in subscripts]
    update = Op(first.opdef, [*indices, total], dict(first.attrs), [Value(total.dtype)], loc=first.loc)
    if ran.op is not None and ran.op.opdef is CONST:
        after.append(update)
        return
    ends = [Op(YIELD, [], loc=first.loc) for _ in range(2)]
    regions = [Region(ops=[update, ends[0]]), Region(ops=[ends[1]])]
    after.append(Op(IF, [ran], regions=regions, loc=first.loc))


def _constant(number: bool | int | float, dtype: DType, at: Op, ops: list[Op]) -> Value:
    """A constant, defined behind some ops."""
    ops.append(constant_op(number, Value(dtype), at))
    return ops[-1].result


def _outside(index: Value, ops: list[Op]) -> Value:
    """An index as a value of outside the loop, which its constants may be defined in."""
    number = integer(index)
    return index if number is None or index.op is None else _constant(number, index.dtype, index.op, ops)


def _thread(region: Region, held: _Sum) -> None:
    """Replace the updates of a region by operations on the sum."""
    ops: list[Op] = []
    for op in region.ops:
        if op in held.updates:
            row = TABLE[op.attrs["kind"]]
            ops.append(Op(row, [held.total, op.operands[-1]], results=[Value(held.total.type)], loc=op.loc))
            held.total, held.ran = ops[-1].result, _constant(True, u1, op, ops)
            op.erase()
            continue
        if op.opdef is IF and not held.updates.isdisjoint(Region(ops=[op]).walk()):
            _branch(op, held)
        ops.append(op)
    region.ops = ops


def _branch(op: Op, held: _Sum) -> None:
    """Thread the sum through both sides of an `if`."""
    before = held.total, held.ran
    for region in op.regions:
        held.total, held.ran = before
        _thread(region, held)
        region.terminator.append_operands([held.total, held.ran])
    op.define([Value(v.type) for v in before])
    held.total, held.ran = op.results[-2:]
