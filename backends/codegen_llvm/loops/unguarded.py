"""Guards that the fast version of a loop does without.

An index that changes by the same number in every iteration is in bounds in all iterations from the first on up to one,
which is computed in front of the loop. LLVM does the same to checks that leave the loop (`irce`, inductive range check
elimination), and does not look at others. A load at any other index reads the first element of its place where the
index is out of bounds, and the iteration counts as one that should have taken a cold path: the full loop repeats it.
Without the branches of guards, loads of several iterations are on their way at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

from adstack.analysis.induction import Induction
from adstack.ir.ops import LOAD
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
        clamped: the loads with other indices that a guard is for: where they are out of bounds, they read the first
            element of their place.
    """

    in_bounds: Mapping[Op, Sequence[int]]
    limits: Sequence[tuple[Value, Op, int, int]]
    clamped: Set[Op]

    def below(self, e: RegionEmitter) -> Iterable[tuple[Value, str]]:
        """Each of the induction values, with what it is to be below, as an i64 in front of the loop."""
        extents = ((index, _least(e, extents_of(e, op)[axis], most)) for index, op, axis, most in self.limits)
        return dict.fromkeys(extents)

    def extents(self, e: RegionEmitter) -> Iterable[str]:
        """What must not be 0 for a first element to be there, as an i64 in front of the loop."""
        unknown = ((op, axis) for op in self.clamped for axis, n in enumerate(op.attrs["place"].shape) if n is None)
        return dict.fromkeys(e.extent(op.attrs["place"], axis, 1) for op, axis in unknown)


def unguarded(e: RegionEmitter, loop: Op) -> Unguarded:
    """The guards of a `for` that its fast version does without."""
    induction = Induction(loop.regions[0], NARROWEST)
    in_bounds: dict[Op, list[int]] = {}
    limits: list[tuple[Value, Op, int, int]] = []
    clamped = set[Op]()
    for op in loop.regions[0].walk():
        for axis in guarded_axes(e, op):
            index, most = induction.widened(indices_of(op)[axis])
            if induction.step(index) is not None:
                in_bounds.setdefault(op, []).append(axis)
                limits.append((index, op, axis, most))
            elif op.opdef is LOAD:
                clamped.add(op)
    return Unguarded(in_bounds, limits, clamped)


def _least(e: RegionEmitter, extent: str, most: int) -> str:
    if most > 2**63 - 1:
        return extent
    if extent.isdigit():
        return str(min(int(extent), most))
    return e.w.intrinsic("llvm.umin.i64", "i64", [("i64", extent), ("i64", str(most))])
