"""Atomic updates that neighbouring threads combine: which ones at once, and what tells their elements apart.

Threads that run side by side agree on the elements of several updates with one comparison of addresses; code generators
ask here which updates belong together, and emit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ..ir.ops import ATOMIC
from ..ir.scalar_ops import CONST
from ..ir.structure import Op, Place, Value

__all__ = ["addresses_to_compare", "indices_of", "run_of_updates"]

_MOST: Final = 8
"""Updates that are combined at once: their sums are in registers at the same time."""
_SMALL: Final = 1 << 32
"""The bytes of memory within which 32 bits of an address tell elements apart."""


def run_of_updates(op: Op, ops: Sequence[Op], joins: Callable[[Op], bool]) -> tuple[list[Op], list[Op]]:
    """The updates that follow `op` in `ops` with nothing but constants between, itself the first; and those constants.

    `joins` tells which atomic updates may be combined with it.
    """
    run, constants = list[Op](), list[Op]()
    for other in ops[ops.index(op) :]:
        if other.opdef is CONST:
            constants.append(other)
        elif len(run) < _MOST and other.opdef is ATOMIC and joins(other):
            run.append(other)
        else:
            break
    return run, constants


def indices_of(op: Op) -> Sequence[Value]:
    """The indices of the element that an atomic update changes."""
    return op.operands[: op.attrs["place"].rank]


def addresses_to_compare(run: Sequence[Op], is_constant: Callable[[Value], bool]) -> Iterator[tuple[int, bool]]:
    """Which updates' addresses threads compare to know that all of them mean the same elements.

    Addresses of one place that differ by constants are compared once.

    Yields:
        The position of an update in the run, and whether 32 bits of its address do not tell its elements apart.
    """
    seen = set[tuple[str, tuple[Value | None, ...]]]()
    for number, op in enumerate(run):
        place: Place = op.attrs["place"]
        key = place.name, tuple(None if is_constant(index) else index for index in indices_of(op))
        if key not in seen:
            seen.add(key)
            yield number, _size(place) > _SMALL


def _size(place: Place) -> int:
    """The bytes of a place; where an extent is not known, more than 32 bits can tell apart."""
    size = place.dtype.size
    for extent in place.shape:
        size *= 2 * _SMALL if extent is None else extent
    return size
