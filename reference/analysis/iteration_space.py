"""The iteration space of a parallel loop: what is known of its extents, and in which order its lanes should run it."""

from __future__ import annotations

from collections.abc import Sequence

from adstack.ir.structure import Op, Region, Value

from .manager import Analyses
from .strides import Strides
from .uniformity import varying_in_row, varying_values

__all__ = ["bound_ops", "known_extent", "row_length", "stays_in_rows"]


def known_extent(loop: Op, header: Sequence[Op]) -> int | None:
    """How many iterations a `parallel_for` has, if constants of its header say so."""
    return _product(loop.operands, header)


def row_length(loop: Op, header: Sequence[Op]) -> int | None:
    """How many iterations the last axis of a `parallel_for` has, if constants of its header say so."""
    return _product(loop.operands[-2:], header)


def bound_ops(loop: Op, header: Sequence[Op]) -> list[Op]:
    """The ops of the header that the bounds of a loop depend on, in order."""
    needed, ops = {*loop.operands}, []
    for op in reversed(header):
        if not needed.isdisjoint(op.results):
            needed.update(op.operands, (v for region in op.regions for o in region.walk() for v in o.operands))
            ops.append(op)
    return ops[::-1]


def stays_in_rows(loop: Op, header: Sequence[Op], lanes: int, analyses: Analyses) -> bool:
    """Whether lanes should be neighbours in a row of the last axis, rather than run on into the next row.

    Within a row all other indices are uniform, so an access is one vector where only the last index counts. But the end
    of every row leaves lanes without work.

    Args:
        loop: a `parallel_for`.
        header: the ops in front of it.
        lanes: how many iterations run side by side.
        analyses: asked for which values vary.
    """
    body = loop.regions[0]
    if lanes == 1 or len(body.args) == 1:
        return False
    length = row_length(loop, header)
    if length is not None and 2 * length < lanes * -(-length // lanes):
        return False
    if length is not None and length < lanes:
        return True
    across, along = analyses.get(varying_values, body), analyses.get(varying_in_row, body)
    return _vectors(body, Strides(loop, along), along) > _vectors(body, Strides(loop, across), across)


def _product(bounds: Sequence[Value], header: Sequence[Op]) -> int | None:
    """The extents between pairs of bounds, multiplied; None if one is not constant."""
    numbers = {op.result: int(op.attrs["value"]) for op in header if op.name == "const" and op.result.dtype.is_integer}
    total = 1
    for lo, hi in zip(bounds[::2], bounds[1::2], strict=True):
        if lo not in numbers or hi not in numbers:
            return None
        total *= max(0, numbers[hi] - numbers[lo])
    return total


def _vectors(body: Region, strides: Strides, varying: set[Value]) -> int:
    """How many accesses touch one element, or neighbouring ones, in all lanes."""
    accesses = [(op.attrs["place"], op.operands) for op in body.walk() if op.name in ("load", "store", "atomic")]
    indices = [(place, operands[: place.rank]) for place, operands in accesses]
    return sum(varying.isdisjoint(index) or strides.contiguous(place, index) for place, index in indices)
