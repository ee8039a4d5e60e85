"""What the threads of a subgroup, which run side by side, do together."""

from __future__ import annotations

from collections.abc import Sequence

from adstack.analysis.reductions import neutral
from adstack.ir.types import u1

from .assembly.code import Code, Num, unsigned
from .assembly.opcodes import Capability
from .assembly.opcodes import Op as Spv

__all__ = ["TOGETHER", "agree", "combined", "elected"]

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
    c, dtype = mine.c, mine.dtype
    _need(c)
    scope, reduce = c.m.word(_SUBGROUP), 0
    total = c.let(TOGETHER[kind, dtype.name], dtype, scope, reduce, mine.id)
    if not dtype.is_float:
        return total
    # devices may begin with 0, which turns a sum of nothing but -0 into 0
    nothing, bits = c.const(neutral(kind, dtype), dtype), unsigned(dtype)
    only = c.let(Spv.GroupNonUniformAll, u1, scope, mine.bits(bits).eq(nothing.bits(bits)).id)
    return only.choose(nothing, total)


def elected(there: Num) -> Num:
    """Whether it is this thread that speaks for those that are here, and something is there for one of them."""
    c = there.c
    _need(c)
    scope = c.m.word(_SUBGROUP)
    return c.let(Spv.GroupNonUniformAny, u1, scope, there.id) & c.let(Spv.GroupNonUniformElect, u1, scope)


def agree(condition: Num, words: Sequence[Num]) -> Num:
    """Whether a condition holds in all threads that are here, and each has the same words (u32)."""
    c = condition.c
    _need(c)
    scope = c.m.word(_SUBGROUP)
    agreed = c.let(Spv.GroupNonUniformAll, u1, scope, condition.id)
    for word in words:
        agreed = agreed & c.let(Spv.GroupNonUniformAllEqual, u1, scope, word.id)
    return agreed


def _need(c: Code) -> None:
    for what in ("", "Vote", "Arithmetic"):
        c.m.need(Capability[f"GroupNonUniform{what}"])
