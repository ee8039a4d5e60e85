"""Which guards a launch can do without: those of accesses that are inside if some numbers of the launch are in order.

`for i in x: y[i] = x[i]` needs no guard in launches where x is not longer than y. A backend that can look at extents
and scalar arguments before it begins may have code for such launches, beside code for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..analysis.facts import extents, memory_of
from ..analysis.ranges import Range, Ranges, is_integer
from ..analysis.subscripts import moved
from ..ir.structure import Op, Program, Value
from ..transforms.memory.guard import Walk

__all__ = ["Assumed", "Condition", "Term", "assumed"]

Term = tuple[str, int] | int | None
"""What a launch knows: the extent of an axis (name of a place, axis), a scalar argument by its number, None for 0."""
_OF_A_TYPE: Final = frozenset(2**bits - 1 for bits in (1, 7, 8, 15, 16, 31, 32, 63, 64))
"""Greatest numbers of types: nothing but the type is known of an index that may be one of these."""
_FAR: Final = 1 << 32
"""Arguments that are moved further are left alone."""
_NARROW: Final = 32
"""Bits of arguments that are far from where the numbers of a condition wrap around, which have 64."""


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
    inside: dict[Op, tuple[int, ...]] = {}
    conditions: dict[tuple[Condition, ...], None] = {}
    for task in program.tasks:
        if any("guarded" in op.attrs for op in task.body.walk()):
            walk = _Assuming(task.body.args)
            walk.region(task.body)
            inside.update(walk.inside)
            conditions.update(walk.conditions)
    return Assumed(tuple(conditions), inside)


class _Assuming(Walk):
    """Collects conditions under which guarded axes are inside; extents are assumed to fit their types."""

    def __init__(self, params: Sequence[Value]) -> None:
        super().__init__(Ranges(fitting=True))
        self.inside: dict[Op, tuple[int, ...]] = {}
        self.conditions: dict[tuple[Condition, ...], None] = {}
        self._numbers = {p: number for number, p in enumerate(params) if is_integer(p) and int(p.dtype.max) < 2**63}
        for param in self._numbers:
            self.ranges.know(param, Range(int(param.dtype.min), int(param.dtype.max), {param: 0}))

    def access(self, op: Op) -> None:
        wanted = {axis: self._all_wanted(op, axis) for axis in op.attrs.get("guarded", ())}
        axes = tuple(axis for axis, conditions in wanted.items() if conditions)
        if axes:
            self.inside[op] = axes
            fitted = [(Condition(extent, -most, None),) for extent, most in self.ranges.fitted.items()]
            self.conditions.update(dict.fromkeys((*fitted, *(some for axis in axes for some in wanted[axis]))))

    def _all_wanted(self, op: Op, axis: int) -> tuple[tuple[Condition, ...], ...]:
        """Conditions that would do together, of each tuple one; none if there are none."""
        choices = tuple(self._wanted(op, axis))
        return (choices,) if choices else tuple((condition,) for condition in self._of_an_argument(op, axis))

    def _of_an_argument(self, op: Op, axis: int) -> Iterator[Condition]:
        """Conditions that would do together, for an index that is an argument of the launch moved by a constant."""
        memory = memory_of(op)
        assert memory is not None
        base, by = moved(op.operands[memory[1] + axis])
        number = None if base is None else self._numbers.get(base)
        if base is None or number is None or base.dtype.bits > _NARROW or abs(by) > _FAR:
            return
        extent, most = extents(op)[axis], int(base.dtype.max)
        yield Condition(None, -by, number)
        if extent is None:
            yield Condition(number, by - most, None)
            yield Condition(number, by + 1, (op.attrs["place"].name, axis))
        else:
            yield Condition(number, by + 1 - min(extent, most + 1), None)

    def _wanted(self, op: Op, axis: int) -> Iterator[Condition]:
        """Conditions of which one would do; none if there is none that would."""
        memory = memory_of(op)
        assert memory is not None
        index, extent = self.ranges.of(op.operands[memory[1] + axis]), extents(op)[axis]
        if index.lo < 0:
            return
        if self.below(index, extent, op, axis):
            yield Condition(None, 0, None)
            return
        lesser: list[tuple[Term, int]] = [(self._term(key), most) for key, most in index.below.items()]
        terms: list[tuple[Term, int]] = [(term, most) for term, most in lesser if term is not None]
        if not terms and index.hi not in _OF_A_TYPE:
            terms = [(None, index.hi)]
        for term, most in terms:
            if extent is None:
                yield Condition(term, most + 1, (op.attrs["place"].name, axis))
            elif term is not None:
                yield Condition(term, most + 1 - extent, None)

    def _term(self, key: object) -> Term:
        if isinstance(key, Value):
            return self._numbers.get(key)
        return key if isinstance(key, tuple) else None
