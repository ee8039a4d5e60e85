"""Random numbers: the generator of `adstack.interpreter.philox`, to the bit."""

from __future__ import annotations

from adstack.ir.ops import RANDOM
from adstack.ir.philox import FRACTION_BITS, MULTIPLIERS, ROUNDS, WEYL
from adstack.ir.structure import Op
from adstack.ir.types import DType, f16, f32, f64, u32, u64

from .assembly.code import Num
from .assembly.opcodes import Op as Spv
from .region import RegionEmitter, handles
from .scalars import floats

__all__: list[str] = []


@handles(RANDOM)
def _random(e: RegionEmitter, op: Op) -> None:
    """One block of Philox4x32-10 per number drawn."""
    c, counter = e.c, e.frame.counter
    number = c.let(Spv.Load, u32, counter)
    c.do(Spv.Store, counter, (number + 1).id)
    low, high = _block(e, number)
    e.bind(op.result, _value(op.result.dtype, low, high))


def _block(e: RegionEmitter, number: Num) -> tuple[Num, Num]:
    """The first two words of the block."""
    c, frame = e.c, e.frame
    iteration = frame.iteration
    words = [number, iteration.resize(u32), (iteration >> 32).resize(u32), c.const(frame.section, u32)]
    keys = [frame.keys[name] for name in ("seed", "launch")]
    for step in range(ROUNDS):
        k0, k1 = (key + (step * weyl & 0xFFFFFFFF) for key, weyl in zip(keys, WEYL, strict=True))
        (h0, l0), (h1, l1) = (_product(words[k], m) for k, m in zip((0, 2), MULTIPLIERS, strict=True))
        words = [h1 ^ words[1] ^ k0, l1, h0 ^ words[3] ^ k1, l0]
    return words[0], words[1]


def _product(word: Num, by: int) -> tuple[Num, Num]:
    """The high and the low half of a product."""
    product = word.resize(u64) * by
    return (product >> 32).resize(u32), product.resize(u32)


def _value(to: DType, low: Num, high: Num) -> Num:
    """The words as a number of the type drawn."""
    word = low
    if to.bits == 64:
        word = low.resize(u64) | (high.resize(u64) << 32)
    if not to.is_float:
        return word.resize(to)
    kept = FRACTION_BITS[to.bits]
    # exact: the integer has no more bits than the significand, and the factor is a power of two
    through = f64 if to is f64 else f32
    number = (word >> (word.dtype.bits - kept)).convert(through) * 2.0**-kept
    return floats.narrow(number) if to is f16 else number
