"""The algebra that `simplify` knows: rows of (ops, operand types, pattern, outcome, license).

Exact to the bit, on every operand: signed zeros, infinities, subnormals, wrapping. (The sign and payload of a NaN are
not part of a value's meaning.) What is missing is missing for a reason:

    x + 0        is +0 for x = -0                   0 - x        is +0 for x = +0, where neg gives -0
    x - x        is NaN for infinities and NaN      x * 0        is NaN for infinities and NaN, -0 for negative x
    x == x       is false for NaN                   neg(a - b)   is -0 where b - a is +0
    max(x, -inf) is -inf for x = NaN                x / x        is NaN for 0 and infinities
    (a + b) + c  rounds twice, elsewhere            fma(a, b, 0) is +0 where a * b is -0
"""

from __future__ import annotations

from itertools import chain, product
from typing import Final

from ...ir.types import ALL, FLOATS, INTS, NUMERIC, SIGNED, UNSIGNED, DType, u1
from .casts import BITCASTS, CASTS, COMPARED_FLAG
from .computed import divided_by_power, subtracted_number, two_numbers
from .patterns import (
    Row,
    Rule,
    again,
    any_of,
    becomes,
    both_of,
    choices,
    constant_left,
    false,
    greatest,
    least,
    left,
    minus_one,
    minus_zero,
    number,
    of,
    one,
    ones,
    right,
    same,
    taken,
    third,
    true,
    two,
    zero,
)

__all__ = ["INDEX"]

BITS: Final = (u1, *INTS)
BOOL: Final = (u1,)
INTEGRAL: Final = ("floor", "ceil", "trunc", "round", "rint")

ORDER: Final[tuple[Row, ...]] = (
    ("add mul and or xor eq ne", ALL, constant_left, again, "commutative: numbers go to the right"),
    ("fma", FLOATS, constant_left, again, "the factors commute"),
    ("lt", ALL, constant_left, becomes("gt"), "c < x is x > c"),
    ("le", ALL, constant_left, becomes("ge"), "c <= x is x >= c"),
    ("gt", ALL, constant_left, becomes("lt"), "c > x is x < c"),
    ("ge", ALL, constant_left, becomes("le"), "c >= x is x <= c"),
)

INTEGER: Final[tuple[Row, ...]] = (
    ("add sub", INTS, right(zero), taken(), "0 is neutral"),
    ("shl shr", INTS, right(zero), taken(), "a shift by 0"),
    ("mul floordiv raw_div ipow", INTS, right(one), taken(), "1 is neutral"),
    ("mul", INTS, right(zero), number(zero), "integers have no NaN"),
    ("sub", INTS, same(), number(zero), "integers have no NaN"),
    ("sub", INTS, left(zero), becomes("neg"), "modulo 2^bits"),
    ("sub", INTS, subtracted_number, becomes("add"), "x - c is x + (-c) modulo 2^bits"),
    ("mod raw_mod", INTS, right(one), number(zero), "nothing is left over"),
    ("ipow", INTS, right(zero), number(one), "the empty product"),
    ("ipow", INTS, right(two), becomes("mul", 0, 0), "x ** 2 modulo 2^bits"),
    ("neg", INTS, of("sub"), becomes("sub", 1, 0), "modulo 2^bits"),
    ("add mul and or xor", BITS, two_numbers, again, "associative modulo 2^bits: the numbers are combined"),
    ("abs", UNSIGNED, lambda maker, op: (op.operands[0],), taken(), "never negative"),
    ("max", INTS, right(least), taken(), "nothing is less"),
    ("min", INTS, right(greatest), taken(), "nothing is greater"),
    ("max", INTS, right(greatest), number(greatest), "nothing is greater"),
    ("min", INTS, right(least), number(least), "nothing is less"),
)

BITWISE: Final[tuple[Row, ...]] = (
    ("and", BITS, right(ones), taken(), "all bits kept"),
    ("and", BITS, right(zero), number(zero), "no bit kept"),
    ("or xor", BITS, right(zero), taken(), "no bit changed"),
    ("or", BITS, right(ones), number(ones), "all bits set"),
    ("xor", BITS, right(ones), becomes("not"), "all bits flipped"),
    ("and or", BITS, same(), taken(), "idempotent"),
    ("xor", BITS, same(), number(zero), "every bit meets itself"),
    ("not", BITS, of("not"), taken(), "flipped twice"),
)

