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

from ...ir.opdef import OpDef
from ...ir.scalar_ops import (
    ABS,
    ADD,
    AND,
    CEIL,
    DIV,
    EQ,
    FLOOR,
    FLOORDIV,
    FMA,
    GE,
    GT,
    IPOW,
    LE,
    LT,
    MAX,
    MIN,
    MOD,
    MUL,
    NE,
    NEG,
    NOT,
    OR,
    RAW_DIV,
    RAW_MOD,
    RINT,
    ROUND,
    SELECT,
    SHL,
    SHR,
    SUB,
    TRUNC,
    XOR,
)
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
INTEGRAL: Final = (FLOOR, CEIL, TRUNC, ROUND, RINT)

ORDER: Final[tuple[Row, ...]] = (
    ((ADD, MUL, AND, OR, XOR, EQ, NE), ALL, constant_left, again, "commutative: numbers go to the right"),
    ((FMA,), FLOATS, constant_left, again, "the factors commute"),
    ((LT,), ALL, constant_left, becomes(GT), "c < x is x > c"),
    ((LE,), ALL, constant_left, becomes(GE), "c <= x is x >= c"),
    ((GT,), ALL, constant_left, becomes(LT), "c > x is x < c"),
    ((GE,), ALL, constant_left, becomes(LE), "c >= x is x <= c"),
)

INTEGER: Final[tuple[Row, ...]] = (
    ((ADD, SUB), INTS, right(zero), taken(), "0 is neutral"),
    ((SHL, SHR), INTS, right(zero), taken(), "a shift by 0"),
    ((MUL, FLOORDIV, RAW_DIV, IPOW), INTS, right(one), taken(), "1 is neutral"),
    ((MUL,), INTS, right(zero), number(zero), "integers have no NaN"),
    ((SUB,), INTS, same(), number(zero), "integers have no NaN"),
    ((SUB,), INTS, left(zero), becomes(NEG), "modulo 2^bits"),
    ((SUB,), INTS, subtracted_number, becomes(ADD), "x - c is x + (-c) modulo 2^bits"),
    ((MOD, RAW_MOD), INTS, right(one), number(zero), "nothing is left over"),
    ((IPOW,), INTS, right(zero), number(one), "the empty product"),
    ((IPOW,), INTS, right(two), becomes(MUL, 0, 0), "x ** 2 modulo 2^bits"),
    ((NEG,), INTS, of(SUB), becomes(SUB, 1, 0), "modulo 2^bits"),
    ((ADD, MUL, AND, OR, XOR), BITS, two_numbers, again, "associative modulo 2^bits: the numbers are combined"),
    ((ABS,), UNSIGNED, lambda maker, op: (op.operands[0],), taken(), "never negative"),
    ((MAX,), INTS, right(least), taken(), "nothing is less"),
    ((MIN,), INTS, right(greatest), taken(), "nothing is greater"),
    ((MAX,), INTS, right(greatest), number(greatest), "nothing is greater"),
    ((MIN,), INTS, right(least), number(least), "nothing is less"),
)

BITWISE: Final[tuple[Row, ...]] = (
    ((AND,), BITS, right(ones), taken(), "all bits kept"),
    ((AND,), BITS, right(zero), number(zero), "no bit kept"),
    ((OR, XOR), BITS, right(zero), taken(), "no bit changed"),
    ((OR,), BITS, right(ones), number(ones), "all bits set"),
    ((XOR,), BITS, right(ones), becomes(NOT), "all bits flipped"),
    ((AND, OR), BITS, same(), taken(), "idempotent"),
    ((XOR,), BITS, same(), number(zero), "every bit meets itself"),
    ((NOT,), BITS, of(NOT), taken(), "flipped twice"),
)

