"""Writes reference/transforms/math/coefficients.py: every polynomial of the math library, found again from scratch.

python -m adstack.tools.accuracy.coefficients > reference/transforms/math/coefficients.py
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp
import numpy as np

from .minimax import Real, rounded

PRECISION = 420


@dataclass(frozen=True)
class Polynomial:
    """What to approximate: a function of one variable, analytic on the interval, and how its error weighs.

    Attributes:
        name: of the tuple of coefficients.
        doc: what it approximates, on which interval.
        function: by mpmath; may be 0/0 at the origin, where `limit` holds.
        limit: its value at the origin.
        lo, hi: the interval.
        weight: the error of the result, relative, per error of the polynomial.
        terms: how many coefficients for f32 and f64.
    """

    name: str
    doc: str
    function: Callable[[Real], Real]
    limit: Callable[[], Real]
    lo: Callable[[], Real]
    hi: Callable[[], Real]
    weight: Callable[[Real], Real]
    terms: tuple[int, int]


def _even(f: Callable[[Real], Real]) -> Callable[[Real], Real]:
    """(f(r) / r - 1) / r^2 as a function of s = r^2, for an odd f with f'(0) = 1."""

    def of_square(s: Real) -> Real:
        r = mp.sqrt(s)
        return (f(r) / r - 1) / s

    return of_square


def _zero() -> Real:
    return mp.mpf(0)


_QUARTER = mp.mpf(1) / 4

POLYNOMIALS = (
    Polynomial(
        "SIN",
        "(1 - sin r / r) / r^2 in r^2, |r| <= pi/4",
        lambda s: -_even(mp.sin)(s),
        lambda: mp.mpf(1) / 6,
        _zero,
        lambda: (mp.pi / 4 * mp.mpf("1.0001")) ** 2,
        lambda s: s,
        (3, 7),
    ),
    Polynomial(
        "SIN_FINE",
        "the same with a term more",
        lambda s: -_even(mp.sin)(s),
        lambda: mp.mpf(1) / 6,
        _zero,
        lambda: (mp.pi / 4 * mp.mpf("1.0001")) ** 2,
        lambda s: s,
        (4, 8),
    ),
    Polynomial(
        "COS",
        "(cos r - 1 + r^2 / 2) / r^4 in r^2, |r| <= pi/4",
        lambda s: (mp.cos(mp.sqrt(s)) - 1 + s / 2) / (s * s),
        lambda: mp.mpf(1) / 24,
        _zero,
        lambda: (mp.pi / 4 * mp.mpf("1.0001")) ** 2,
        lambda s: s * s,
        (3, 7),
    ),
    Polynomial(
        "EXP",
        "(e^r - 1 - r) / r^2, |r| <= ln 2 / 2",
        lambda r: (mp.exp(r) - 1 - r) / (r * r),
        lambda: mp.mpf(1) / 2,
        lambda: -mp.log(2) / 2 * mp.mpf("1.0002"),
        lambda: mp.log(2) / 2 * mp.mpf("1.0002"),
        lambda r: r * r,
        (5, 11),
    ),
    Polynomial(
        "EXPM1",
        "the same, good relative to r",
        lambda r: (mp.exp(r) - 1 - r) / (r * r),
        lambda: mp.mpf(1) / 2,
        lambda: -mp.log(2) / 2 * mp.mpf("1.0002"),
        lambda: mp.log(2) / 2 * mp.mpf("1.0002"),
        lambda r: r,
        (6, 12),
    ),
    Polynomial(
        "EXP2",
        "(2^r - 1) / r, |r| <= 1/2",
        lambda r: (mp.mpf(2) ** r - 1) / r,
        lambda: mp.log(2),
        lambda: -mp.mpf(1) / 2,
        lambda: mp.mpf(1) / 2,
        lambda r: r,
        (6, 13),
    ),
    Polynomial(
        "SINH",
        "(sinh x / x - 1) / x^2 in x^2, |x| <= 1",
        _even(mp.sinh),
        lambda: mp.mpf(1) / 6,
        _zero,
        lambda: mp.mpf(1),
        lambda s: s,
        (4, 8),
    ),
    Polynomial(
        "LOG",
        "(log(1 + f) - f + f^2 / 2) / f^3, sqrt(1/2) <= 1 + f <= sqrt(2)",
        lambda f: (mp.log(1 + f) - f + f * f / 2) / f**3,
        lambda: mp.mpf(1) / 3,
        lambda: mp.sqrt(mp.mpf(1) / 2) - 1 - mp.mpf("1e-6"),
        lambda: mp.sqrt(mp.mpf(2)) - 1 + mp.mpf("1e-6"),
        lambda f: f**3 / mp.log(1 + f) if f else mp.mpf(0),
        (9, 20),
    ),
    Polynomial(
        "ATAN",
        "(atan r / r - 1) / r^2 in r^2, |r| <= 1/2",
        _even(mp.atan),
        lambda: -mp.mpf(1) / 3,
        _zero,
        lambda: _QUARTER,
        lambda s: s,
        (5, 12),
    ),
    Polynomial(
        "ASIN",
        "(asin r / r - 1) / r^2 in r^2, |r| <= 1/2",
        _even(mp.asin),
        lambda: mp.mpf(1) / 6,
        _zero,
        lambda: _QUARTER,
        lambda s: s,
        (5, 13),
    ),
    Polynomial(
        "ARTANH",
        "(artanh s / s - 1 - s^2 / 3) / s^4 in s^2, |s| <= (sqrt(2) - 1) / (sqrt(2) + 1)",
        lambda t: (mp.atanh(mp.sqrt(t)) / mp.sqrt(t) - 1 - t / 3) / (t * t),
        lambda: mp.mpf(1) / 5,
        _zero,
        lambda: ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * mp.mpf("1.0001")) ** 2,
        lambda t: t * t,
        (4, 11),
    ),
)


