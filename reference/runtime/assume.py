"""Which guards a launch can do without: those of accesses that are inside if some numbers of the launch are in order.

`for i in x: y[i] = x[i]` needs no guard in launches where x is not longer than y. A backend that can look at extents
and scalar arguments before it begins may have code for such launches, beside code for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ..analysis.facts import extents, memory_of
from ..analysis.ranges import Key, Range, Ranges, is_integer
from ..ir.structure import Op, Program, Task, Value
from ..ir.types import DType
from ..transforms.memory.guard import Walk

__all__ = ["Assumed", "Condition", "Term", "assumed", "assumed_of"]

Term = tuple[str, int] | int | None
"""What a launch knows: the extent of an axis (name of a place, axis), a scalar argument by its number, None for 0."""
_OF_A_TYPE: Final = frozenset(2**bits - 1 for bits in (1, 7, 8, 15, 16))
_FAR: Final = 2**26
"""Greatest numbers of types, and the least that is no number of a program: such bounds tell of a type alone."""
_WIDE: Final = 32
"""Arguments of as many bits are taken to be far from the ends of their types."""


@dataclass(frozen=True)
class Condition:
    """`lesser` plus a number is at most `greater`."""

    lesser: Term
    by: int
    greater: Term


@dataclass(frozen=True)
class Assumed:
    """The guards that launches with some property can do without.

    Attributes:
        conditions: the property: of each tuple at least one condition holds.
        inside: the axes, of those that an access guards, on which its index is inside then.
    """

    conditions: tuple[tuple[Condition, ...], ...] = ()
    inside: dict[Op, tuple[int, ...]] = field(default_factory=dict)


def assumed(program: Program) -> Assumed:
    """The guards of a program that launches can do without, and the conditions for that."""
    parts = [assumed_of(task) for task in program.tasks]
    conditions = dict.fromkeys(clause for part in parts for clause in part.conditions)
    inside = {op: axes for part in parts for op, axes in part.inside.items()}
    return Assumed(tuple(_strictest(conditions)), inside)


def assumed_of(task: Task) -> Assumed:
    """The same of one task."""
    if not any("guarded" in op.attrs for op in task.body.walk()):
        return Assumed()
    walk = _Assuming(task.body.args)
    walk.region(task.body)
    return Assumed(tuple(_strictest(walk.conditions())), walk.inside)


def _strictest(clauses: Iterable[tuple[Condition, ...]]) -> Iterator[tuple[Condition, ...]]:
    """The clauses without those that another one, of the same two numbers, says more strictly."""
    most: dict[tuple[Term, Term], Condition] = {}
    for clause in clauses:
        if len(clause) > 1:
            yield clause
            continue
        (one,) = clause
        key = one.lesser, one.greater
        most[key] = max(one, most.get(key, one), key=lambda condition: condition.by)
    yield from ((one,) for one in most.values())


class _Fitting(Ranges):
    """Ranges where extents fit their types, and where integer arguments are far from the ends of theirs.

    Args:
        params: of the program.

    Attributes:
        numbers: those of the arguments that conditions may be about, by the parameter.
        used: the parameters whose ranges were asked for.
    """

    def __init__(self, params: Sequence[Value]) -> None:
        super().__init__(fitting=True)
        self.numbers = {p: number for number, p in enumerate(params) if is_integer(p) and int(p.dtype.max) < 2**63}
        self.used: set[Value] = set()
        for param in self.numbers:
            self.know(param, Range(*_middle(param.dtype), {param: 0}, {param: 0}))

    def of(self, value: Value, depth: int = 0) -> Range:
        if value in self.numbers:
            self.used.add(value)
        return super().of(value, depth)

    def conditions(self) -> Iterator[Condition]:
        """What has to be true of a launch for these ranges to hold."""
        for extent, most in self.fitted.items():
            yield Condition(extent, -most, None)
        for param, number in self.numbers.items():
            least, most = _middle(param.dtype)
            if param in self.used and (least, most) != _ends(param.dtype):
                yield Condition(None, least, number)
                yield Condition(number, -most, None)

    def term(self, key: Key) -> Term:
        """What a launch knows of what a range refers to; None if it knows nothing of that."""
        return self.numbers.get(key) if isinstance(key, Value) else key


def _ends(dtype: DType) -> tuple[int, int]:
    """The least and the greatest integer of a type."""
    return int(dtype.min), int(dtype.max)


def _middle(dtype: DType) -> tuple[int, int]:
    """What an argument is taken to lie in: sums of two such numbers do not wrap around."""
    least, most = _ends(dtype)
    return (least, most) if dtype.bits < _WIDE else (least // 2, most // 2)


class _Assuming(Walk):
    """Collects conditions under which guarded axes are inside: clauses, of each of which one condition is to hold."""

    def __init__(self, params: Sequence[Value]) -> None:
        self.fitting = _Fitting(params)
        super().__init__(self.fitting)
        self.inside: dict[Op, tuple[int, ...]] = {}
        self._clauses: dict[tuple[Condition, ...], None] = {}

    def access(self, op: Op) -> None:
        wanted = {axis: self._wanted(op, axis) for axis in op.attrs.get("guarded", ())}
        axes = tuple(axis for axis, clauses in wanted.items() if all(clauses))
        if axes:
            self.inside[op] = axes
            self._clauses.update(dict.fromkeys(clause for axis in axes for clause in wanted[axis]))

    def conditions(self) -> list[tuple[Condition, ...]]:
        """All that has to be true."""
        return [*((one,) for one in self.fitting.conditions()), *self._clauses] if self.inside else []

    def _wanted(self, op: Op, axis: int) -> list[tuple[Condition, ...]]:
        """The clauses that have to be true; an empty one can't be."""
        memory = memory_of(op)
        assert memory is not None
        index, extent = self.ranges.of(op.operands[memory[1] + axis]), extents(op)[axis]
        clauses = []
        if index.lo < 0:
            clauses.append(tuple(Condition(None, -least, term) for term, least in self._terms(index.above)))
        if not self.below(replace(index, lo=max(index.lo, 0)), extent, op, axis):
            end = None if extent is not None else (op.attrs["place"].name, axis)
            clauses.append(tuple(self._below(index, extent, end)))
        return clauses

    def _below(self, index: Range, extent: int | None, end: Term) -> Iterator[Condition]:
        """Conditions each of which keeps an index below an extent: a number, or else what `end` stands for."""
        terms = self._terms(index.below)
        if not terms and extent is None and index.hi < _FAR and index.hi not in _OF_A_TYPE:
            yield Condition(None, index.hi + 1, end)
        for term, most in terms:
            yield Condition(term, most + 1 - (extent or 0), end)

    def _terms(self, bounds: Mapping[Key, int]) -> list[tuple[Term, int]]:
        """What a launch knows, of what a range refers to, and the numbers that are added to it."""
        terms = ((self.fitting.term(key), by) for key, by in bounds.items() if abs(by) < _FAR)
        return [(term, by) for term, by in terms if term is not None]
