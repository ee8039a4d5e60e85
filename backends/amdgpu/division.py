"""Quotients of f32 and f64: LLVM's, and mended where all digits of the divisor are ones.

LLVM improves a reciprocal of the hardware's by Newton steps, and the quotient by its exact remainder. That rounds
correctly, but for divisors of which all digits are ones: there the steps may leave the reciprocal a unit too small
(Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990), and the quotient with
it. AMD says how coarse its reciprocals are, and not that they are right there.

Such a divisor is 2^k (1 - 2^-n), n being the number of digits, so that the quotient of a dividend with the significand
m, 1 <= m < 2, has the value m (1 + 2^-n + 2^-2n + ...). It lies more than half a unit and no more than a unit above m:
what is nearest is the next number after m. So its digits are known, and LLVM's quotient, being a unit off at most,
becomes the number next to it that has them. Quotients that are subnormal are LLVM's: they have fewer digits, and it
rounds a sum that is exact enough for these.
"""

from __future__ import annotations

from typing import Final

from adstack.backends.codegen_llvm.function.blocks import BlockWriter
from adstack.backends.codegen_llvm.text.writer import Writer
from adstack.ir.types import DType, f32, f64

__all__ = ["quotient"]

_KINDS: Final = {f32: ("float", 32, 23), f64: ("double", 64, 52)}
"""LLVM's type, its bits, and how many of them are digits."""


def quotient(e: BlockWriter, dtype: DType, a: str, b: str) -> str | None:
    """The quotient of two f32 or f64, rounded as IEEE 754 asks; None for other types, which LLVM divides in f32."""
    if dtype not in _KINDS:
        return None
    ty, size, digits = _KINDS[dtype]
    w, word, ones = e.w, f"i{size}", (1 << digits) - 1
    first = w.let(f"fdiv {ty} {a}, {b}")
    low = w.let(f"and {word} {w.let(f'bitcast {ty} {b} to {word}')}, {ones}")
    rare, after, before = e.label("rare"), e.label("divided"), e.block
    e.split(w.let(f"icmp eq {word} {low}, {ones}"), rare, after, unlikely=True)
    e.enter(rare)
    raw = w.let(f"bitcast {ty} {first} to {word}")
    # The dividend's digits, also of a subnormal one.
    scaled = w.let(f"fmul {ty} {a}, {float(1 << digits + 2)}")
    small = w.let(f"xor i1 {_is_normal(w, ty, size, digits, a)}, true")
    dividend = w.let(f"bitcast {ty} {w.let(f'select i1 {small}, {ty} {scaled}, {ty} {a}')} to {word}")
    # By how much the last digit is off: the difference in these digits, with its sign.
    more = w.let(f"sub {word} {w.let(f'add {word} {dividend}, 1')}, {raw}")
    off = w.let(f"ashr {word} {w.let(f'shl {word} {more}, {size - digits}')}, {size - digits}")
    normal = w.let(f"and i1 {_is_normal(w, ty, size, digits, first)}, {_is_normal(w, ty, size, digits, b)}")
    by = w.let(f"select i1 {normal}, {word} {off}, {word} 0")
    mended = w.let(f"bitcast {word} {w.let(f'add {word} {raw}, {by}')} to {ty}")
    e.jump(after)
    e.enter(after)
    return w.let(f"phi {ty} [ {first}, %{before} ], [ {mended}, %{rare} ]")


def _is_normal(w: Writer, ty: str, size: int, digits: int, x: str) -> str:
    """Whether a number is neither zero nor subnormal, infinite or NaN."""
    word = f"i{size}"
    magnitude = w.let(f"and {word} {w.let(f'bitcast {ty} {x} to {word}')}, {(1 << size - 1) - 1}")
    infinity = (1 << size - 1) - (1 << digits)
    above = w.let(f"sub {word} {magnitude}, {1 << digits}")
    return w.let(f"icmp ult {word} {above}, {infinity - (1 << digits)}")
