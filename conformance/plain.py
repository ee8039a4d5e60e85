"""Exact derivatives of plain Python: what gradient cases expect, found without any implementation under test.

A `Number` is a rational number with its partial derivatives, rational as well. Arithmetic on it is exact; roots and
transcendental functions, and what would grow too long, are good to 60 digits. So the function

    def plain(x):
        return [sin(a) * a for a in x]

called with numbers gives the values and the whole Jacobian that a kernel of the same formula must have.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Final, TypeAlias, cast

__all__ = [
    "Number", "absolute", "acos", "asin", "atan", "atan2", "cbrt", "cos", "cosh", "exp", "exp2", "expm1", "hypot",
    "log", "log1p", "log2", "log10", "power", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh",
]  # fmt: skip

DIGITS: Final = 80
BITS: Final = 270
"""As many as `DIGITS` digits have, and a few more."""
POINT: Final = 320
"""Bits behind the point where sums of series are computed."""
LONGEST: Final = 600
"""Bits of a numerator or denominator beyond which a number is cut to `BITS` bits."""

_ONE: Final = Fraction(1)

Rational: TypeAlias = int | float | str | Fraction | Decimal
"""What `Fraction` takes."""


class Number:
    """A number that depends on others: `slopes` holds its derivative by each of them that matters."""

    __slots__ = ("slopes", "value")

    def __init__(self, value: Rational, slopes: Mapping[Hashable, Fraction] | None = None) -> None:
        self.value = _short(Fraction(value))
        self.slopes = {key: _short(slope) for key, slope in (slopes or {}).items() if slope}

    def __add__(self, other: Real) -> Number:
        other = lift(other)
        return combined(self.value + other.value, (self, _ONE), (other, _ONE))

    def __sub__(self, other: Real) -> Number:
        return self + -lift(other)

    def __mul__(self, other: Real) -> Number:
        other = lift(other)
        return combined(self.value * other.value, (self, other.value), (other, self.value))

    def __truediv__(self, other: Real) -> Number:
        other = lift(other)
        ratio = self.value / other.value
        by_other = ((other, -ratio / other.value),) if other.slopes else ()
        return combined(ratio, (self, 1 / other.value), *by_other)

    def __pow__(self, count: int) -> Number:
        slope = count * self.value ** (count - 1) if count else Fraction(0)
        return combined(self.value**count, (self, slope))

    def __neg__(self) -> Number:
        return combined(-self.value, (self, Fraction(-1)))

    def __radd__(self, other: Real) -> Number:
        return lift(other) + self

    def __rsub__(self, other: Real) -> Number:
        return lift(other) - self

    def __rmul__(self, other: Real) -> Number:
        return lift(other) * self

    def __rtruediv__(self, other: Real) -> Number:
        return lift(other) / self

    def __mod__(self, other: Real) -> Number:
        """What a floored division leaves: the quotient is a step."""
        return self - lift(other) * math.floor(self.value / lift(other).value)

    def __lt__(self, other: Real) -> bool:
        return self.value < lift(other).value

    def __le__(self, other: Real) -> bool:
        return self.value <= lift(other).value

    def __gt__(self, other: Real) -> bool:
        return self.value > lift(other).value

    def __ge__(self, other: Real) -> bool:
        return self.value >= lift(other).value

    def __eq__(self, other: object) -> bool:
        return self.value == lift(cast("Real", other)).value

    def __hash__(self) -> int:
        return hash(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __floor__(self) -> int:
        return math.floor(self.value)

    def __ceil__(self) -> int:
        return math.ceil(self.value)

    def __repr__(self) -> str:
        slopes = {key: float(slope) for key, slope in self.slopes.items()}
        return f"Number({float(self.value)!r}, {slopes!r})"


Real: TypeAlias = Number | Rational
"""A number, or a constant."""


def lift(value: Real) -> Number:
    """A constant as a number."""
    return value if isinstance(value, Number) else Number(value)


def combined(value: Fraction, *parts: tuple[Number, Fraction]) -> Number:
    """A number by the chain rule: of each part, the number and the derivative by it."""
    slopes: dict[Hashable, Fraction] = {}
    for number, outer in parts:
        for key, slope in number.slopes.items():
            change = slope if outer is _ONE else outer * slope
            slopes[key] = slopes[key] + change if key in slopes else change
    return Number(value, slopes)


def _short(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) <= LONGEST:
        return value
    return _to_bits(value)


def _to_bits(value: Fraction) -> Fraction:
    """The number cut to about `BITS` significant bits."""
    top, bottom = value.numerator, value.denominator
    shift = BITS + bottom.bit_length() - top.bit_length()
    if shift < 0:
        return Fraction(top // (bottom << -shift) << -shift)
    return Fraction((top << shift) // bottom, 1 << shift)


def _decimal(value: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = DIGITS
        return Decimal(value.numerator) / Decimal(value.denominator)


def _of_decimal(name: str, value: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = DIGITS
        return Fraction(getattr(_decimal(value), name)())


# ---- functions of rational numbers


def _sin(x: Fraction) -> Fraction:
    """Taylor's series: arguments of cases are small."""
    total = term = _fixed(x)
    square, count = term * term >> POINT, 1
    while abs(term) > 1:
        term = -(term * square >> POINT) // ((count + 1) * (count + 2))
        total, count = total + term, count + 2
    return Fraction(total, 1 << POINT)


