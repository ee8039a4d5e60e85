"""What the threads of a subgroup, which run side by side, do together."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence

from adstack.analysis.reductions import neutral
from adstack.ir.types import u1, u32

from .assembly.code import Code, Num, unsigned
from .assembly.opcodes import Capability
from .assembly.opcodes import Op as Spv

__all__ = ["TOGETHER", "agree", "all_combined", "anywhere", "combined", "elected"]

_SUBGROUP = 3
"""The scope of threads that run side by side."""
TOGETHER = {
    ("add", "f32"): Spv.GroupNonUniformFAdd,
    ("add", "f64"): Spv.GroupNonUniformFAdd,
    ("add", "i32"): Spv.GroupNonUniformIAdd,
    ("add", "u32"): Spv.GroupNonUniformIAdd,
    ("min", "i32"): Spv.GroupNonUniformSMin,
    ("min", "u32"): Spv.GroupNonUniformUMin,
    ("max", "i32"): Spv.GroupNonUniformSMax,
    ("max", "u32"): Spv.GroupNonUniformUMax,
    ("and", "i32"): Spv.GroupNonUniformBitwiseAnd,
    ("and", "u32"): Spv.GroupNonUniformBitwiseAnd,
    ("or", "i32"): Spv.GroupNonUniformBitwiseOr,
    ("or", "u32"): Spv.GroupNonUniformBitwiseOr,
    ("xor", "i32"): Spv.GroupNonUniformBitwiseXor,
    ("xor", "u32"): Spv.GroupNonUniformBitwiseXor,
}
"""What subgroups combine. Not the least and greatest of floats: devices may take a NaN for either."""


def combined(kind: str, mine: Num) -> Num:
    """What the threads of a subgroup that are here have together."""
    return all_combined([(kind, mine)])[0]


def all_combined(mine: Sequence[tuple[str, Num]]) -> list[Num]:
    """Several values, by the kinds of their updates, each combined over the threads of a subgroup that are here.

    Devices may begin with 0, which turns a sum of nothing but -0 into 0. So where a sum is 0 they are asked whether it
    is one, behind the sums of all: exchanges for one need not wait for those for another.
    """
    c = mine[0][1].c
    _need(c)
    scope, reduce = c.m.word(_SUBGROUP), 0
    totals = [c.let(TOGETHER[kind, x.dtype.name], x.dtype, scope, reduce, x.id) for kind, x in mine]
    zeros = [_raw(total).eq(0) for total in totals if total.dtype.is_float]
    if not zeros:
        return totals

    def asked() -> list[Num]:
        return [_or_nothing(kind, x, total) for (kind, x), total in zip(mine, totals, strict=True)]

    return c.either(functools.reduce(operator.or_, zeros), asked, lambda: totals)


def _or_nothing(kind: str, mine: Num, total: Num) -> Num:
    """A total, or -0 if no thread has anything else; of integers the total."""
    c, dtype = total.c, total.dtype
    if not dtype.is_float:
        return total
    nothing = c.const(neutral(kind, dtype), dtype)
    only = c.let(Spv.GroupNonUniformAll, u1, c.m.word(_SUBGROUP), _raw(mine).eq(_raw(nothing)).id)
    return only.choose(nothing, total)


def _raw(x: Num) -> Num:
    return x.bits(unsigned(x.dtype))


def elected(c: Code) -> Num:
    """Whether it is this thread that speaks for those that are here."""
    _need(c)
    return c.let(Spv.GroupNonUniformElect, u1, c.m.word(_SUBGROUP))


def anywhere(there: Num) -> Num:
    """Whether a condition holds in one of the threads that are here."""
    c = there.c
    _need(c)
    return c.let(Spv.GroupNonUniformAny, u1, c.m.word(_SUBGROUP), there.id)


def agree(condition: Num, words: Sequence[Num]) -> Num:
    """Whether a condition holds in all threads that are here, and each has the same words (u32).

    Each compares its words with those of the first one, which is quicker than to ask whether they are all equal.
    """
    c = condition.c
    _need(c)
    scope, agreed = c.m.word(_SUBGROUP), condition
    for word in words:
        agreed = agreed & word.eq(c.let(Spv.GroupNonUniformBroadcastFirst, u32, scope, word.id))
    return c.let(Spv.GroupNonUniformAll, u1, scope, agreed.id)


def _need(c: Code) -> None:
    for what in ("", "Vote", "Arithmetic", "Ballot"):
        c.m.need(Capability[f"GroupNonUniform{what}"])
