"""Which updates of a parallel loop are gathered, and why not others.

`y[i - 1] += f(i)` and `y[i + 1] += g(i)` is, over the elements p, `y[p] += g(p - 1)`, then `f(p + 1)`. One iteration
alone then touches an element, and adds in the order of the iterations that scattered: the bits are those of running the
loop from its first iteration to its last. That adjoint stencils stay stencils is PerforAD's observation (Hueckelheim
et al., 2019), scatter to gather is in Halide's gradients, too (Li et al., 2018).

The updates of a place are gathered if all of this holds:

    subscripts   each index of the loop, moved by a number, is one subscript of each update, on the same axis in all of
                 them; the other subscripts are the same in all iterations.
    memory       no other place that the loop touches may share the memory, no bound of the loop depends on it, and
                 whatever else the loop does to the place provably is to other elements.
    inputs       what is added can be computed at another time than the rest of the loop: from memory that the iteration
                 has not written before, and from no old value of an update.
    control      no update is in an inner loop, and nobody uses the old value.

Bounds have to be known to stay away from the ends of their types, so that moved indices do not wrap around. What
several offsets need is computed for each of them, which has to be worth it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from ...analysis.exclusivity import by_place, may_overlap
from ...analysis.manager import Analyses
from ...analysis.ranges import Ranges
from ...analysis.reductions import COMBINING
from ...analysis.subscripts import are_apart, differ, is_wide, moved
from ...ir.ops import ATOMIC, FOR, IF, LOAD, SHAPE, STORE, WHILE, YIELD
from ...ir.scalar_ops import ADD, CAST, CONST, MUL, NEG, SUB
from ...ir.structure import Op, Place, Region, Task, Value
from ..loops.licm import COSTLY
from ..rewriting.options import DEFAULT
from ..scalar.dce import Liveness

__all__ = ["ALWAYS", "DEAREST", "Gathering", "Offset", "Target", "gathering", "needed_for"]

Offset = tuple[int, ...]
"""For each index of a loop, how far from it an update is."""

Key = tuple[tuple[Value | None, int], ...]
"""Subscripts, as values and numbers; indices of the loop without their numbers."""

DEAREST: Final = 2.0
"""How many times the work of the loop gathering may be.

On an H100 a stencil of five points (1.4 times) takes 0.6 of the time that its atomics take, eight springs (2.1 times)
1.3 of it.
"""

ALWAYS: Final = 100.0
"""The same where one thread would run the loop otherwise: a bound on how much code it becomes."""

_ANYWHERE: Final = frozenset({LOAD, STORE, ATOMIC, IF, FOR, WHILE, YIELD})
"""Operations that are not pure, and can be run for an element instead of an iteration, or be left to the rest."""

_FIXED: Final = frozenset({CONST, ADD, SUB, MUL, NEG, CAST, SHAPE})
"""Operations that give the same in all iterations if their operands do, and can be computed ahead of any condition."""


@dataclass(eq=False)
class Target:
    """Elements that are gathered together: those of a place whose fixed subscripts are the same.

    Attributes:
        place: the memory.
        axes: for each axis, the number of the loop's index that is its subscript, moved; None for a fixed subscript.
        updates: the updates, by their offset, in the order of the program.
    """

    place: Place
    axes: tuple[int | None, ...]
    updates: dict[Offset, list[Op]] = field(default_factory=dict)

    @property
    def ops(self) -> list[Op]:
        """All updates."""
        return [op for ops in self.updates.values() for op in ops]


@dataclass
class Gathering:
    """What is gathered from a loop.

    Attributes:
        targets: what is collected.
        offsets: of all updates, each once, the greatest first: so iterations come in their order.
    """

    targets: list[Target]
    offsets: list[Offset]

    def at(self, offset: Offset) -> dict[Op, Target]:
        """The updates with an offset, and what each adds to."""
        return {op: target for target in self.targets for op in target.updates.get(offset, ())}


def gathering(task: Task, dearest: float = DEAREST) -> Gathering | str:
    """What is gathered from a task's loop, or why nothing is: a clause, empty where nothing is added to neighbours.

    Args:
        task: serial or parallel; nothing is changed.
        dearest: see `DEAREST`.
    """
    if task.kind != "parallel" or task.sizes:
        return ""
    *header, loop, _ = task.body.ops
    return _Planner(loop, header).gathering(dearest)


def needed_for(body: Region, updates: Iterable[Op]) -> Liveness:
    """What updates of a loop's body need, and whether they run."""
    liveness = Liveness(body, DEFAULT, Analyses(), updates)
    liveness.close()
    return liveness