SIGNS: Final[tuple[Row, ...]] = (
    ("neg", NUMERIC, of("neg"), taken(), "a sign flipped twice; modulo 2^bits"),
    ("mul", (*SIGNED, *FLOATS), right(minus_one), becomes("neg"), "only the sign changes"),
    ("add", NUMERIC, of("neg", 1), becomes("sub", 1, 0), "IEEE defines a - b as a + (-b)"),
    ("add", NUMERIC, of("neg"), becomes("sub", 1, 0), "sums commute"),
    ("sub", NUMERIC, of("neg", 1), becomes("add", 1, 0), "IEEE defines a - b as a + (-b)"),
    ("mul", NUMERIC, both_of("neg"), again, "the signs cancel, and rounding is symmetric"),
    ("div", FLOATS, both_of("neg"), again, "the signs cancel, and rounding is symmetric"),
    ("fma", FLOATS, both_of("neg"), again, "the signs of the factors cancel"),
    ("abs", NUMERIC, of("neg"), becomes("abs"), "the sign does not matter"),
    ("abs", NUMERIC, any_of("abs"), taken(), "idempotent, also for the most negative integer"),
    ("max min", NUMERIC, same(), taken(), "both are x"),
)

FLOAT: Final[tuple[Row, ...]] = (
    ("add", FLOATS, right(minus_zero), taken(), "-0 is neutral: +0 + -0 is +0, -0 + -0 is -0"),
    ("sub", FLOATS, right(zero), taken(), "x - +0 is x + -0"),
    ("sub", FLOATS, left(minus_zero), becomes("neg"), "-0 - x is -0 + (-x), where -0 is neutral"),
    ("mul div", FLOATS, right(one), taken(), "1 is neutral"),
    ("div", FLOATS, right(minus_one), becomes("neg"), "only the sign changes"),
    ("div", FLOATS, divided_by_power, becomes("mul"), "1 / 2^k is exact and normal: both round the same real number"),
    ("fma", FLOATS, right(one), becomes("add"), "the product is exact"),
    ("fma", FLOATS, third(minus_zero), becomes("mul"), "-0 is neutral, also for a product that underflows"),
    (" ".join(INTEGRAL), FLOATS, any_of(*INTEGRAL), taken(), "integral already"),
)

COMPARISON: Final[tuple[Row, ...]] = (
    ("eq le ge", BITS, same(), number(true), "integers have no NaN"),
    ("ne", BITS, same(), number(false), "integers have no NaN"),
    ("lt gt", ALL, same(), number(false), "irreflexive; false for NaN too"),
    ("eq", BOOL, right(true), taken(), "x is what says so"),
    ("ne", BOOL, right(false), taken(), "x is what says so"),
    ("eq", BOOL, right(false), becomes("not"), "the other of two"),
    ("ne", BOOL, right(true), becomes("not"), "the other of two"),
    ("lt", BITS, right(least), number(false), "nothing is less"),
    ("ge", BITS, right(least), number(true), "nothing is less"),
    ("gt", BITS, right(greatest), number(false), "nothing is greater"),
    ("le", BITS, right(greatest), number(true), "nothing is greater"),
    ("not", BOOL, of("eq"), becomes("ne"), "ne is the negation of eq, for NaN too"),
    ("not", BOOL, of("ne"), becomes("eq"), "eq is the negation of ne, for NaN too"),
)

SELECTION: Final[tuple[Row, ...]] = (
    ("select", ALL, same(1, 2), taken(), "either is x"),
    ("select", BOOL, choices(true, false), taken(), "the condition itself"),
    ("select", BOOL, choices(false, true), becomes("not"), "the condition's negation"),
    ("select", ALL, of("not"), becomes("select", 0, 2, 1), "the sides swap"),
)


def _index(*tables: tuple[Row, ...]) -> dict[tuple[str, DType], list[Rule]]:
    index: dict[tuple[str, DType], list[Rule]] = {}
    for names, types, pattern, outcome, why in chain(*tables):
        for key in product(names.split(), types):
            index.setdefault(key, []).append(Rule(pattern, outcome, why))
    return index


INDEX: Final = _index(ORDER, INTEGER, BITWISE, SIGNS, FLOAT, COMPARISON, SELECTION, CASTS, BITCASTS, COMPARED_FLAG)
"""The rules for an op, by its name and the type of its last operand; the first that applies is taken."""
