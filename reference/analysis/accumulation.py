"""How the sum of each atomic update is built: which updates of a parallel task need no atomic instruction, and why.

A task's updates get the first of these ways whose conditions can be proved. SPRAY (Hueckelheim and Doerfert, 2021) and
Dr.Jit have several of them; that the adjoint of a stencil can be split into blocks is PerforAD's (2019) observation.

    own      no other iteration touches the element (see `exclusivity`): load, combine, store.
    uniform  all iterations update one element (see `reductions`): each thread combines its values first.
    tiled    the outermost index of the loop, moved by constants, is a subscript: iterations run in blocks of rows, and
             blocks that touch the same elements do not run at the same time.
    private  any subscripts: each thread updates a copy of its own, and copies are combined afterwards.
    subgroup no subscript depends on the innermost index of the loop: threads that run side by side (a subgroup, a warp)
             and that do update the same element combine their values first, by shuffles.
    atomic   the rest.

Ahead of all that, loops that add to neighbours may have been turned around: they are *gathered*, and have no updates
any more (see `transforms/tasks/gather.py`).

Which of them there are depends on the target (`Capabilities.sums`): threads of a GPU are not kept apart as those of a
processor are, and those of a processor do not run side by side.

Where bits may not depend on threads, runs and devices (`init(deterministic=True)`), an update whose result depends on
the order of iterations is *ordered* unless it is own: one thread runs all iterations of the loop, in the order of
their indices. Integers are added up in the other ways as before, for which no order makes a difference.

What depends on a launch is left to the backend that carries the plan out: whether arrays overlap, and whether
copies are small beside the work. Where they are not, the update is an atomic one.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..ir.ops import APART, ATOMIC, FOR
from ..ir.scalar_ops import ADD, CAST, SUB
from ..ir.structure import Op, Place, Region, Task, Value
from .exclusivity import by_place, exclusive_updates, may_overlap
from .facts import integer
from .manager import Analyses
from .reductions import COMBINING, reductions
from .subscripts import is_wide
from .uniformity import varying_in_row

__all__ = ["Decision", "Offsets", "Plan", "is_ordered", "plan", "rows_between"]


@dataclass(frozen=True)
class Decision:
    """How one update is added up.

    Attributes:
        way: one of `ir.ops.WAYS`.
        why: why it is no better way: a clause; empty for the best one.
    """

    way: str
    why: str = ""


@dataclass
class Plan:
    """The decisions for one task.

    Attributes:
        decisions: one for each atomic update of a parallel task; empty for a serial task.
    """

    decisions: dict[Op, Decision] = field(default_factory=dict)

    def places(self, way: str) -> list[Place]:
        """The places whose updates are built in a way, each once, in the order of the program."""
        chosen = (op.attrs["place"] for op, decision in self.decisions.items() if decision.way == way)
        return list(dict.fromkeys(chosen))


class Offsets:
    """Integers of a parallel loop's body that are the loop's outermost index plus a number between two constants.

    Args:
        loop: the `parallel_for`.
    """

    def __init__(self, loop: Op) -> None:
        (body,) = loop.regions
        self._outermost = body.args[0]
        self._known: dict[Value, tuple[int, int, int]] = {}
        if is_wide(self._outermost):
            self._known[self._outermost] = (1, 0, 0)
        for op in body.walk():
            self._visit(op)

    def of(self, value: Value) -> tuple[int, int] | None:
        """The least and the greatest difference to the outermost index; None for any other value."""
        offset = self._known.get(value)
        return offset[1:] if offset is not None and offset[0] == 1 else None

    def _number(self, value: Value) -> tuple[int, int, int] | None:
        """How often the outermost index is in a value (0 or 1), and between which numbers the rest of it lies."""
        constant = integer(value)
        return self._known.get(value) if constant is None else (0, constant, constant)

    def _visit(self, op: Op) -> None:
        if op.opdef is FOR and is_wide(op.regions[0].args[0]):
            lo, hi = (self._number(bound) for bound in op.operands[:2])
            if lo is not None and hi is not None and lo[0] == hi[0] == 0:
                self._known[op.regions[0].args[0]] = (0, lo[1], max(lo[1], hi[2] - 1))
        elif op.opdef in (ADD, SUB, CAST) and all(is_wide(v) for v in (*op.operands, op.result)):
            operands = [self._number(v) for v in op.operands]
            self._combine(op, [number for number in operands if number is not None])

    def _combine(self, op: Op, numbers: Sequence[tuple[int, int, int]]) -> None:
        if len(numbers) != len(op.operands):
            return
        if op.opdef is CAST:
            if op.result.dtype.bits >= op.operands[0].dtype.bits:
                self._known[op.result] = numbers[0]
            return
        (a, least, most), (b, low, high) = numbers
        count, low, high = (a + b, least + low, most + high) if op.opdef is ADD else (a - b, least - high, most - low)
        if count in (0, 1) and abs(low) < _FAR and abs(high) < _FAR:
            self._known[op.result] = (count, low, high)


_FAR: Final = 1 << 20
"""Rows that no stencil reaches; sums of fewer are far from where indices wrap around to other elements."""


def plan(task: Task, ways: Collection[str] = APART, *, deterministic: bool = False) -> Plan:
    """How each atomic update of a task is added up. It depends on these alone; nothing is changed.

    Args:
        task: serial or parallel.
        ways: in which the target can add up; `atomic` always is one.
        deterministic: whether bits may depend on nothing but the program and its input.
    """
    if task.kind != "parallel":
        return Plan()
    *header, loop, _ = task.body.ops
    decisions = dict(_Planner(loop, header, ways).decisions())
    return Plan(_in_order(decisions) if deterministic else decisions)


def is_ordered(task: Task) -> bool:
    """Whether a task, as planned, has to run its iterations one after another, in the order of their indices."""
    return any(op.attrs.get("sums") == "ordered" for op in task.body.walk())


def _in_order(decisions: dict[Op, Decision]) -> dict[Op, Decision]:
    """The decisions where the order of iterations may make no difference."""
    reasons = {op: _why_order_matters(op, decision, decisions) for op, decision in decisions.items()}
    if not any(reasons.values()):
        return decisions
    beside = "another update of the loop depends on the order of iterations"
    return {
        op: decision if decision.way == "own" and not reasons[op] else Decision("ordered", reasons[op] or beside)
        for op, decision in decisions.items()
    }


def _why_order_matters(op: Op, decision: Decision, updates: Iterable[Op]) -> str:
    """Why what an update leaves behind, or gives, depends on the order of iterations; empty if it does not."""
    place: Place = op.attrs["place"]
    if decision.way == "own":
        others = {other.attrs["place"].name for other in updates if may_overlap(place, other.attrs["place"])}
        return f"{min(others)} may be the same memory" if others else ""
    if op.attrs["kind"] not in COMBINING:
        return f"an update of the kind {op.attrs['kind']} depends on the order of iterations"
    if op.result.uses:
        return "the old value depends on the order of iterations"
    return "the rounding of a sum depends on the order of iterations" if place.dtype.is_float else ""


def rows_between(task: Task, analyses: Analyses) -> int:
    """Over how many rows (of the outermost index of a task's loop) the updates of one tiled element are spread."""
    loop = task.body.ops[-2]
    offsets, touching = Offsets(loop), analyses.get(by_place, loop.regions[0])
    tiled = [ops for ops in touching.values() if any(op.attrs.get("sums") == "tiled" for op in ops)]
    return max((_spread(ops, offsets) or 0 for ops in tiled), default=0)


def _spread(ops: Sequence[Op], offsets: Offsets) -> int | None:
    """The least spread of the rows from which one element is updated, over the axes of a place; None without one."""
    spreads = []
    for axis in range(ops[0].attrs["place"].rank):
        ranges = [offsets.of(op.operands[axis]) for op in ops]
        bounded = [r for r in ranges if r is not None]
        if len(bounded) == len(ops):
            spreads.append(max(r[1] for r in bounded) - min(r[0] for r in bounded))
    return min(spreads, default=None)


_NO_ROWS: Final = "no subscript is the outermost index of the loop plus a constant"
_OLD: Final = "the old value is used"


class _Planner:
    """Decides for one loop.

    Args:
        loop: the `parallel_for`.
        header: the ops in front of it.
        ways: in which the target can add up.
    """

    def __init__(self, loop: Op, header: Sequence[Op], ways: Collection[str]) -> None:
        self.loop, self.body, self.ways = loop, loop.regions[0], ways
        self.touching = by_place(self.body)
        self.offsets = Offsets(loop)
        self.own = exclusive_updates(loop, header, self.touching)
        self.uniform = set(reductions(self.body, self.touching.values()))
        self.used = {v for op in self.body.walk() for v in op.operands}
        self.in_header = set(by_place(Region(ops=list(header))))

    def decisions(self) -> Iterator[tuple[Op, Decision]]:
        """Each update with its decision."""
        choices = {name: self._choice(name, ops) for name, ops in self.touching.items()}
        copied = any(choice.way == "private" for choice in choices.values())
        for op in self.body.walk():
            if op.opdef is ATOMIC:
                choice = choices[op.attrs["place"].name]
                if choice.way == "tiled" and copied:
                    choice = self._beside_copies(self.touching[op.attrs["place"].name])
                if choice.why == _OLD and op.result not in self.used:
                    choice = Decision(choice.way, "the old value of another update of the memory is used")
                yield op, self._side_by_side(op, choice) if choice.way == "atomic" else choice

    def _beside_copies(self, ops: Sequence[Op]) -> Decision:
        """The way of updates that could be tiled, but for others of the loop, whose threads have copies."""
        reason = self._why_no_copies(ops)
        return Decision("atomic" if reason else "private", "another update of the loop has no subscript for blocks")

    def _choice(self, name: str, ops: Sequence[Op]) -> Decision:
        """The way of all updates of one place."""
        updates = [op for op in ops if op.opdef is ATOMIC]
        if self.own.issuperset(updates):
            return Decision("own")
        if self.uniform.issuperset(updates):
            return Decision("uniform", "all iterations update the same element")
        reason = self._why_shared(name, updates)
        if reason:
            return Decision("atomic", reason)
        spread = _spread(ops, self.offsets) if "tiled" in self.ways else None
        if spread is not None:
            return Decision("tiled", f"iterations {spread} rows apart touch the same element")
        reason = self._why_no_copies(ops)
        return Decision("atomic", reason) if reason else Decision("private", _NO_ROWS)

    def _why_shared(self, name: str, updates: Sequence[Op]) -> str:
        """Why threads that are kept apart could not add plainly, either; empty if they could."""
        kinds = {op.attrs["kind"] for op in updates}.difference(COMBINING)
        if kinds:
            return f"an update of the kind {min(kinds)} depends on the order"
        if any(op.result in self.used for op in updates):
            return _OLD
        if name in self.in_header:
            return "the bounds of the loop depend on the memory"
        return "an element is one bit" if updates[0].attrs["place"].dtype.is_bool else ""

    def _side_by_side(self, op: Op, choice: Decision) -> Decision:
        """The way of an update that needs atomics, but perhaps not one for every thread."""
        subscripts = op.operands[: op.attrs["place"].rank]
        combines = op.attrs["kind"] in COMBINING and not op.result.uses and not op.attrs["place"].dtype.is_bool
        if "subgroup" not in self.ways or not combines or not self._inner.isdisjoint(subscripts):
            return choice
        return Decision("subgroup", choice.why)

    @functools.cached_property
    def _inner(self) -> set[Value]:
        """The values that differ between iterations that differ in the innermost index of the loop alone."""
        return varying_in_row(self.body)

    def _why_no_copies(self, ops: Sequence[Op]) -> str:
        """Why copies could not be combined; empty if they could."""
        if "private" not in self.ways:
            return "threads of the device have neither blocks nor copies of the memory"
        if any(op.opdef is not ATOMIC for op in ops):
            return f"{_NO_ROWS}, and the loop reads or overwrites the memory, too"
        kinds = sorted({op.attrs["kind"] for op in ops})
        return "" if len(kinds) == 1 else f"{_NO_ROWS}, and updates of the kinds {' and '.join(kinds)} do not combine"
