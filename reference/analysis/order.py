"""Program order and affine indices: where each op of a kernel stands, and values as a base plus a constant.

`Order(body)` numbers the ops of a kernel's body in program order, notes the loops around each, and follows integers
through additions of constants and widening casts, so that two indices can be compared symbolically (`x[i]` against
`x[i + 1]`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..ir.ops import FOR, PARALLEL_FOR, WHILE
from ..ir.scalar_ops import ADD, CAST, CONST, SUB
from ..ir.structure import Op, Region, Value
from .facts import integer

__all__ = ["Order", "Spot"]


@dataclass(frozen=True)
class Spot:
    """Where an op stands.

    Attributes:
        number: its position in program order.
        loops: the loops around it, outermost first, parallel ones included.
        task: the position of the top-level op that it is, or is inside.
    """

    number: int
    loops: tuple[Op, ...]
    task: int


NARROW: Final = 32
"""Integers of fewer bits may wrap around within the extent of a place."""


class Order:
    """Positions of all ops of a kernel's body, and where its integers come from."""

    def __init__(self, body: Region) -> None:
        self.spots: dict[Op, Spot] = {}
        self.indices: dict[Value, Op] = {}
        self.varies: dict[Value, tuple[Op, ...]] = {}
        for task, op in enumerate(body.ops):
            self._place(op, (), task)

    def _place(self, op: Op, loops: tuple[Op, ...], task: int) -> None:
        self.spots[op] = Spot(len(self.spots), loops, task)
        inside = (*loops, op) if op.opdef in (FOR, WHILE, PARALLEL_FOR) else loops
        self.varies.update((v, loops) for v in op.results)
        self.varies.update((v, inside) for region in op.regions for v in region.args)
        if op.opdef is FOR:
            self.indices[op.regions[0].args[0]] = op
        elif op.opdef is PARALLEL_FOR:
            self.indices.update((a, op) for a in op.regions[0].args)
        for region in op.regions:
            for nested in region.ops:
                self._place(nested, inside, task)

    def offset(self, value: Value) -> tuple[Value | None, int]:
        """A value as (base + number); base None for a constant."""
        total = 0
        while (maker := value.op) is not None:
            if maker.opdef is CONST:
                return None, total + int(maker.attrs["value"])
            if maker.opdef is CAST and _is_injective(maker):
                value = maker.operands[0]
            elif value.dtype.bits < NARROW:
                break  # x + 1 may well be less than x
            elif maker.opdef in (ADD, SUB) and (step := integer(maker.operands[1])) is not None:
                total += step if maker.opdef is ADD else -step
                value = maker.operands[0]
            elif maker.opdef is ADD and (step := integer(maker.operands[0])) is not None:
                total += step
                value = maker.operands[1]
            else:
                break
        return value, total

    def bounds(self, value: Value) -> tuple[int | None, int | None]:
        """The least and the greatest value that an integer can have, as far as constants tell."""
        base, shift = self.offset(value)
        if base is None:
            return shift, shift
        loop = self.indices.get(base)
        if loop is None:
            return None, None
        axis = (loop.regions[0].args.index(base) if loop.opdef is PARALLEL_FOR else 0) * 2
        low, high = self.bounds(loop.operands[axis])[0], self.bounds(loop.operands[axis + 1])[1]
        return None if low is None else low + shift, None if high is None else high - 1 + shift


def _is_injective(cast: Op) -> bool:
    """Whether different integers stay different; those that index places also keep their order."""
    source, to = cast.operands[0].dtype, cast.result.dtype
    if not source.is_integer or source.is_bool:
        return False
    return (to.min <= source.min and source.max <= to.max) or NARROW <= source.bits <= to.bits
