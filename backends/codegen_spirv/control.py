"""if, for and while: SPIR-V is structured as the IR is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from adstack.ir.ops import FOR, IF, WHILE
from adstack.ir.structure import Op, Region, Value
from adstack.ir.types import i64, u32, u64

from .assembly.code import DONT_UNROLL, Num, unsigned
from .hoisted_checks import hoist_checks
from .moving import Moving
from .region import RegionEmitter, handles
from .teams import TeamCode
from .unguarded import unguarded_first

__all__ = ["UNROLLED"]

UNROLLED: Final = 4
"""How many iterations of a short loop are written out."""
_WORD: Final = 32
"""Bits of the narrowest integers that count iterations of an unrolled loop."""
_SHORT: Final = 40
"""How many operations a short loop has at most."""


def _bind(e: RegionEmitter, values: Sequence[Value], numbers: Sequence[Num]) -> None:
    for value, number in zip(values, numbers, strict=True):
        e.bind(value, number)


@handles(IF)
def _if(e: RegionEmitter, op: Op) -> None:
    then, orelse = op.regions
    condition, fast = e.get(op.operands[0]), e.c.fast
    if fast is not None and fast.builtin:
        fast.expect(condition)
        _bind(e, op.results, e.run(then))
    else:
        _bind(e, op.results, e.c.either(condition, lambda: e.run(then), lambda: e.run(orelse)))


@handles(FOR)
def _for(e: RegionEmitter, op: Op) -> None:
    (body,) = op.regions
    if e.team is not None and "team" in op.attrs:
        _threads(e, op, e.team)
        return
    low, high, *start = e.all(op.operands)
    hoisted = hoist_checks(e, op, low, high)
    # 32 bits, where they suffice: to carry 64 from iteration to iteration costs twice as much
    few = low.dtype is i64 and e.few.issuperset(op.operands[:2])
    first, end = (e.c.const(0, u32), (low < high).choose(high - low, 0).resize(u32)) if few else (low, high)

    def iteration(carried: Sequence[Num]) -> list[Num]:
        count, *values = carried
        if hoisted:
            number = count if few else count - low
            e.iterations[id(body)] = number.signed(unsigned(number.dtype)).resize(u64)
        _bind(e, body.args, [low + count.resize(i64) if few else count, *values])
        with e.apart():
            following = e.run(body)
        return [count + 1, *following]

    def run() -> Sequence[Num]:
        carried: Sequence[Num] = [first, *start]
        if first.dtype.bits >= _WORD and _is_short(e, body):
            carried = _unrolled(e, Moving(e, body, low), carried, end, iteration)
        else:
            carried = e.c.loop(carried, lambda carried: (carried[0] < end, carried), iteration)
        return carried[1:]

    _bind(e, op.results, unguarded_first(e, op, low, high, run))


def _unrolled(
    e: RegionEmitter,
    moving: Moving,
    carried: Sequence[Num],
    end: Num,
    iteration: Callable[[Sequence[Num]], Sequence[Num]],
) -> Sequence[Num]:
    """A loop of which several iterations are written out one behind the other, and one for those that are left.

    Args:
        e: emits them.
        moving: the addresses that both carry, behind what the loop carries.
        carried: the number of the first iteration, and what else the loop carries.
        end: the number of the iteration behind the last one.
        iteration: emits one.
    """
    first, many = carried[0], len(moving.start)
    trips = (first < end).choose(end - first, 0).signed(unsigned(first.dtype))
    last = first + (trips & -UNROLLED).signed(first.dtype)

    def run(iterations: int) -> Callable[[Sequence[Num]], Sequence[Num]]:
        def body(carried: Sequence[Num]) -> Sequence[Num]:
            numbers, values = carried[:many], carried[many:]
            for ahead in range(iterations):
                moving.show(numbers, ahead)
                values = iteration(values)
            e.moving.clear()
            return [*moving.after(numbers, iterations), *values]

        return body

    carried = [*moving.start, *carried]
    carried = e.c.loop(carried, lambda carried: (carried[many].differs(last), carried), run(UNROLLED))
    return e.c.loop(carried, lambda carried: (carried[many] < end, carried), run(1))[many:]


def _is_short(e: RegionEmitter, body: Region) -> bool:
    """Whether several iterations of a loop are written out one behind the other, on devices of their own.

    What one of them loads does not wait for what another has computed; drivers unroll few loops by themselves.
    """
    traits, ops = e.m.traits, body.ops
    return traits.dedicated and len(ops) <= _SHORT and not any(op.regions for op in ops)


def _threads(e: RegionEmitter, op: Op, team: TeamCode) -> None:
    """What each thread of a workgroup does."""
    (body,) = op.regions
    team.wait(op)
    count = e.get(op.operands[1])
    e.bind(body.args[0], team.thread.signed(count.dtype))

    def run() -> None:
        e.run(body)

    e.c.when(e.get(body.args[0]) < count, run)


@handles(WHILE)
def _while(e: RegionEmitter, op: Op) -> None:
    test, body = op.regions

    def check(carried: Sequence[Num]) -> tuple[Num, Sequence[Num]]:
        _bind(e, test.args, carried)
        with e.apart():
            condition, *handed = e.run(test)
        return condition, handed

    def iteration(handed: Sequence[Num]) -> list[Num]:
        _bind(e, body.args, handed)
        return e.run(body)

    # Mesa counts the trips of a loop that starts from constants, and does not see that its counter may wrap
    _bind(e, op.results, e.c.loop(e.all(op.operands), check, iteration, DONT_UNROLL))
