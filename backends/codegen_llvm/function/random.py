"""Random numbers: the generator of `adstack.interpreter.philox`, to the bit."""

from __future__ import annotations

from adstack.ir.ops import RANDOM
from adstack.ir.philox import FRACTION_BITS, MULTIPLIERS, ROUNDS, WEYL
from adstack.ir.structure import Op
from adstack.ir.types import DType, f32, f64, i64, u64

from ..text.writer import type_text
from .region import RegionEmitter, handles

__all__: list[str] = []


@handles(RANDOM)
def _random(e: RegionEmitter, op: Op) -> None:
    """One block of Philox4x32-10 per number drawn."""
    number = _next_number(e)
    low, high = _block(e, number)
    e.bind(op.result, _value(e, op.result.dtype, low, high))


def _next_number(e: RegionEmitter) -> str:
    """How many numbers each lane has drawn so far; the counters of running lanes are incremented."""
    ty = type_text(i64, e.lanes)
    at = e.frame.counter_of(e.lanes)
    old = e.w.let(f"load {ty}, ptr {at}, align 64")
    new = e.w.let(f"add {ty} {old}, {e.w.constant(1, i64, e.lanes)}")
    if e.mask is not None:
        new = e.choose(e.mask, new, old, i64)
    e.w.do(f"store {ty} {new}, ptr {at}, align 64")
    return old


def _block(e: RegionEmitter, number: str) -> tuple[str, str]:
    """The first two words of the block, each in 64 bits."""
    w, lanes = e.w, e.lanes
    ty = type_text(u64, lanes)
    mask, half = w.constant(0xFFFFFFFF, u64, lanes), w.constant(32, u64, lanes)
    iteration = e.splat(e.frame.iteration, i64)
    if lanes > 1:
        numbers = "<" + ", ".join(f"i64 {k}" for k in range(lanes)) + ">"
        iteration = w.let(f"add {ty} {iteration}, {numbers}")
    c0, c1 = (w.let(f"and {ty} {x}, {mask}") for x in (number, iteration))
    c2, c3 = w.let(f"lshr {ty} {iteration}, {half}"), w.constant(e.frame.section, u64, lanes)
    keys = [w.let(f"and i64 %{name}, 4294967295") for name in ("seed", "launch")]
    for step in range(ROUNDS):
        k0, k1 = (
            e.splat(w.let(f"and i64 {w.let(f'add i64 {key}, {step * weyl}')}, 4294967295"), i64)
            for key, weyl in zip(keys, WEYL, strict=True)
        )
        p0, p1 = (
            w.let(f"mul {ty} {c}, {w.constant(m, u64, lanes)}") for c, m in zip((c0, c2), MULTIPLIERS, strict=True)
        )
        next0, next2 = (
            _mixed(e, ty, [w.let(f"lshr {ty} {p}, {half}"), c, k]) for p, c, k in ((p1, c1, k0), (p0, c3, k1))
        )
        c1, c3 = w.let(f"and {ty} {p1}, {mask}"), w.let(f"and {ty} {p0}, {mask}")
        c0, c2 = next0, next2
    return c0, c1


def _mixed(e: RegionEmitter, ty: str, words: list[str]) -> str:
    """The exclusive or of three words."""
    return e.w.let(f"xor {ty} {e.w.let(f'xor {ty} {words[0]}, {words[1]}')}, {words[2]}")


def _value(e: RegionEmitter, to: DType, low: str, high: str) -> str:
    """The words as a number of the type drawn."""
    w, lanes = e.w, e.lanes
    ty = type_text(u64, lanes)
    word = low
    if to.bits == 64:
        word = w.let(f"or {ty} {low}, {w.let(f'shl {ty} {high}, {w.constant(32, u64, lanes)}')}")
    result = type_text(to, lanes)
    if not to.is_float:
        return word if to.bits == 64 else w.let(f"trunc {ty} {word} to {result}")
    kept = FRACTION_BITS[to.bits]
    bits = w.let(f"lshr {ty} {word}, {w.constant(max(to.bits, 32) - kept, u64, lanes)}")
    # exact: the integer has no more bits than the significand, and the factor is a power of two
    wide = f64 if to is f64 else f32
    number = w.let(f"uitofp {ty} {bits} to {type_text(wide, lanes)}")
    number = w.let(f"fmul {type_text(wide, lanes)} {number}, {w.constant(2.0**-kept, wide, lanes)}")
    return number if wide is to else w.let(f"fptrunc {type_text(wide, lanes)} {number} to {result}")
