"""What an algorithm must know of the float format that it runs in."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir.types import DType, f32, f64, i32, i64, u32, u64
from .num import Num

__all__ = ["INFINITY", "Format", "format_of", "power_of_two", "scale"]

INFINITY = float("inf")


@dataclass(frozen=True)
class Format:
    """An IEEE format.

    Attributes:
        dtype: the float type.
        signed, unsigned: integers of its width.
        mantissa: bits stored of a significand.
        bias: of the exponent.
        reach: exponents beyond this are outside the range, subnormals included.
    """

    dtype: DType
    signed: DType
    unsigned: DType
    mantissa: int
    bias: int
    reach: int

    @property
    def name(self) -> str:
        """The name of the type, like "f32", as the library's functions end in it."""
        return self.dtype.name

    @property
    def magic(self) -> float:
        """Adding it rounds to an integer, whose low bits then are those of the sum."""
        return 1.5 * 2.0**self.mantissa

    @property
    def magic_bits(self) -> int:
        """The bits of `magic`."""
        return ((self.bias + self.mantissa) << self.mantissa) + (1 << (self.mantissa - 1))

    @property
    def smallest_normal(self) -> float:
        """The smallest positive number that is not subnormal: 2**(1 - bias)."""
        return float(2.0 ** (1 - self.bias))

    @property
    def significand_mask(self) -> int:
        """The stored bits of a significand, without sign and exponent."""
        return (1 << self.mantissa) - 1


_FORMATS = {f32: Format(f32, i32, u32, 23, 127, 152), f64: Format(f64, i64, u64, 52, 1023, 1080)}


def format_of(x: Num) -> Format:
    """The format of a number."""
    return _FORMATS[x.dtype]


def power_of_two(k: Num, fmt: Format) -> Num:
    """2^k for an integer k of the format's width and a normal result."""
    return ((k + fmt.bias) << fmt.mantissa).bits(fmt.dtype)


def scale(x: Num, k: Num) -> Num:
    """x * 2^k rounded once, x near 1 and |k| below twice the greatest exponent: the first factor leaves x normal."""
    fmt = format_of(x)
    half = k >> 1
    return x * power_of_two(half, fmt) * power_of_two(k - half, fmt)


def rounded_integer(x: Num, factor: float = 1.0) -> tuple[Num, Num]:
    """The integer nearest to x * factor: as an integer of the format's width, and as a float."""
    fmt = format_of(x)
    shifted = x + fmt.magic if factor == 1.0 else x.fma(factor, fmt.magic)
    return shifted.bits(fmt.signed) - fmt.magic_bits, shifted - fmt.magic


def clamp(x: Num, low: float, high: float) -> Num:
    """x between two limits; a NaN stays."""
    x = (x < low).where(low, x)
    return (x > high).where(high, x)


def two_sum_error(a: Num, b: Num | float, total: Num) -> Num:
    """What `total = a + b` lost, whichever is larger (D. Knuth, TAOCP 2, 4.2.2)."""
    virtual = total - a
    return (a - (total - virtual)) + (b - virtual)