class _Planner:
    """Decides for one loop.

    Args:
        loop: the `parallel_for`.
        header: the ops in front of it.
    """

    def __init__(self, loop: Op, header: Sequence[Op]) -> None:
        self.loop, self.body = loop, loop.regions[0]
        self.touching = by_place(self.body)
        self.in_header = set(by_place(Region(ops=list(header))))
        self.numbers: dict[Value | None, int] = {arg: number for number, arg in enumerate(self.body.args)}
        self.varying = _varying(self.body)
        self.order = {op: position for position, op in enumerate(self.body.walk())}
        self.loops: dict[Op, tuple[Op, ...]] = {}
        self._note_loops(self.body, ())

    def _note_loops(self, region: Region, around: tuple[Op, ...]) -> None:
        for op in region.ops:
            self.loops[op] = around
            for inner in op.regions:
                self._note_loops(inner, around if op.opdef is IF else (*around, op))

    def gathering(self, dearest: float) -> Gathering | str:
        """All targets, or why there is none."""
        reason = self._why_not_at_all()
        if reason or not any(op.opdef is ATOMIC for ops in self.touching.values() for op in ops):
            return reason
        targets: list[Target] = []
        reasons: list[str] = []
        for ops in self.touching.values():
            if any(op.opdef is ATOMIC for op in ops):
                one = self._targets(ops)
                reasons += [one] if isinstance(one, str) else []
                targets += [] if isinstance(one, str) else one
        if not any(len(target.updates) > 1 for target in targets):
            return next(iter(reasons), "")
        offsets = sorted({offset for target in targets for offset in target.updates}, reverse=True)
        plan = Gathering(targets, offsets)
        return self._why_not_so_far(plan) or self._why_too_dear(plan, dearest) or plan

    def _why_not_at_all(self) -> str:
        """Why the loop can't be turned around, whatever it updates; empty if it can."""
        other = next((op.name for op in self.body.walk() if not op.opdef.pure and op.opdef not in _ANYWHERE), "")
        if other:
            return f"the loop has an operation that has to run once an iteration ({other})"
        return "" if all(map(is_wide, self.body.args)) else "an index of the loop is narrow, or has no sign"

    def _why_not_so_far(self, plan: Gathering) -> str:
        """Why indices moved by offsets might wrap around; empty if they do not."""
        ranges = Ranges()
        for axis, (lo, hi) in enumerate(zip(self.loop.operands[::2], self.loop.operands[1::2], strict=True)):
            reach = 2 * max(abs(offset[axis]) for offset in plan.offsets)
            if ranges.of(lo).lo - reach < lo.dtype.min or ranges.of(hi).hi + reach > hi.dtype.max:
                return "the bounds of the loop may be at the ends of their type"
        return ""

    def _why_too_dear(self, plan: Gathering, dearest: float) -> str:
        """Why it does not pay; empty if it does."""
        work = sum(_work(needed_for(self.body, plan.at(offset)).ops) for offset in plan.offsets)
        if work > dearest * _work(self.body.walk()):
            return "to compute for each neighbour what it needs costs more than it saves"
        return ""

    def _targets(self, ops: Sequence[Op]) -> list[Target] | str:
        """What is gathered of a place, or why nothing is."""
        reason = self._why_not_memory(ops[0].attrs["place"])
        if reason:
            return reason
        targets: dict[Key, Target] = {}
        for op in ops:
            if op.opdef is ATOMIC:
                key = self._key(op)
                if key is None:
                    return "a subscript is neither an index of the loop and a number nor the same in all iterations"
                if op.attrs["kind"] not in COMBINING or op.result.uses or self.loops[op]:
                    return "an update is in an inner loop, or its old value is used"
                axes = tuple(self.numbers.get(base) for base, _ in key)
                one = targets.setdefault(key, Target(op.attrs["place"], axes))
                one.updates.setdefault(self._offset(op), []).append(op)
        return self._why_not_elements(ops, list(targets.values())) or list(targets.values())

    def _why_not_memory(self, place: Place) -> str:
        others = (ops[0].attrs["place"] for ops in self.touching.values())
        if place.kind != "field" or any(may_overlap(place, other) for other in others):
            return "what shares the memory is known only when the kernel is launched"
        if place.relaxed or place.dtype.is_bool:
            return "iterations may read the memory while others update it, or an element is one bit"
        return "the bounds of the loop depend on the memory" if place.name in self.in_header else ""

    def _key(self, op: Op) -> Key | None:
        """The subscripts of an update; None if they are not those of neighbours."""
        key: list[tuple[Value | None, int]] = []
        for value in op.operands[: op.attrs["place"].rank]:
            base, number = moved(value)
            is_index = base in self.numbers
            if not is_wide(value) or (value in self.varying and not is_index):
                return None
            key.append((base, 0 if is_index else number))
        indices = [base for base, _ in key if base in self.numbers]
        return tuple(key) if len(indices) == len(set(indices)) == len(self.numbers) else None

    def _offset(self, op: Op) -> Offset:
        """How far the subscripts are from the loop's indices."""
        steps = dict(map(moved, op.operands[: op.attrs["place"].rank]))
        return tuple(steps[arg] for arg in self.body.args)

    def _why_not_elements(self, ops: Sequence[Op], targets: Sequence[Target]) -> str:
        """Why what else the loop does, to the place or before, is in the way; empty if it is not."""
        if len({target.axes for target in targets}) > 1:
            return "an index of the loop is a subscript of different axes"
        firsts = [target.ops[0] for target in targets]
        others = [op for op in ops if op.opdef is not ATOMIC]
        pairs = [(a, b) for n, a in enumerate(firsts) for b in (*firsts[:n], *others)]
        if not all(self._never_meet(a, b) for a, b in pairs):
            return "the loop may touch an element in other ways than the updates"
        needed = needed_for(self.body, [op for target in targets for op in target.ops])
        return self._why_not_inputs(needed.ops, {op for op in ops if op.opdef is ATOMIC})

    def _why_not_inputs(self, needed: Iterable[Op], own: set[Op]) -> str:
        """Why what updates need can't be computed at another time; empty if it can."""
        writes = [op for op in self.body.walk() if op.opdef.writes and op not in own]
        for op in needed:
            if op not in own and op.opdef.writes:
                return "what is added depends on the old value of an update"
            if op.regions and op.opdef is not IF and any(o.opdef.writes for inner in op.regions for o in inner.walk()):
                return "what is added depends on an inner loop that writes"
            if op.opdef is LOAD and any(self._comes_before(write, op) for write in writes):
                return "what is added depends on memory that the iteration has written before"
        return ""

    def _never_meet(self, update: Op, other: Op) -> bool:
        """Whether two accesses to a place are to different elements in any two iterations."""
        rank = update.attrs["place"].rank
        pairs = zip(update.operands[:rank], other.operands[:rank], strict=True)
        return any(self.varying.isdisjoint(pair) and differ(*pair) for pair in pairs)

    def _comes_before(self, write: Op, load: Op) -> bool:
        """Whether an iteration may write what it loads later; a loop around both, which writes, is refused anyway."""
        same = write.attrs["place"] == load.attrs["place"]
        return same and self.order[write] < self.order[load] and not are_apart(write, load)


def _varying(body: Region) -> set[Value]:
    """The values of a loop's body that may differ between iterations, or can't be computed ahead of conditions."""
    varying = set(body.args)
    for op in body.walk():
        if op.opdef not in _FIXED or not varying.isdisjoint(op.operands):
            varying.update(op.results)
        varying.update(arg for region in op.regions for arg in region.args)
    return varying


def _work(ops: Iterable[Op]) -> int:
    """What ops cost, roughly: eight for a division, a root or a function, one for the others."""
    return sum(8 if op.opdef in COSTLY else op.opdef not in (CONST, YIELD) for op in ops)
