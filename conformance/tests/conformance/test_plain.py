"""Exact derivatives of plain Python: against 60 digits, and against formulas known by heart."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest

from adstack.conformance import plain
from adstack.conformance.plain import Number

FUNCTIONS = {
    "acos": mpmath.acos, "asin": mpmath.asin, "atan": mpmath.atan, "cbrt": mpmath.cbrt, "cos": mpmath.cos,
    "cosh": mpmath.cosh, "exp": mpmath.exp, "exp2": lambda x: mpmath.mpf(2) ** x, "expm1": mpmath.expm1,
    "log": mpmath.log, "log10": mpmath.log10, "log1p": mpmath.log1p, "log2": lambda x: mpmath.log(x, 2),
    "rsqrt": lambda x: 1 / mpmath.sqrt(x), "sin": mpmath.sin, "sinh": mpmath.sinh, "sqrt": mpmath.sqrt,
    "tan": mpmath.tan, "tanh": mpmath.tanh,
}  # fmt: skip
PAIRS = {"atan2": mpmath.atan2, "hypot": mpmath.hypot, "power": lambda x, y: x**y}


def variable(value: float, name: str = "x") -> Number:
    return Number(value, {name: Fraction(1)})


def as_mpf(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def agree(value: Fraction, wanted: mpmath.mpf, digits: int = 55) -> bool:
    return bool(abs(as_mpf(value) - wanted) <= mpmath.mpf(10) ** -digits * max(1, abs(wanted)))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("at", [0.125, 0.75])
def test_a_function_and_its_slope_are_good_to_55_digits(name: str, at: float) -> None:
    with mpmath.workdps(150):
        result, exact = getattr(plain, name)(variable(at)), FUNCTIONS[name]
        assert agree(result.value, exact(mpmath.mpf(at)))
        assert agree(result.slopes["x"], mpmath.diff(exact, mpmath.mpf(at)), 40)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("at", [(0.5, 1.25), (1.5, 0.375), (3.0, 2.0)])
def test_a_function_of_two_is_good_in_both(name: str, at: tuple[float, float]) -> None:
    with mpmath.workdps(150):
        result = getattr(plain, name)(variable(at[0]), variable(at[1], "y"))
        x, y = map(mpmath.mpf, at)
        assert agree(result.value, PAIRS[name](x, y))
        assert agree(result.slopes["x"], mpmath.diff(PAIRS[name], (x, y), (1, 0)), 40)
        assert agree(result.slopes["y"], mpmath.diff(PAIRS[name], (x, y), (0, 1)), 40)


def test_angles_are_right_in_every_quadrant() -> None:
    for y, x in [
        (1.0, 2.0),
        (1.0, -2.0),
        (-1.0, -2.0),
        (-1.0, 2.0),
        (3.0, 1.0),
        (3.0, -1.0),
        (-3.0, -1.0),
        (-3.0, 1.0),
    ]:
        assert float(plain.atan2(Number(y), Number(x)).value) == pytest.approx(math.atan2(y, x), rel=1e-15)


def test_arithmetic_is_exact() -> None:
    x, y = variable(3), variable(Fraction(1, 3), "y")
    result = (2 - x) * y / (x + 1) + x**3 - 1 / y
    assert result.value == Fraction(-1, 12) + 27 - 3
    assert result.slopes == {"x": Fraction(-3, 3 * 16) + 27, "y": Fraction(-1, 4) + 9}


def test_a_remainder_takes_its_quotient_for_constant() -> None:
    result = variable(-1.75) % variable(0.5, "w")
    assert result.value == Fraction(1, 4)
    assert result.slopes == {"x": Fraction(1), "w": Fraction(4)}


def test_what_is_compared_are_values() -> None:
    x = variable(0.5)
    assert x < 1 and x <= 0.5 and x > 0 and x >= 0.5 and x == 0.5 and hash(x) == hash(Number(0.5))  # noqa: PT018
    assert (int(variable(-1.5)), math.floor(variable(-1.5)), math.ceil(variable(-1.5))) == (-1, -2, -1)


def test_long_quotients_are_rounded_and_dyadic_numbers_are_not() -> None:
    third = variable(Fraction(1, 3))
    for _ in range(9):
        third = third * third * 3
    assert max(third.value.numerator.bit_length(), third.value.denominator.bit_length()) <= 2 * plain.LONGEST
    small = variable(Fraction(2**20, 2**20 + 1))
    for _ in range(9):
        small = small * small
    assert small.value.denominator.bit_length() <= 2 * plain.LONGEST
    exact = variable(0.5)
    for _ in range(300):
        exact = exact * Fraction(3, 2)
    assert exact.value == Fraction(3, 2) ** 300 / 2
