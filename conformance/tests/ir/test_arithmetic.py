"""The meaning of every scalar operation against Python's integers, rationals and struct: never against numpy."""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adstack.conformance.fuzz.exact_numbers import round_to
from adstack.ir.arithmetic import representable
from adstack.ir.ops import ATOMICS, TABLE
from adstack.ir.types import (
    ALL,
    FLOATS,
    INTS,
    NUMERIC,
    SIGNED,
    cast_number,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u1,
    u8,
    u32,
    u64,
)

of_ints = pytest.mark.parametrize("dtype", INTS, ids=str)
of_floats = pytest.mark.parametrize("dtype", FLOATS, ids=str)
of_numbers = pytest.mark.parametrize("dtype", NUMERIC, ids=str)
INTEGER_CODES = {"i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q"}
FLOAT_CODES = {"f16": "e", "f32": "f", "f64": "d"}
CODES = {**INTEGER_CODES, **FLOAT_CODES}


def ran(name, to, *columns):
    """The op over columns of (dtype, numbers), as Python numbers."""
    with np.errstate(all="ignore"):
        arrays = [np.array(numbers, dtype.numpy) for dtype, numbers in columns]
        result = TABLE[name].meaning(to, *arrays)
    assert result.dtype == to.numpy
    return result.tolist()


def wrap(value, dtype):
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if dtype.kind == "i" and value >> (dtype.bits - 1) else value


