"""Loop versioning: which loops may run in a fast version first, and where that must check whether it was right.

The fast version of a loop leaves out the cold paths of math functions (see `cold_paths`) and notes for each call
whether it should have taken one; it may read another element where a load is out of bounds, and notes that, too; and
what every iteration would compare with the same number is compared in front of it. Until that is checked it may compute
with numbers that mean nothing. So it must not touch memory at an index that depends on such a number, nor do what could
not be done again: where the check fails, the full loop repeats the iteration. Adstacks may be written: the iteration
that is repeated writes the same slots.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Set
from dataclasses import dataclass
from typing import Final

from ..ir.ops import (
    ARRAY_ALLOC,
    ARRAY_LOAD,
    ASSERT,
    CALL,
    FOR,
    IF,
    LOAD,
    SHAPE,
    STACK_ALLOCA,
    STACK_CLAIM,
    STACK_GET,
    STACK_PUT,
    WHILE,
    YIELD,
)
from ..ir.structure import Op, Region, Value
from .cold_paths import calls_cold_path

__all__ = ["FastLoop", "fast_loop"]

_UNROLLED: Final = 4
"""Iterations of the original loop in one of the fast version."""
_UNROLLED_SIZE: Final = 100
"""A body that counts for more ops than this is not unrolled."""
_LARGEST_SIZE: Final = 400
"""A body that counts for more has no fast version."""
_CALL_SIZE: Final = 25
"""How many ops a call of a math function counts for."""
_READS: Final = (LOAD, ARRAY_LOAD)
_REPEATABLE: Final = (*_READS, CALL, SHAPE, STACK_PUT, STACK_GET, IF, YIELD, ASSERT)
_NOT_INSIDE: Final = (FOR, WHILE, STACK_ALLOCA, STACK_CLAIM, ARRAY_ALLOC)
"""What the body of a loop with a fast version does not contain."""


@dataclass(frozen=True)
class FastLoop:
    """The fast version of a loop.

    Attributes:
        unroll: how many iterations of the original loop it runs at once.
        check: the position, among the ops of the last of these iterations, in front of which it checks whether there
            was a miss: a call should have taken a cold path, or a load was out of bounds; None if there are no such. It
            is in front of all updates of memory: those that stand beside each other can be emitted together.
        clamped: the loads that read another element where they are out of bounds.
    """

    unroll: int
    check: int | None
    clamped: Set[Op] = frozenset()


def fast_loop(
    loop: Op, counted: Container[Value], *, unguarded: bool = False, clamped: Set[Op] = frozenset()
) -> FastLoop | None:
    """The fast version of a `for`; None if there is none, or if it would not gain.

    Args:
        loop: the `for`.
        counted: the adstacks whose capacity is compared once before the loop instead of in each iteration.
        unguarded: whether there are indices that are compared with extents once before the loop instead.
        clamped: the loads that may read another element where they are out of bounds.
    """
    (body,) = loop.regions
    ops = list(body.walk())
    size = len(ops) + _CALL_SIZE * sum(o.opdef is CALL for o in ops)
    if size > _LARGEST_SIZE or any(o.opdef in _NOT_INSIDE for o in ops):
        return None
    unroll = _UNROLLED if size <= _UNROLLED_SIZE else 1
    if clamped and unroll > 1 and _first_hazard(body, unroll, clamped) is None:
        return FastLoop(unroll, len(body.ops) - 1, clamped)
    if not any(calls_cold_path(o) for o in ops):
        if any(o.operands and o.operands[0] in counted for o in ops):
            return FastLoop(unroll, None)
        return FastLoop(1, None) if unguarded else None
    hazard = _first_hazard(body, unroll)
    if hazard is None:
        return FastLoop(unroll, len(body.ops) - 1)
    last_call = max(k for k, o in enumerate(body.ops) if any(calls_cold_path(inner) for inner in _with_inner(o)))
    hazard = _first_hazard(body, 1)
    return FastLoop(1, last_call + 1) if hazard is None or last_call < hazard else None


def _first_hazard(body: Region, unroll: int, clamped: Set[Op] = frozenset()) -> int | None:
    """The position of the first op that must not run before the check; None if there is none."""
    unsure = _unsure_values(body, unroll, clamped)
    for k, op in enumerate(body.ops):
        inner = [o for o in _with_inner(op) if o not in clamped]
        if any(_is_hazard(o, unsure) for o in inner):
            return k
        if op.regions and op.operands[0] in unsure and any(o.opdef in _READS for o in inner):
            return k
    return None


def _is_hazard(op: Op, unsure: set[Value]) -> bool:
    """Whether an op has an effect that can't be repeated, or reads memory at an index that may mean nothing."""
    if op.opdef.pure:
        return False
    return op.opdef not in _REPEATABLE or (op.opdef in _READS and not unsure.isdisjoint(op.operands))


def _with_inner(op: Op) -> Iterator[Op]:
    yield op
    for region in op.regions:
        yield from region.walk()


def _unsure_values(body: Region, unroll: int, clamped: Set[Op]) -> set[Value]:
    """The values that may mean nothing before the check: what depends on a call with a cold path, or such a load."""
    unsure: set[Value] = set()
    before = -1
    while len(unsure) > before:
        before = len(unsure)
        _propagate(body, unsure, clamped)
        if unroll > 1:
            carried = zip(body.args[1:], body.terminator.operands, strict=True)
            unsure.update(arg for arg, value in carried if value in unsure)
    return unsure


def _propagate(region: Region, unsure: set[Value], clamped: Set[Op]) -> None:
    """Add the results of what takes an unsure value, once through a region."""
    for op in region.ops:
        for inner in op.regions:
            _propagate(inner, unsure, clamped)
        yielded = (v for inner in op.regions for v in inner.terminator.operands)
        missed = op in clamped or calls_cold_path(op)
        if missed or not unsure.isdisjoint(op.operands) or not unsure.isdisjoint(yielded):
            unsure.update(op.results)
