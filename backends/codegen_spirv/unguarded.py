"""Two versions of a serial loop: one without the guards of indices that change by the same number in every iteration.

Such an index is in bounds in all iterations if it is in the first one and in the last one. That is looked at in front
of the loop, and the version with guards runs where it is not so. Drivers do not move comparisons out of loops whose
bodies report what is outside. See `codegen_llvm.loops.unguarded`, which also ends the version without guards where
other indices begin to be outside. Where the device is a processor there is one version alone: it has to be compiled
while the program waits, and its branches cost little.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from adstack.analysis.induction import Induction
from adstack.ir.ops import ARRAY_ALLOC, FOR, STACK_ALLOCA, STACK_CLAIM, WHILE
from adstack.ir.structure import Op
from adstack.ir.types import i64

from .assembly.code import Num
from .guards import extents_of, guarded_axes, indices_of
from .hoisted_checks import value_at
from .region import RegionEmitter

__all__ = ["unguarded_first"]

_NARROWEST: Final = 32
"""Bits of the narrowest integers that are followed: they hold the numbers that they are compared with."""
_LARGEST: Final = 150
"""A loop of more operations has one version."""
_NOT_INSIDE: Final = (FOR, WHILE, STACK_ALLOCA, STACK_CLAIM, ARRAY_ALLOC)
"""What a loop with two versions does not contain."""


class _Guard(NamedTuple):
    """The guard of an axis of an access, whose index changes by the same number in every iteration."""

    access: Op
    axis: int


def unguarded_first(e: RegionEmitter, loop: Op, low: Num, high: Num, run: Callable[[], Sequence[Num]]) -> Sequence[Num]:
    """Emit a loop; twice where one version can do without guards.

    Args:
        e: emits it.
        loop: the `for`.
        low: where it begins.
        high: where it ends; itself not included.
        run: emits the loop.

    Returns:
        What `run` gives.
    """
    induction = Induction(loop.regions[0], _NARROWEST)
    guards = _guards(e, loop, induction)
    if not guards:
        return run()
    holds = dict.fromkeys(_holds(e, induction, guard, low, high) for guard in guards)
    outer = e.frame.in_bounds
    inside = dict(outer)
    for op, axis in guards:
        inside[op] = (*inside.get(op, ()), axis)

    def without() -> Sequence[Num]:
        e.frame.in_bounds = inside
        with e.apart():
            results = run()
        e.frame.in_bounds = outer
        return results

    def with_guards() -> Sequence[Num]:
        with e.apart():
            return run()

    return e.c.either(functools.reduce(operator.and_, holds), without, with_guards)


def _guards(e: RegionEmitter, loop: Op, induction: Induction) -> list[_Guard]:
    """The guards that can be looked at in front of a loop; none where it has one version."""
    if e.task is None or e.frame.debug or e.team is not None or not e.m.traits.dedicated:
        return []
    ops = list(loop.regions[0].walk())
    if len(ops) > _LARGEST or any(op.opdef in _NOT_INSIDE for op in ops):
        return []
    return [_Guard(op, axis) for op in ops for axis in _followed(e, op, induction)]


def _followed(e: RegionEmitter, op: Op, induction: Induction) -> Iterator[int]:
    for axis in guarded_axes(e, op):
        if induction.step(induction.widened(indices_of(op)[axis])[0]) is not None:
            yield axis


def _holds(e: RegionEmitter, induction: Induction, guard: _Guard, low: Num, high: Num) -> Num:
    """Whether an index is in bounds in all iterations; if there are none it does not matter what this is."""
    op, axis = guard
    index, most = induction.widened(indices_of(op)[axis])
    extent, step = extents_of(e, op)[axis], induction.step(index)
    first, last = (value_at(e, induction, index, end).resize(i64) for end in (low, high - 1))
    least, greatest = (last, first) if step == -1 else (first, last)
    # where a number wraps around on the way, the one that should be the greater one is not
    fits = (least >= 0) & (least <= greatest) & (greatest < extent)
    return fits if most > int(i64.max) else fits & (greatest < most)