def integers(dtype, seed=0, count=300):
    """Borders, their neighbours, small numbers, and random ones."""
    random = Random(seed)
    edges = {dtype.min, dtype.min + 1, dtype.max, dtype.max - 1, dtype.max // 2, *range(max(dtype.min, -9), 10)}
    return [*sorted(edges), *(random.randint(dtype.min, dtype.max) for _ in range(count))]


def pairs(dtype):
    numbers = integers(dtype, count=40)
    both = [(a, b) for a in numbers for b in numbers]
    return both, (dtype, [a for a, _ in both]), (dtype, [b for _, b in both])


def floats(dtype, seed=0, count=400):
    """Random bit patterns, specials, halves and the borders of integer types."""
    random = Random(seed)
    code, width = FLOAT_CODES[dtype.name], dtype.bits
    patterns = [random.getrandbits(width).to_bytes(width // 8, "little") for _ in range(count)]
    specials = [0.0, -0.0, math.inf, -math.inf, math.nan, 0.5, -0.5, 1.5, 2.5, -2.5, 0.25, 1e-8, 3e4, -3e4]
    borders = [sign * 2.0**power for power in (7, 8, 15, 16, 31, 32, 63, 64) for sign in (1, -1)]
    near = [float(np.nextafter(dtype.numpy.type(x), dtype.numpy.type(0))) for x in (0.5, 2.5, 2.0**15, 128.0, -129.0)]
    fitting = [round_to(Fraction(x), dtype) if math.isfinite(x) and x else x for x in specials + borders]
    return fitting + near + [struct.unpack(f"<{code}", bits)[0] for bits in patterns]


def alike(x, y):
    if isinstance(x, float) and isinstance(y, float):
        return (x != x and y != y) or (x == y and math.copysign(1, x) == math.copysign(1, y))
    return type(x) is type(y) and x == y


def assert_alike(got, wanted, inputs):
    wrong = [(i, g, w) for i, g, w in zip(inputs, got, wanted, strict=True) if not alike(g, w)]
    assert wrong == []


# ---- integers


def trunc_div(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BINARY = {
    "add": lambda a, b, t: a + b,
    "sub": lambda a, b, t: a - b,
    "mul": lambda a, b, t: a * b,
    "floordiv": lambda a, b, t: a // b if b else 0,
    "mod": lambda a, b, t: a % b if b else 0,
    "raw_div": lambda a, b, t: trunc_div(a, b) if b else 0,
    "raw_mod": lambda a, b, t: a - trunc_div(a, b) * b if b else 0,
    "max": lambda a, b, t: max(a, b),
    "min": lambda a, b, t: min(a, b),
    "and": lambda a, b, t: a & b,
    "or": lambda a, b, t: a | b,
    "xor": lambda a, b, t: a ^ b,
    "shl": lambda a, b, t: a << b if 0 <= b < t.bits else 0,
    "shr": lambda a, b, t: a >> b if 0 <= b < t.bits else 0,
}


@of_ints
@pytest.mark.parametrize("name", BINARY)
def test_integer_operations_are_those_of_the_integers_modulo_the_width(name, dtype):
    both, left, right = pairs(dtype)
    wanted = [wrap(BINARY[name](a, b, dtype), dtype) for a, b in both]
    assert_alike(ran(name, dtype, left, right), wanted, both)


COMPARISONS = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


@of_numbers
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_are_those_of_the_numbers(name, dtype):
    numbers = floats(dtype, count=20) if dtype.is_float else integers(dtype, count=20)
    both = [(a, b) for a in numbers for b in numbers]
    got = ran(name, u1, (dtype, [a for a, _ in both]), (dtype, [b for _, b in both]))
    assert_alike(got, [COMPARISONS[name](a, b) for a, b in both], both)


@of_ints
def test_integer_power_wraps_and_a_negative_exponent_keeps_only_units(dtype):
    def power(a, b):
        if b >= 0:
            return wrap(pow(a, b, 1 << dtype.bits), dtype)
        return {1: 1, -1: 1 if b % 2 == 0 else -1}.get(a, 0)

    both, left, right = pairs(dtype)
    assert_alike(ran("ipow", dtype, left, right), [power(a, b) for a, b in both], both)


UNARY = {
    "neg": lambda a, t: wrap(-a, t),
    "abs": lambda a, t: wrap(abs(a), t),
    "not": lambda a, t: wrap(~a, t),
    "popcnt": lambda a, t: bin(a & ((1 << t.bits) - 1)).count("1"),
    "clz": lambda a, t: t.bits - (a & ((1 << t.bits) - 1)).bit_length(),
}


@of_ints
@pytest.mark.parametrize("name", UNARY)
def test_unary_integer_operations_are_those_of_the_bits(name, dtype):
    numbers = integers(dtype)
    to = i32 if name in ("popcnt", "clz") else dtype
    assert_alike(ran(name, to, (dtype, numbers)), [UNARY[name](a, dtype) for a in numbers], numbers)


@pytest.mark.parametrize(
    ("name", "table"), [("and", [0, 0, 0, 1]), ("or", [0, 1, 1, 1]), ("xor", [0, 1, 1, 0]), ("eq", [1, 0, 0, 1])]
)
def test_bitwise_operations_on_u1_are_logical(name, table):
    got = ran(name, u1, (u1, [False, False, True, True]), (u1, [False, True, False, True]))
    assert got == [bool(x) for x in table]


def test_not_on_u1_is_logical():
    assert ran("not", u1, (u1, [False, True])) == [True, False]


@pytest.mark.parametrize("dtype", SIGNED, ids=str)
def test_the_most_negative_value_divided_by_minus_one_wraps_to_itself(dtype):
    least = (dtype, [dtype.min])
    for name in ("floordiv", "raw_div"):
        assert ran(name, dtype, least, (dtype, [-1])) == [dtype.min]
    for name in ("mod", "raw_mod"):
        assert ran(name, dtype, least, (dtype, [-1])) == [0]


# ---- floats


def exact_or_ieee(exact, special):
    """Rounds the exact rational result where the operands are finite and the result is defined."""

    def meaning(a, b, dtype):
        if not (math.isfinite(a) and math.isfinite(b)):
            return special(a, b)
        result = exact(a, b)
        return special(a, b) if result is None or result == 0 else round_to(result, dtype)

    return meaning


def divide(a, b):
    """IEEE division where an operand is zero, infinite or NaN."""
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


FLOAT_BINARY = {
    "add": exact_or_ieee(lambda a, b: Fraction(a) + Fraction(b), lambda a, b: a + b),
    "sub": exact_or_ieee(lambda a, b: Fraction(a) - Fraction(b), lambda a, b: a - b),
    "mul": exact_or_ieee(lambda a, b: Fraction(a) * Fraction(b), lambda a, b: a * b),
    "div": exact_or_ieee(lambda a, b: Fraction(a) / Fraction(b) if b else None, divide),
    "max": lambda a, b, t: a if a > b or b != b else b,
    "min": lambda a, b, t: a if a < b or b != b else b,
}


@of_floats
@pytest.mark.parametrize("name", FLOAT_BINARY)
def test_float_operations_round_the_exact_result_once(name, dtype):
    numbers = floats(dtype, count=60)
    both = [(a, b) for a in numbers for b in numbers]
    got = ran(name, dtype, (dtype, [a for a, _ in both]), (dtype, [b for _, b in both]))
    assert_alike(got, [FLOAT_BINARY[name](a, b, dtype) for a, b in both], both)


def root(a, dtype):
    """The correctly rounded square root: the candidate whose neighbours' midpoints enclose it, in integers."""
    if a == 0 or not math.isfinite(a) or a < 0:
        return a if a in (0, math.inf) else math.nan
    exact = Fraction(a)
    scale = 4**1100
    floor = math.isqrt(exact.numerator * scale * scale // exact.denominator)
    inexact = floor * floor * exact.denominator != exact.numerator * scale * scale
    return round_to(Fraction(2 * floor + inexact, 2 * scale), dtype)


@of_floats
def test_square_roots_are_correctly_rounded(dtype):
    numbers = floats(dtype)
    assert_alike(ran("sqrt", dtype, (dtype, numbers)), [root(a, dtype) for a in numbers], numbers)


def integral(rounding):
    def meaning(a):
        return math.copysign(float(rounding(Fraction(a))), a) if math.isfinite(a) else a

    return meaning


def half_away(value):
    return math.floor(abs(value) + Fraction(1, 2))


ROUNDING = {"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "rint": round, "round": half_away}


@of_floats
@pytest.mark.parametrize("name", ROUNDING)
def test_roundings_go_where_their_names_say_and_keep_the_sign_of_zero(name, dtype):
    numbers = floats(dtype)
    wanted = [integral(lambda x: abs(ROUNDING[name](x)))(a) for a in numbers]
    assert_alike(ran(name, dtype, (dtype, numbers)), wanted, numbers)


@of_floats
def test_negation_and_magnitude_change_the_sign_bit_alone(dtype):
    numbers = floats(dtype)
    assert_alike(ran("neg", dtype, (dtype, numbers)), [-a for a in numbers], numbers)
    assert_alike(ran("abs", dtype, (dtype, numbers)), [math.fabs(a) for a in numbers], numbers)


@of_floats
def test_a_nan_loses_to_a_number_and_at_a_tie_the_right_operand_is_taken(dtype):
    left, right = [math.nan, 1.0, 0.0, -0.0], [1.0, math.nan, -0.0, 0.0]
    for name in ("max", "min"):
        assert_alike(ran(name, dtype, (dtype, left), (dtype, right)), [1.0, 1.0, -0.0, 0.0], left)


# ---- conversions


def converted(value, source, to):
    if to is u1:
        return value != 0
    if source.is_float and to.is_integer:
        if value != value:
            return 0
        return int(min(max(value, to.min), to.max)) if math.isinf(value) else min(max(int(value), to.min), to.max)
    if to.is_integer:
        return wrap(int(value), to)
    if source.is_float and (value == 0 or not math.isfinite(value)):
        return value
    return round_to(Fraction(value), to)


@pytest.mark.parametrize("to", ALL, ids=str)
@pytest.mark.parametrize("source", ALL, ids=str)
def test_conversions_wrap_truncate_saturate_or_round_once(source, to):
    numbers = floats(source) if source.is_float else [False, True] if source is u1 else integers(source)
    wanted = [converted(a, source, to) for a in numbers]
    assert_alike(ran("cast", to, (source, numbers)), wanted, numbers)


def test_every_f32_between_two_f16_neighbours_rounds_to_the_nearer_and_ties_to_even():
    for low in (1.0, 1.0009765625, 6.103515625e-05, 5.9604644775390625e-08, 65472.0):
        high = struct.unpack("<e", (struct.unpack("<H", struct.pack("<e", low))[0] + 1).to_bytes(2, "little"))[0]
        points = [low + (high - low) * k / 64 for k in range(65)]
        assert_alike(ran("cast", f16, (f32, points)), [round_to(Fraction(p), f16) for p in points], points)


@pytest.mark.parametrize("source", NUMERIC, ids=str)
def test_bitcast_keeps_the_bytes(source):
    for to in (t for t in NUMERIC if t.bits == source.bits):
        numbers = [x for x in (floats(source) if source.is_float else integers(source)) if x == x]
        got = ran("bitcast", to, (source, numbers))
        for x, y in zip(numbers, got, strict=True):
            if y == y:
                assert struct.pack(CODES[source.name], x) == struct.pack(CODES[to.name], y)


def test_select_takes_the_second_where_the_first_holds():
    assert ran("select", i8, (u1, [True, False]), (i8, [1, 2]), (i8, [3, 4])) == [1, 4]


# ---- numbers of the host


@pytest.mark.parametrize(
    ("value", "dtype", "wanted"),
    [
        (300, u8, 44), (-1, u32, 2**32 - 1), (2**70 + 5, i16, 5), (200, i8, -56), (True, f32, 1.0), (2, u1, True),
        (0.0, u1, False), (math.nan, i32, 0), (1e300, i64, 2**63 - 1), (-1e300, i64, -(2**63)), (-0.9, u8, 0),
        (0.1, f32, 0.10000000149011612), (1e30, f16, math.inf), (10**400, f64, math.inf), (-(10**400), f32, -math.inf),
        (2**24 + 1, f32, 2.0**24), (2**64 - 1, f64, 2.0**64), (np.int8(-3), f64, -3.0), (np.float32(1.5), i32, 1),
    ],
)  # fmt: skip
def test_a_host_number_converts_as_cast_does(value, dtype, wanted):
    assert alike(cast_number(value, dtype), wanted)
    assert alike(dtype(value), wanted)


@given(st.integers(-(2**140), 2**140), st.sampled_from(FLOATS))
@example((1 << 100) + (1 << 76) + 1, f32)
@example((1 << 100) + (1 << 76), f32)
@example((1 << 127) + (1 << 70), f32)
@example(2**128 - 2**103, f32)
@example(2**128 - 2**103 - 1, f32)
def test_an_integer_of_any_size_is_rounded_once(value, dtype):
    assert alike(cast_number(value, dtype), round_to(Fraction(value), dtype))


@given(st.floats(), st.sampled_from(FLOATS))
def test_a_float_is_representable_if_rounding_keeps_it(value, dtype):
    special = value == 0 or not math.isfinite(value)
    assert representable(value, dtype) == (special or round_to(Fraction(value), dtype) == value)


# ---- atomics and traps


def test_compare_and_swap_compares_bits():
    old = np.array([1.0, 0.0, math.nan, 2.0], np.float32)
    expected = np.array([1.0, -0.0, math.nan, 3.0], np.float32)
    got = ATOMICS["cas"].meaning(f32, old, expected, np.full(4, 9, np.float32)).tolist()
    assert got == [9.0, 0.0, 9.0, 2.0]


def test_exchange_gives_the_new_value():
    assert ATOMICS["xchg"].meaning(u64, np.array([1], np.uint64), np.array([2], np.uint64)).tolist() == [2]


@pytest.mark.parametrize(
    ("name", "a", "b", "traps"),
    [
        ("floordiv", 1, 0, True), ("floordiv", 0, 1, False), ("mod", 1, 0, True), ("raw_div", 1, 0, True),
        ("raw_mod", 1, 0, True), ("shl", 1, 32, True), ("shl", 1, 31, False), ("shr", 1, -1, True),
        ("ipow", 2, -1, True), ("ipow", 2, 0, False),
    ],
)  # fmt: skip
def test_operands_without_a_meaning_in_mathematics_trap(name, a, b, traps):
    trap = TABLE[name].trap
    assert trap is not None
    assert trap.when(np.array([a], np.int32), np.array([b], np.int32)).tolist() == [traps]


def test_every_pure_row_but_constants_has_a_meaning_that_gives_its_result_type():
    for name, row in TABLE.items():
        if row.signature.line is None or name in ("const", "random"):
            continue
        types = {word: classes[0] for word, classes in row.signature.classes.items()}
        operands = [types.get(word, u1) for word in row.signature.inputs]
        attrs = {"to": operands[0]} if row.attrs else {}
        (to,) = row.signature.infer(name, operands, attrs)
        assert len(ran(name, to, *[(t, [1, 1]) for t in operands])) == 2
