"""Quotients of f32: rounded as IEEE 754 asks, by the steps of NVIDIA's own assembler, and zero is a usual dividend.

`div.rn.f32` becomes a reciprocal (`rcp.approx`, with an error of at most one unit in the last place), a Newton step
that makes it nearly exact, and a correction of the quotient by its exact remainder (Markstein, "Computation of
elementary functions on the IBM RISC System/6000 processor", 1990), beside a subroutine for operands for which an
intermediate result might be subnormal or overflow. The assembler calls the subroutine for a dividend of zero, too, as
adjoints often are, and it makes a reciprocal for every quotient. Here the same steps are written out: zero takes the
usual path, and quotients by one divisor share its reciprocal, which LLVM and the assembler compute once.

With |b| in [2^-24, 2^25), and a = 0 or |a| in [2^-100, 2^101), no intermediate result is subnormal, and the remainder
is exact: it is a multiple of 2^-149. A quotient of zero is the first product, which has the right sign; the correction
would lose it. Where all digits of b are ones the Newton step mends nothing: there `rcp.approx` is right by itself, on
which NVIDIA's sequence relies, too.
"""

from __future__ import annotations

from typing import Final

from adstack.backends.codegen_llvm.function.blocks import BlockWriter
from adstack.backends.codegen_llvm.text.writer import Writer

__all__ = ["quotient"]

_BIAS, _DIGITS = 127, 23
_DIVISORS: Final = (-24, 24)
_DIVIDENDS: Final = (-100, 100)
"""Exponents of the least and the greatest operands that take the usual path."""


def quotient(e: BlockWriter, a: str, b: str) -> str:
    """The quotient of two f32."""
    w = e.w
    zero = w.let(f"fcmp oeq float {a}, 0.0")
    fast = _usual(w, a, b, zero)
    fine = w.let(f"or i1 {zero}, {_is_between(w, a, *_DIVIDENDS)}")
    usual = w.let(f"and i1 {fine}, {_is_between(w, b, *_DIVISORS)}")
    rare, after, before = e.label("rare"), e.label("divided"), e.block
    e.split(w.let(f"xor i1 {usual}, true"), rare, after, unlikely=True)
    e.enter(rare)
    slow = w.let(f"fdiv float {a}, {b}")
    e.jump(after)
    e.enter(after)
    return w.let(f"phi float [ {fast}, %{before} ], [ {slow}, %{rare} ]")


def _usual(w: Writer, a: str, b: str, zero: str) -> str:
    """The quotient where no intermediate result is subnormal or too large; `zero`: whether it is zero."""
    about = w.intrinsic("llvm.nvvm.rcp.approx.ftz.f", "float", [("float", b)])
    less = w.let(f"fneg float {b}")
    reciprocal = _fma(w, about, _fma(w, less, about, "1.0"), about)
    product = w.let(f"fmul float {a}, {reciprocal}")
    corrected = _fma(w, _fma(w, less, product, a), reciprocal, product)
    return w.let(f"select i1 {zero}, float {product}, float {corrected}")


def _fma(w: Writer, a: str, b: str, c: str) -> str:
    return w.intrinsic("llvm.fma.f32", "float", [("float", a), ("float", b), ("float", c)])


def _is_between(w: Writer, x: str, least: int, most: int) -> str:
    """Whether a magnitude is at least 2^least and below 2^(most + 1)."""
    magnitude = w.let(f"and i32 {w.let(f'bitcast float {x} to i32')}, {(1 << 31) - 1}")
    above = w.let(f"sub i32 {magnitude}, {least + _BIAS << _DIGITS}")
    return w.let(f"icmp ult i32 {above}, {most - least + 1 << _DIGITS}")