SIGNS: Final[tuple[Row, ...]] = (
    ((NEG,), NUMERIC, of(NEG), taken(), "a sign flipped twice; modulo 2^bits"),
    ((MUL,), (*SIGNED, *FLOATS), right(minus_one), becomes(NEG), "only the sign changes"),
    ((ADD,), NUMERIC, of(NEG, 1), becomes(SUB, 1, 0), "IEEE defines a - b as a + (-b)"),
    ((ADD,), NUMERIC, of(NEG), becomes(SUB, 1, 0), "sums commute"),
    ((SUB,), NUMERIC, of(NEG, 1), becomes(ADD, 1, 0), "IEEE defines a - b as a + (-b)"),
    ((MUL,), NUMERIC, both_of(NEG), again, "the signs cancel, and rounding is symmetric"),
    ((DIV,), FLOATS, both_of(NEG), again, "the signs cancel, and rounding is symmetric"),
    ((FMA,), FLOATS, both_of(NEG), again, "the signs of the factors cancel"),
    ((ABS,), NUMERIC, of(NEG), becomes(ABS), "the sign does not matter"),
    ((ABS,), NUMERIC, any_of(ABS), taken(), "idempotent, also for the most negative integer"),
    ((MAX, MIN), NUMERIC, same(), taken(), "both are x"),
)

FLOAT: Final[tuple[Row, ...]] = (
    ((ADD,), FLOATS, right(minus_zero), taken(), "-0 is neutral: +0 + -0 is +0, -0 + -0 is -0"),
    ((SUB,), FLOATS, right(zero), taken(), "x - +0 is x + -0"),
    ((SUB,), FLOATS, left(minus_zero), becomes(NEG), "-0 - x is -0 + (-x), where -0 is neutral"),
    ((MUL, DIV), FLOATS, right(one), taken(), "1 is neutral"),
    ((DIV,), FLOATS, right(minus_one), becomes(NEG), "only the sign changes"),
    ((DIV,), FLOATS, divided_by_power, becomes(MUL), "1 / 2^k is exact and normal: both round the same real number"),
    ((FMA,), FLOATS, right(one), becomes(ADD), "the product is exact"),
    ((FMA,), FLOATS, third(minus_zero), becomes(MUL), "-0 is neutral, also for a product that underflows"),
    (INTEGRAL, FLOATS, any_of(*INTEGRAL), taken(), "integral already"),
)

COMPARISON: Final[tuple[Row, ...]] = (
    ((EQ, LE, GE), BITS, same(), number(true), "integers have no NaN"),
    ((NE,), BITS, same(), number(false), "integers have no NaN"),
    ((LT, GT), ALL, same(), number(false), "irreflexive; false for NaN too"),
    ((EQ,), BOOL, right(true), taken(), "x is what says so"),
    ((NE,), BOOL, right(false), taken(), "x is what says so"),
    ((EQ,), BOOL, right(false), becomes(NOT), "the other of two"),
    ((NE,), BOOL, right(true), becomes(NOT), "the other of two"),
    ((LT,), BITS, right(least), number(false), "nothing is less"),
    ((GE,), BITS, right(least), number(true), "nothing is less"),
    ((GT,), BITS, right(greatest), number(false), "nothing is greater"),
    ((LE,), BITS, right(greatest), number(true), "nothing is greater"),
    ((NOT,), BOOL, of(EQ), becomes(NE), "ne is the negation of eq, for NaN too"),
    ((NOT,), BOOL, of(NE), becomes(EQ), "eq is the negation of ne, for NaN too"),
)

SELECTION: Final[tuple[Row, ...]] = (
    ((SELECT,), ALL, same(1, 2), taken(), "either is x"),
    ((SELECT,), BOOL, choices(true, false), taken(), "the condition itself"),
    ((SELECT,), BOOL, choices(false, true), becomes(NOT), "the condition's negation"),
    ((SELECT,), ALL, of(NOT), becomes(SELECT, 0, 2, 1), "the sides swap"),
)


def _index(*tables: tuple[Row, ...]) -> dict[tuple[OpDef, DType], list[Rule]]:
    index: dict[tuple[OpDef, DType], list[Rule]] = {}
    for rows, types, pattern, outcome, why in chain(*tables):
        for key in product(rows, types):
            index.setdefault(key, []).append(Rule(pattern, outcome, why))
    return index


INDEX: Final = _index(ORDER, INTEGER, BITWISE, SIGNS, FLOAT, COMPARISON, SELECTION, CASTS, BITCASTS, COMPARED_FLAG)
"""The rules for an op, by its row and the type of its last operand; the first that applies is taken."""