def solve(p: Polynomial, which: int) -> tuple[list[float], float]:
    """The coefficients for f32 (0) or f64 (1), lowest power first, and the base-2 logarithm of the weighted error."""
    terms, fmt = p.terms[which], ("f32", "f64")[which]

    def function(x: Real) -> Real:
        return p.limit() if abs(x) < mp.mpf("1e-30") else p.function(x)

    return rounded(function, list(range(terms)), p.lo() + mp.mpf("1e-40"), p.hi(), p.weight, [fmt] * terms)


# each constant as a sum of words: the first of so many bits for f32 and f64 (rounded down), the rest full and nearest
CONSTANTS: tuple[tuple[str, Callable[[], Real], tuple[int, int], int], ...] = (
    ("HALF_PI", lambda: mp.pi / 2, (24, 53), 3),
    ("LN2", lambda: mp.log(2), (15, 41), 2),
    ("LOG10_2", lambda: mp.log10(2), (15, 41), 2),
    ("LN2_FULL", lambda: mp.log(2), (24, 53), 2),
    ("LOG2_E", lambda: 1 / mp.log(2), (24, 53), 2),
    ("LOG10_E", lambda: 1 / mp.log(10), (24, 53), 2),
    ("TWO_OVER_PI", lambda: 2 / mp.pi, (24, 53), 1),
    ("THIRD", lambda: mp.mpf(1) / 3, (24, 53), 2),
)


def words(value: Real, bits: int, count: int, fmt: str) -> list[float]:
    """`value` as a sum of `count` numbers of a format, the first cut to `bits` significant bits."""
    unit = mp.mpf(2) ** (mp.floor(mp.log(value, 2)) + 1 - bits)
    parts = [float(mp.floor(value / unit) * unit)]
    for _ in range(count - 1):
        rest = value - mp.fsum(mp.mpf(p) for p in parts)
        parts.append(float(np.float32(float(rest))) if fmt == "f32" else float(rest))
    return parts


def main() -> None:
    """Print the module."""
    mp.mp.prec = 1400
    print('"""Polynomial coefficients, lowest power first.', end=" ")
    print('Written by tools/accuracy/coefficients.py: do not edit."""\n')
    print("from __future__ import annotations\n\nfrom collections.abc import Mapping\n\n")
    print("def _hex(*texts: str) -> tuple[float, ...]:\n    return tuple(map(float.fromhex, texts))\n")
    for name, value, bits, count in CONSTANTS:
        print(f"\n{name}: Mapping[str, tuple[float, ...]] = {{")
        for which, fmt in enumerate(("f32", "f64")):
            texts = ", ".join(f'"{w.hex()}"' for w in words(value(), bits[which], count, fmt))
            print(f'    "{fmt}": _hex({texts}),')
        print("}")
    digits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** 1280))
    print("\n# 2/pi after the binary point, in 64-bit words\nTWO_OVER_PI_BITS = (")
    for k in range(20):
        print(f"    0x{(digits >> (64 * (19 - k))) & (2**64 - 1):016X},")
    print(")")
    mp.mp.prec = PRECISION
    for p in POLYNOMIALS:
        print(f"\n# {p.doc}\n{p.name}: Mapping[str, tuple[float, ...]] = {{")
        for which, fmt in enumerate(("f32", "f64")):
            coefficients, error = solve(p, which)
            print(f'    "{fmt}": _hex(  # 2^{error:.1f}')
            for c in coefficients:
                print(f'        "{c.hex()}",')
            print("    ),")
        print("}")


if __name__ == "__main__":
    main()
