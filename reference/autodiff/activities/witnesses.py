"""Races that are proven by witnesses: two iterations of which evaluation shows that they access one element.

`met(one, other, number)` looks at up to `MOST` iterations of a parallel loop, all at once: where the integers of a
launch decide indices and conditions, these have the values that they have when the loop runs. It tells nothing of the
iterations that it does not look at, and nothing where an index depends on what memory holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...ir.ops import SHAPE
from ...ir.scalar_ops import CONST
from ...ir.structure import Op, Place, Value

__all__ = ["MOST", "Access", "Number", "decided_by", "met"]

Array = npt.NDArray[Any]
Number = Callable[[Value], "int | None"]
"""What an integer of the kernel is known to be, each time that it is computed."""

MOST: Final = 1024
"""Iterations that are looked at, of the loops around an access together."""
_PARTS: Final = 3
"""Of a longer loop the first, the middle and the last iterations are looked at: what is far apart meets there, too."""


@dataclass(frozen=True)
class Access:
    """A load, store or atomic update that iterations of a parallel loop make.

    Attributes:
        op: the load, store or update.
        loop: the parallel loop.
        inside: the sequential loops around the op, outermost first.
        conditions: those of the branches around the op, each with what it has to be; without, all iterations make it.
    """

    op: Op
    loop: Op
    inside: tuple[Op, ...] = ()
    conditions: tuple[tuple[Value, bool], ...] = ()

    @property
    def place(self) -> Place:
        """The place that it accesses."""
        place: Place = self.op.attrs["place"]
        return place

    @property
    def indices(self) -> Sequence[Value]:
        """One per axis."""
        return self.op.operands[: self.place.rank]

    @property
    def ranges(self) -> Iterator[tuple[Value, Value, Value]]:
        """(index, first, end) of the loops around it."""
        bounds = self.loop.operands
        yield from zip(self.loop.regions[0].args, bounds[::2], bounds[1::2], strict=True)
        for loop in self.inside:
            yield loop.regions[0].args[0], loop.operands[0], loop.operands[1]


def decided_by(access: Access, params: Collection[Value]) -> frozenset[Value] | None:
    """The integers of a launch that decide what each iteration accesses; None if something else does, too.

    They are parameters, extents, and the bounds of loops.
    """
    loops = {index for index, _, _ in access.ranges}
    deciding = {bound for _, *bounds in access.ranges for bound in bounds}
    seen = set(loops)
    waiting = [*access.indices, *(value for value, _ in access.conditions)]
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in params or (value.op is not None and value.op.opdef is SHAPE):
            deciding.add(value)
        elif value.op is None or not (value.op.opdef is CONST or _is_scalar(value.op)):
            return None
        else:
            waiting += value.op.operands
    return frozenset(deciding)


def _is_scalar(op: Op | None) -> bool:
    return op is not None and op.opdef.pure and op.opdef.meaning is not None and len(op.results) == 1


def met(one: Access, other: Access, number: Number) -> bool:
    """Whether two different iterations make these accesses at one element, among those that are looked at."""
    first, second = _elements(one, number), _elements(other, number)
    if first is None or second is None or not len(first[0]) or not len(second[0]):
        return False
    many = len(first[0])
    _, numbers = np.unique(_numbered(np.concatenate([first[0], second[0]])), return_inverse=True)
    elements, places = np.unique(_numbered(np.concatenate([first[1], second[1]])), return_inverse=True)
    ends = [_ends(numbers[part], places[part], len(elements)) for part in (slice(many), slice(many, None))]
    (least, greatest), (low, high) = ends
    both = (greatest >= 0) & (high >= 0)
    return bool(np.any(both & ((least != high) | (greatest != low))))


def _numbered(rows: Array) -> Array:
    """A number for each row, the same for the same rows."""
    numbers = np.zeros(len(rows), np.int64)
    for column in rows.T:
        values, ranks = np.unique(column, return_inverse=True)
        numbers = numbers * len(values) + ranks
        numbers = np.unique(numbers, return_inverse=True)[1]  # below the number of rows, whatever the product is
    return numbers


def _ends(numbers: Array, places: Array, count: int) -> tuple[Array, Array]:
    """The least and the greatest of the iterations that access each element; -1 where there is none."""
    least, greatest = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
    np.minimum.at(least, places, numbers)
    np.maximum.at(greatest, places, numbers)
    return least, greatest


def _elements(access: Access, number: Number) -> tuple[Array, Array] | None:
    """Iterations of the parallel loop, and the element that each of them accesses: a row for each; None if unknown."""
    axes = list[Array]()
    ranges = list(access.ranges)
    side = max(_PARTS, int(MOST ** (1 / max(1, len(ranges)))))
    for _, lo, hi in ranges:
        first, end = number(lo), number(hi)
        if first is None or end is None:
            return None
        axes.append(_looked_at(first, end, side))
    total = math.prod(map(len, axes))
    points = [axis.reshape(-1) for axis in np.meshgrid(*axes, indexing="ij")]
    evaluation = _Evaluation({index: v for (index, _, _), v in zip(ranges, points, strict=True)}, number, total)
    runs = np.ones(total, np.bool_)
    for condition, truth in access.conditions:
        is_met = evaluation.of(condition)
        if is_met is None:
            return None
        runs &= is_met.astype(np.bool_) == truth
    indices = [evaluation.of(index) for index in access.indices]
    if any(index is None for index in indices):
        return None
    iterations = points[: len(access.loop.regions[0].args)]
    return _rows(iterations, total)[runs], _rows([i for i in indices if i is not None], total)[runs]


def _rows(columns: Sequence[Array], total: int) -> Array:
    return np.stack([np.zeros(total, np.int64), *(column.astype(np.int64) for column in columns)], axis=1)


def _looked_at(first: int, end: int, side: int) -> Array:
    """Up to so many integers from `first` up to, not including, `end`."""
    if end - first <= side:
        return np.arange(first, max(first, end), dtype=np.int64)
    part = side // _PARTS
    middle = (first + end) // 2
    starts = (first, max(first, middle - part // 2), end - part)
    return np.unique(np.concatenate([np.arange(start, start + part, dtype=np.int64) for start in starts]))


class _Evaluation:
    """Scalars of a kernel, in many iterations at once, by the meaning of their ops.

    Args:
        points: the indices of loops, in each iteration.
        number: what other integers are.
        total: how many iterations.
    """

    def __init__(self, points: Mapping[Value, Array], number: Number, total: int) -> None:
        self._number, self._total = number, total
        self._values: dict[Value, Array | None] = {v: p.astype(v.dtype.numpy) for v, p in points.items()}

    def of(self, value: Value) -> Array | None:
        """A scalar in each iteration; None if it is not known."""
        if value not in self._values:
            self._values[value] = self._evaluated(value)
        return self._values[value]

    def _evaluated(self, value: Value) -> Array | None:
        op = value.op
        if op is not None and op.opdef is CONST:
            return np.full(self._total, op.attrs["value"], value.dtype.numpy)
        if op is None or not _is_scalar(op):
            known = self._number(value)
            return None if known is None else np.full(self._total, known).astype(value.dtype.numpy)
        operands = [self.of(operand) for operand in op.operands]
        if op.opdef.meaning is None or any(operand is None for operand in operands):
            return None
        result: Array = op.opdef.meaning(value.dtype, *operands)
        return result
