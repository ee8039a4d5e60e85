"""Guards that a loop can do without: their indices change by the same number in every iteration.

Such an index is in bounds in all iterations from the first on up to one, which is computed in front of the loop. LLVM
does the same to checks that leave the loop (`irce`, inductive range check elimination), and does not look at others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from adstack.analysis.induction import Induction
from adstack.ir.scalar_ops import CAST
from adstack.ir.structure import Op, Value

from ..function.region import RegionEmitter
from ..safety.accesses import extents_of, guarded_axes, indices_of

__all__ = ["NARROWEST", "Unguarded", "unguarded"]

NARROWEST: Final = 32
"""Bits of the narrowest integers that are followed: they hold the numbers that they are compared with."""


@dataclass(frozen=True)
class Unguarded:
    """What the accesses of a loop need no guard for, as long as some of its induction values are in bounds.

    Attributes:
        in_bounds: accesses -> the axes on which they are in bounds then.
        limits: the induction value, which is to be at least 0; the access and the axis whose extent it is to be below;
            and the number that it is to be below as well.
    """

    in_bounds: Mapping[Op, Sequence[int]]
    limits: Sequence[tuple[Value, Op, int, int]]

    def below(self, e: RegionEmitter) -> Iterable[tuple[Value, str]]:
        """Each of the induction values, with what it is to be below, as an i64 in front of the loop."""
        extents = ((index, _least(e, extents_of(e, op)[axis], most)) for index, op, axis, most in self.limits)
        return dict.fromkeys(extents)


def unguarded(e: RegionEmitter, loop: Op) -> Unguarded:
    """The guards of a `for` whose indices are induction values."""
    induction = Induction(loop.regions[0], NARROWEST)
    in_bounds: dict[Op, list[int]] = {}
    limits: list[tuple[Value, Op, int, int]] = []
    for op in loop.regions[0].walk():
        for axis in guarded_axes(e, op):
            index, most = _followed(induction, indices_of(op)[axis])
            if induction.step(index) is not None:
                in_bounds.setdefault(op, []).append(axis)
                limits.append((index, op, axis, most))
    return Unguarded(in_bounds, limits)


def _followed(induction: Induction, index: Value) -> tuple[Value, int]:
    """What an index is a narrower form of, and the greatest number, and 1, that is the same in both."""
    most = int(index.dtype.max) + 1
    op = induction.definition(index)
    while op is not None and op.opdef is CAST and _is_narrower(op):
        (index,) = op.operands
        op = induction.definition(index)
    return index, most


def _is_narrower(cast: Op) -> bool:
    source, to = cast.operands[0].dtype, cast.result.dtype
    return source.is_integer and to.is_integer and to.bits < source.bits


def _least(e: RegionEmitter, extent: str, most: int) -> str:
    if most > 2**63 - 1:
        return extent
    if extent.isdigit():
        return str(min(int(extent), most))
    return e.w.intrinsic("llvm.umin.i64", "i64", [("i64", extent), ("i64", str(most))])
