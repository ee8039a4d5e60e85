"""fma against exact rational arithmetic, with the hard cases drawn often."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adstack.conformance.fuzz.exact_numbers import fma_of, round_to
from adstack.ir import fma as module
from adstack.ir.scalar_ops import FMA
from adstack.ir.types import FLOATS, f16, f32, f64

by_type = pytest.mark.parametrize("dtype", FLOATS, ids=str)
WIDTH = {f16: 16, f32: 32, f64: 64}
BORDERS = {t: np.finfo(t.numpy) for t in FLOATS}


def fused(dtype, a, b, c):
    with np.errstate(all="ignore"):
        return [x.item() for x in FMA.meaning(dtype, *(np.array(x, dtype.numpy) for x in (a, b, c)))]


def identical(x, y):
    return (math.isnan(x) and math.isnan(y)) or (x == y and math.copysign(1, x) == math.copysign(1, y))


def check(dtype, a, b, c):
    """In one lane, and in so many that they are computed together."""
    wanted = fma_of(a, b, c, dtype)
    for lanes in (1, module.FEW + 1):
        for got in fused(dtype, [a] * lanes, [b] * lanes, [c] * lanes):
            assert identical(got, wanted), f"fma({a.hex()}, {b.hex()}, {c.hex()}) = {got.hex()}, not {wanted.hex()}"


def special_values(dtype):
    info = BORDERS[dtype]
    positive = [0.0, math.inf, 1.0, 1.5, 3.0, float(info.max), float(info.tiny), float(info.smallest_subnormal)]
    positive += [
        float(info.tiny - info.smallest_subnormal),
        float(info.max) / 2,
        float(info.eps),
        1.0 + float(info.eps),
    ]
    return [*positive, *(-x for x in positive), math.nan]


@by_type
def test_all_triples_of_special_values_are_exact(dtype):
    values = special_values(dtype)
    triples = [(a, b, c) for a in values for b in values for c in values]
    got = fused(dtype, *zip(*triples, strict=True))
    wrong = [(t, g) for t, g in zip(triples, got, strict=True) if not identical(g, fma_of(*t, dtype))]
    assert wrong == []


@by_type
def test_any_operands_are_rounded_once(dtype):
    floats = st.floats(width=WIDTH[dtype])

    @given(floats, floats, floats)
    def property_(a, b, c):
        check(dtype, a, b, c)

    property_()


@by_type
def test_addends_that_nearly_cancel_the_product_are_exact(dtype):
    floats = st.floats(width=WIDTH[dtype], allow_nan=False, allow_infinity=False)

    @given(floats, floats, st.integers(-3, 3))
    def property_(a, b, steps):
        with np.errstate(all="ignore"):
            c = -np.multiply(dtype.numpy.type(a), dtype.numpy.type(b))
            for _ in range(abs(steps)):
                c = np.nextafter(c, dtype.numpy.type(math.copysign(math.inf, steps)))
        check(dtype, a, b, float(c))

    property_()


def near_halfway(random, dtype):
    """A product that lies just beside the middle of two floats around the addend: rounding twice shows here."""
    precision = {f16: 11, f32: 24, f64: 53}[dtype]
    exponent = random.randint(-8, 8) if dtype is f16 else random.randint(-100, 100)
    c = math.ldexp(random.randrange(1 << (precision - 1), 1 << precision), exponent - precision + 1)
    a = 1 + random.choice((-1, 1)) * math.ldexp(1, -random.randint(1, precision - 1))
    b = math.ldexp(1 + random.choice((0, 1, -1)) * math.ldexp(1, 1 - precision), exponent - precision)
    return tuple(float(dtype.numpy.type(x)) for x in (a, random.choice((b, -b)), c))


@by_type
def test_sums_beside_the_middle_of_two_floats_are_rounded_once(dtype):
    random = Random(1)
    triples = [near_halfway(random, dtype) for _ in range(3000)]
    for many in (len(triples), module.FEW):
        got = [
            result
            for k in range(0, len(triples), many)
            for result in fused(dtype, *zip(*triples[k : k + many], strict=True))
        ]
        assert [(t, g) for t, g in zip(triples, got, strict=True) if not identical(g, fma_of(*t, dtype))] == []


@settings(max_examples=300)
@given(st.integers(-1074, 1023), st.integers(-1074, 1023), st.integers(-1074, 1023), st.integers(0, 2**32))
@example(-537, -537, -1074, 3)
@example(-480, -480, -1022, 7)
@example(500, 500, 1000, 11)
@example(990, 10, 1000, 13)
def test_f64_operands_of_any_exponents_are_exact(ea, eb, ec, seed):
    random = Random(seed)
    a, b, c = (math.copysign(math.ldexp(random.uniform(0.5, 1), e), random.uniform(-1, 1)) for e in (ea, eb, ec))
    check(f64, a, b, c)


def test_the_fast_way_is_exact_up_to_its_borders():
    random = Random(2)
    for exponent in (-960, -959, -900, 0, 900, 998):
        for _ in range(200):
            half = exponent // 2
            a = math.ldexp(random.uniform(1, 2), half)
            b = math.ldexp(random.uniform(1, 2), exponent - half)
            c = math.ldexp(random.uniform(-2, 2), random.choice((exponent, exponent - 53, exponent - 106, -1074)))
            check(f64, a, b, c)


def test_lanes_of_ordinary_size_never_take_rational_arithmetic(monkeypatch):
    def refuse(a, b, c):
        raise AssertionError(f"slow way taken for {a}, {b}, {c}")

    monkeypatch.setattr(module, "_exact", refuse)
    a = np.random.default_rng(0).standard_normal(1000)
    a[::10] = 0.0
    assert fused(f64, a, a[::-1], np.zeros(1000))[1] == a[1] * a[-2]


def test_operands_broadcast_and_scalars_stay_scalars():
    got = FMA.meaning(f32, np.float32([[1], [2]]), np.float32([3, 4]), np.asarray(np.float32(5)))
    assert got.tolist() == [[8, 9], [11, 13]]
    for dtype in FLOATS:
        assert FMA.meaning(dtype, *(np.asarray(dtype.numpy.type(x)) for x in (2, 3, 4))).item() == 10


def test_f32_differs_from_a_product_rounded_first():
    a = 1 + 2.0**-12
    (got,) = fused(f32, [a], [a], [-1.0])
    assert got == 2.0**-11 + 2.0**-24
    assert float(np.float32(a) * np.float32(a) - np.float32(1)) != got


@given(st.fractions())
def test_the_judge_rounds_to_f64_as_python_does(value):
    assert round_to(value, f64) == float(value)
