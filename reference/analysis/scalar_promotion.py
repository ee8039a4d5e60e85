"""Scalar promotion: elements of memory that a loop may keep in a register while it runs, as LLVM's LICM does."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.scalar_ops import CONST
from ..ir.structure import Op, Place, Region
from .exclusivity import by_place, may_overlap

__all__ = ["promotable_updates"]


def promotable_updates(body: Region, is_plain: Callable[[Op], bool]) -> list[list[Op]]:
    """The updates of a loop's body that may go to a register, one list for each element.

    They are the only accesses to their place, have the same loop-invariant index, stand at the top level of the body,
    and their place overlaps no other that the body touches.

    Args:
        body: of a sequential loop.
        is_plain: whether an update always runs, needs no guard, and touches an element that no other thread touches.
    """
    accesses = by_place(body)
    varying = {v for op in body.walk() for v in op.results if op.opdef is not CONST}
    varying.update(arg for op in body.walk() for region in op.regions for arg in region.args)
    varying.update(body.args)
    promotable = []
    for name, ops in accesses.items():
        place: Place = ops[0].attrs["place"]
        indices = [op.operands[: place.rank] for op in ops]
        if (
            all(is_plain(op) and op in body.ops for op in ops)
            and all(index == indices[0] for index in indices)
            and varying.isdisjoint(indices[0])
            and not any(may_overlap(place, o[0].attrs["place"]) for n, o in accesses.items() if n != name)
        ):
            promotable.append(ops)
    return promotable