def _fixed(x: Fraction) -> int:
    """In units of 2^-POINT."""
    return (x.numerator << POINT) // x.denominator


def _atan(x: Fraction) -> Fraction:
    """Halving the angle three times, then Taylor's series."""
    one, number = 1 << POINT, _fixed(x)
    for _ in range(3):
        number = number * one // (one + math.isqrt(one * one + number * number))
    total = power_of = number
    square, count = number * number >> POINT, 1
    while abs(power_of) > 1:
        power_of, count = -(power_of * square >> POINT), count + 2
        total += power_of // count
    return Fraction(8 * total, one)


PI: Final = 4 * _atan(Fraction(1))


def _cos(x: Fraction) -> Fraction:
    return _sin(PI / 2 - x)


# ---- functions of numbers


def sin(x: Real) -> Number:
    """The sine."""
    x = lift(x)
    return combined(_sin(x.value), (x, _cos(x.value)))


def cos(x: Real) -> Number:
    """The cosine."""
    return sin(PI / 2 - lift(x))


def tan(x: Real) -> Number:
    """The tangent."""
    return sin(x) / cos(x)


def exp(x: Real) -> Number:
    """e to the power x."""
    x = lift(x)
    value = _of_decimal("exp", x.value)
    return combined(value, (x, value))


def log(x: Real) -> Number:
    """The natural logarithm."""
    x = lift(x)
    return combined(_of_decimal("ln", x.value), (x, 1 / x.value))


def sqrt(x: Real) -> Number:
    """The square root."""
    x = lift(x)
    root = _of_decimal("sqrt", x.value)
    return combined(root, (x, 1 / (2 * root)))


def atan(x: Real) -> Number:
    """The angle whose tangent is x."""
    x = lift(x)
    return combined(_atan(x.value), (x, 1 / (1 + x.value**2)))


def atan2(y: Real, x: Real) -> Number:
    """The angle of the point (x, y)."""
    y, x = lift(y), lift(x)
    if abs(y.value) > abs(x.value):
        return (PI / 2 if y > 0 else -PI / 2) - atan(x / y)
    if x > 0:
        return atan(y / x)
    return atan(y / x) + (PI if y >= 0 else -PI)


def asin(x: Real) -> Number:
    """The angle whose sine is x."""
    return atan(x / sqrt(1 - lift(x) * x))


def acos(x: Real) -> Number:
    """The angle whose cosine is x."""
    return PI / 2 - asin(x)


def sinh(x: Real) -> Number:
    """The hyperbolic sine."""
    return (exp(x) - exp(-lift(x))) / 2


def cosh(x: Real) -> Number:
    """The hyperbolic cosine."""
    return (exp(x) + exp(-lift(x))) / 2


def tanh(x: Real) -> Number:
    """The hyperbolic tangent."""
    return 1 - 2 / (exp(2 * lift(x)) + 1)


def exp2(x: Real) -> Number:
    """2 to the power x."""
    return exp(lift(x) * log(2))


def expm1(x: Real) -> Number:
    """e to the power x, less 1."""
    return exp(x) - 1


def log2(x: Real) -> Number:
    """The logarithm to the base 2."""
    return log(x) / log(2)


def log10(x: Real) -> Number:
    """The logarithm to the base 10."""
    return log(x) / log(10)


def log1p(x: Real) -> Number:
    """The natural logarithm of 1 + x."""
    return log(lift(x) + 1)


def rsqrt(x: Real) -> Number:
    """One over the square root."""
    return 1 / sqrt(x)


def cbrt(x: Real) -> Number:
    """The cube root."""
    return exp(log(x) / 3) if lift(x) > 0 else -exp(log(-lift(x)) / 3)


def hypot(x: Real, y: Real) -> Number:
    """The length of (x, y)."""
    return sqrt(lift(x) * x + lift(y) * y)


def power(x: Real, y: Real) -> Number:
    """x to the power y, for a positive x."""
    return exp(log(x) * y)


def absolute(x: Real) -> Number:
    """x without its sign."""
    return lift(x) if lift(x) >= 0 else -lift(x)
