"""Reduction modulo pi/2 of arguments so large that a few words of pi are not enough.

Source: M. Payne and R. Hanek, "Radian reduction for trigonometric functions", SIGNUM Newsletter 18, 1983: multiply the
significand by just those bits of 2/pi that decide the product modulo 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ...ir.types import f32, i64, u64
from .coefficients import HALF_PI, TWO_OVER_PI_BITS
from .formats import format_of
from .num import Num


class Reduced(NamedTuple):
    """x = quadrant * pi/2 + high - minus, |high| at most about pi/4; of the quadrant only the two lowest bits count.

    The low word is kept negated so that a zero keeps its sign through the last subtraction.
    """

    quadrant: Num
    high: Num
    minus: Num


_LOW = 0xFFFFFFFF


def reduce_far(x: Num) -> Reduced:
    """Reduce |x| of at least 2^17 (f32) or 2^30 (f64); NaN for infinities and NaN."""
    fmt = format_of(x)
    word = x.bits(fmt.unsigned).to(u64)
    biased = (word >> fmt.mantissa) & (2 * fmt.bias + 1)
    significand = (word & fmt.significand_mask) | (1 << fmt.mantissa)
    # a bit of 2/pi that weighs 4 or more once multiplied by 2^(biased - bias - mantissa) does not matter: they are
    # skipped; 64 zeros in front keep the count from being negative
    skip = biased - (fmt.bias + fmt.mantissa + 2 - 64)
    words = (0, *TWO_OVER_PI_BITS)
    if x.dtype is f32:
        high, low = _product(significand, _window(skip, words[:5], 2), 3)
    else:
        high, low = _product(significand, _window(skip, words, 3), 6)
    # x * 2/pi modulo 4 in units of 2^-126; the nearest integer leaves, a signed fraction stays
    quadrant = ((high + (1 << 61)) >> 62).to(fmt.signed)
    lead = ((high << 2) | (low >> 62)).bits(i64)
    return _signed(x, quadrant, *_times_half_pi(x, lead, low << 2))


def _window(skip: Num, words: Sequence[int], count: int) -> list[Num]:
    """`count` 64-bit words of a bit string, from bit `skip` on: a barrel shift by words, then one by bits."""
    index, shift = skip >> 6, skip & 63
    width = 1 << (len(words) - 1).bit_length()
    row: list[Num | int] = [*words, *[0] * (width + count + 1 - len(words))]
    step = width // 2
    while step:
        chosen = (index & step).ne(0)
        keep = step + count
        row = [_choose(index, chosen, row[k + step] if k + step < len(row) else 0, row[k]) for k in range(keep)]
        step //= 2
    nums = [n if isinstance(n, Num) else index.const(n) for n in row[: count + 1]]
    # a shift by the whole width gives 0, as it should here
    return [(a << shift) | (b >> (64 - shift)) for a, b in pairwise(nums)]


def _choose(like: Num, condition: Num, yes: Num | int, no: Num | int) -> Num | int:
    if isinstance(yes, int) and isinstance(no, int) and yes == no:
        return no
    return condition.where(yes if isinstance(yes, Num) else like.const(yes), no)


def _product(significand: Num, window: Sequence[Num], halves: int) -> tuple[Num, Num]:
    """The top 128 bits of significand * window modulo 2^(32 * halves), by 32-bit halves; bits below are cut."""
    digits = [part for w in window for part in (w >> 32, w & _LOW)][:halves]
    factors = (significand & _LOW, significand >> 32)
    zero = significand.const(0)
    columns = [zero] * (halves + 2)  # column k weighs 2^(32 (halves - 1 - k))
    for place, factor in enumerate(factors):
        for k, digit in enumerate(digits):
            term = factor * digit
            at = k - place
            if at >= 0:
                columns[at] = columns[at] + (term & _LOW)
            if at >= 1:
                columns[at - 1] = columns[at - 1] + (term >> 32)
    carry = zero
    limbs: list[Num] = []
    for k in reversed(range(halves)):
        total = columns[k] + carry
        limbs.insert(0, total & _LOW)
        carry = total >> 32
    limbs += [zero] * (4 - len(limbs))
    return (limbs[0] << 32) | limbs[1], (limbs[2] << 32) | limbs[3]


def _times_half_pi(x: Num, lead: Num, rest: Num) -> tuple[Num, Num]:
    """(lead + rest / 2^64) / 2^64 * pi/2 as high and minus the low word; lead is signed, rest is not."""
    c1, c2, _ = HALF_PI[x.dtype.name]
    first = lead.to(x.dtype)
    second = (lead - first.to(i64)).to(x.dtype) + (rest >> 11).to(x.dtype) * 2.0**-53
    top = first + second
    low = (first - top) + second
    top, low = top * 2.0**-64, low * 2.0**-64
    product = top * c1
    product_low = top.fma(c1, -product) + top.fma(c2, low * c1)
    high = product + product_low
    return high, (high - product) - product_low


def _signed(x: Num, quadrant: Num, high: Num, minus: Num) -> Reduced:
    """The reduction of |x| turned into that of x, and into NaN where x is not finite."""
    negative = x < 0.0
    bad = x - x  # NaN for infinities and NaN, else 0
    turned = negative.where(-high, high) + bad
    return Reduced(negative.where(-quadrant, quadrant), turned, negative.where(-minus, minus))
