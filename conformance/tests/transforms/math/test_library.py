"""The functions of the math library: two executions agree to the bit; exact cases, symmetries and special values.

Rules: math.bits, math.error, math.special, math.half
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from adstack.conformance.harness.exact import rounded, ulp_distance
from adstack.ir.functions import evaluate
from adstack.ir.ops import TABLE
from adstack.ir.types import FLOATS, f16, f32, f64
from adstack.tools.accuracy.jit import Compiled
from adstack.tools.accuracy.truth import exactly
from adstack.transforms.math.algorithms import ALGORITHMS, FAST, PAIRS
from adstack.transforms.math.library import function
from adstack.transforms.rewriting.rewrite import clone_region

NAMES = sorted(ALGORITHMS)
REAL = [f32, f64]
WORDS = {f16: np.uint16, f32: np.uint32, f64: np.uint64}

LOGARITHMS = ["log", "log2", "log10", "log1p"]

inf, nan = math.inf, math.nan


def value(name, dtype, *args):
    """The function on numbers."""
    (result,) = evaluate(function(name, dtype), [np.array(a, dtype.numpy) for a in args])
    return result


def bits(dtype, a):
    """Bits, with one NaN for all."""
    a = np.array(a, dtype.numpy)
    return np.where(np.isnan(a), dtype.numpy.type(nan), a).view(WORDS[dtype])


def inputs(dtype, arity, count=1500):
    """Random bits, numbers of everyday size, and edges."""
    rng = np.random.default_rng(7)
    edges = np.array([0.0, -0.0, 1, -1, 0.5, -0.5, inf, -inf, nan, np.pi / 2, 65504, -1.5, 6e-8])
    columns = []
    for _ in range(arity):
        raw = rng.integers(0, 256, count * dtype.size, dtype=np.uint8).view(dtype.numpy)
        normal = (rng.standard_normal(count) * rng.choice((0.1, 1, 10, 100), count)).astype(dtype.numpy)
        columns.append(np.concatenate([raw, normal, rng.choice(edges, 200).astype(dtype.numpy)]))
    return columns


def compiled(called, lanes):
    """One callable per result of a function."""
    for k in range(len(called.returns)):
        part = clone_region(called.body, {})
        part.terminator.set_operands((part.terminator.operands[k],))
        yield Compiled(part, lanes)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", [*NAMES, *(f"{name}.fast" for name in FAST)])
def test_the_interpreter_and_compiled_code_give_the_same_bits(name, dtype):
    plain, _, fast = name.partition(".")
    called = function(plain, dtype, bool(fast))
    args = inputs(dtype, len(called.params))
    for interpreted, run in zip(evaluate(called, args), compiled(called, 8), strict=True):
        np.testing.assert_array_equal(bits(dtype, run(*args)), bits(dtype, interpreted))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("pair", PAIRS)
def test_pairs_give_the_bits_of_each(pair, dtype):
    (x,) = inputs(dtype, 1)
    both = evaluate(function(pair, dtype), [x])
    for row, got in zip(PAIRS[pair], both, strict=True):
        np.testing.assert_array_equal(bits(dtype, got), bits(dtype, value(row.name, dtype, x)))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ["sin", "tan", "asin", "atan", "sinh", "tanh", "cbrt"])
def test_odd_functions_are_odd_to_the_bit(name, dtype):
    (x,) = inputs(dtype, 1)
    np.testing.assert_array_equal(bits(dtype, value(name, dtype, -x)), bits(dtype, -value(name, dtype, x)))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ["cos", "cosh"])
def test_even_functions_are_even_to_the_bit(name, dtype):
    (x,) = inputs(dtype, 1)
    np.testing.assert_array_equal(bits(dtype, value(name, dtype, -x)), bits(dtype, value(name, dtype, x)))


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_hypot_does_not_care_for_order_or_signs(dtype):
    x, y = inputs(dtype, 2)
    wanted = bits(dtype, value("hypot", dtype, x, y))
    for a, b in ((y, x), (-x, y), (x, -y)):
        np.testing.assert_array_equal(bits(dtype, value("hypot", dtype, a, b)), wanted)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("name", ["exp", "exp2", "expm1", *LOGARITHMS, "atan", "tanh", "sinh", "cbrt"])
def test_functions_that_rise_do_not_fall(name, dtype):
    x = np.linspace(-20, 20, 4001).astype(dtype.numpy)
    x = x[x > -1] if name == "log1p" else x[x > 0] if name.startswith("log") else x
    assert (np.diff(value(name, dtype, x)) >= 0).all()


def correctly_rounded(name, dtype, *args):
    """By mpmath, rounded once."""
    exact = exactly(name, *args)
    mantissa, exponent = exact.man_exp
    magnitude = Fraction(int(mantissa)) * Fraction(2) ** exponent
    return rounded(-magnitude if exact < 0 else magnitude, dtype.numpy)


POSITIVE = [*LOGARITHMS, "rsqrt", "pow"]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", [name for name in NAMES if name not in PAIRS])
def test_results_are_within_the_budget_of_correct_rounding(name, dtype):
    rng = np.random.default_rng(11)
    spread = 1.0 if name in ("asin", "acos") else 8.0
    columns = [rng.uniform(-spread, spread, 150) for _ in range(ALGORITHMS[name].arity)]
    if name in POSITIVE:
        columns[0] = np.abs(columns[0])
    args = [column.astype(dtype.numpy) for column in columns]
    wanted = [correctly_rounded(name, dtype, *map(float, point)) for point in zip(*args, strict=True)]
    far = ulp_distance(value(name, dtype, *args), np.array(wanted, dtype.numpy))
    assert far.max() <= TABLE[name].budget.of(dtype)


# ---- results that are numbers of the format


@pytest.mark.parametrize(("dtype", "low", "high"), [(f16, -24, 15), (f32, -149, 127), (f64, -1074, 1023)], ids=str)
def test_exp2_and_log2_are_exact_at_powers_of_two(dtype, low, high):
    k = np.arange(low, high + 1)
    powers = np.ldexp(1.0, k).astype(dtype.numpy)
    assert value("exp2", dtype, k).tolist() == powers.tolist()
    assert value("log2", dtype, powers).tolist() == k.tolist()
    assert value("pow", dtype, np.full(k.shape, 2.0), k).tolist() == powers.tolist()


@pytest.mark.parametrize(("dtype", "most"), [(f32, 10), (f64, 22)], ids=str)
def test_powers_of_ten_that_are_numbers_come_out_exactly(dtype, most):
    k = np.arange(most + 1)
    tens = np.array([10.0**n for n in range(most + 1)])
    assert value("log10", dtype, tens).tolist() == k.tolist()
    assert value("pow", dtype, np.full(k.shape, 10.0), k).tolist() == tens.tolist()


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_cbrt_is_exact_at_cubes_and_rsqrt_at_powers_of_four(dtype):
    k = np.arange(-255, 256).astype(float)
    assert value("cbrt", dtype, k**3).tolist() == k.tolist()
    n = np.arange(-60, 60)
    assert value("rsqrt", dtype, np.ldexp(1.0, 2 * n)).tolist() == np.ldexp(1.0, -n).tolist()


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_hypot_is_exact_at_pythagorean_triples_of_any_size(dtype):
    reach = 120 if dtype is f32 else 1000
    scale = np.ldexp(1.0, np.arange(-reach, reach))
    for a, b, c in ((3, 4, 5), (5, 12, 13), (8, 15, 17), (20, 21, 29), (119, 120, 169)):
        assert value("hypot", dtype, a * scale, b * scale).tolist() == (c * scale).tolist()


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_a_power_with_exponent_one_is_its_base(dtype):
    x = inputs(dtype, 1)[0]
    np.testing.assert_array_equal(bits(dtype, value("pow", dtype, x, np.ones_like(x))), bits(dtype, x))


def test_small_whole_powers_are_correctly_rounded_in_f32():
    x = np.random.default_rng(5).uniform(0.1, 10, 200).astype(np.float32)
    for n in (2, 3):
        wanted = [float(np.float32(float(Fraction(float(v)) ** n))) for v in x]
        got = value("pow", f32, x, np.full_like(x, n))
        assert np.max(np.abs(got - wanted) / np.spacing(np.float32(wanted))) <= 1


# ---- special values


SPECIAL = [
    ("sin", [(0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan), (nan, nan)]),
    ("cos", [(0.0, 1.0), (-0.0, 1.0), (inf, nan), (-inf, nan), (nan, nan)]),
    ("tan", [(0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan), (nan, nan)]),
    ("asin", [(0.0, 0.0), (-0.0, -0.0), (1.5, nan), (-1.5, nan), (inf, nan), (nan, nan)]),
    ("acos", [(1.0, 0.0), (1.5, nan), (-1.5, nan), (-inf, nan), (nan, nan)]),
    ("atan", [(0.0, 0.0), (-0.0, -0.0), (inf, math.pi / 2), (-inf, -math.pi / 2), (nan, nan)]),
    ("sinh", [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf), (nan, nan)]),
    ("cosh", [(0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, inf), (nan, nan)]),
    ("tanh", [(0.0, 0.0), (-0.0, -0.0), (inf, 1.0), (-inf, -1.0), (nan, nan)]),
    ("exp", [(0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, 0.0), (nan, nan)]),
    ("exp2", [(0.0, 1.0), (-0.0, 1.0), (inf, inf), (-inf, 0.0), (nan, nan)]),
    ("expm1", [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -1.0), (nan, nan)]),
    ("log", [(0.0, -inf), (-0.0, -inf), (1.0, 0.0), (-1.0, nan), (inf, inf), (-inf, nan), (nan, nan)]),
    ("log2", [(0.0, -inf), (-0.0, -inf), (1.0, 0.0), (-1.0, nan), (inf, inf), (-inf, nan), (nan, nan)]),
    ("log10", [(0.0, -inf), (-0.0, -inf), (1.0, 0.0), (-1.0, nan), (inf, inf), (-inf, nan), (nan, nan)]),
    ("log1p", [(0.0, 0.0), (-0.0, -0.0), (-1.0, -inf), (-2.0, nan), (inf, inf), (-inf, nan), (nan, nan)]),
    ("rsqrt", [(0.0, inf), (-0.0, -inf), (1.0, 1.0), (-1.0, nan), (inf, 0.0), (-inf, nan), (nan, nan)]),
    ("cbrt", [(0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -inf), (nan, nan)]),
]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(("name", "table"), SPECIAL, ids=[name for name, _ in SPECIAL])
def test_special_values_are_those_of_annex_f(name, table, dtype):
    arguments, wanted = zip(*table, strict=True)
    np.testing.assert_array_equal(bits(dtype, value(name, dtype, arguments)), bits(dtype, wanted))


SPECIALS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1.5, -1.5, 1e4, -1e4, inf, -inf, nan]


def odd(y: float) -> bool:
    return math.isfinite(y) and y % 2 == 1


def annex_f_pow(x: float, y: float) -> float | None:
    """F.10.4.4 of C23; None where it gives no rule."""
    if x == 1 or y == 0:
        return 1.0
    if x != x or y != y:
        return nan
    if x == 0:
        sign = math.copysign(1, x) if odd(y) else 1.0
        return sign * (inf if y < 0 else 0.0)
    if math.isinf(y):
        return 1.0 if x == -1 else inf if (abs(x) > 1) == (y > 0) else 0.0
    if math.isinf(x):
        sign = -1.0 if x < 0 and odd(y) else 1.0
        return sign * (0.0 if y < 0 else inf)
    return nan if x < 0 and y != math.floor(y) else None


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_pow_of_special_values_is_that_of_annex_f(dtype):
    ruled = [(x, y, r) for x in SPECIALS for y in SPECIALS if (r := annex_f_pow(x, y)) is not None]
    x, y, wanted = zip(*ruled, strict=True)
    assert len(ruled) > 150
    np.testing.assert_array_equal(bits(dtype, value("pow", dtype, x, y)), bits(dtype, wanted))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_a_power_of_a_negative_base_has_the_sign_of_its_parity(dtype):
    y = np.arange(-9, 10).astype(dtype.numpy)
    got = value("pow", dtype, np.full_like(y, -1.5), y)
    positive = value("pow", dtype, np.full_like(y, 1.5), y)
    assert (np.sign(got) == np.where(y % 2 == 0, 1, -1)).all()
    assert (np.abs(got) == positive).all()


def annex_f_atan2(y: float, x: float) -> float | None:
    """F.10.1.4 of C23; None where it gives no rule."""
    if x != x or y != y:
        return nan
    if math.isinf(x) or math.isinf(y) or x == 0 or y == 0:
        return math.atan2(y, x)
    return None


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_atan2_of_special_values_is_that_of_annex_f(dtype):
    ruled = [(y, x, r) for y in SPECIALS for x in SPECIALS if (r := annex_f_atan2(y, x)) is not None]
    y, x, wanted = zip(*ruled, strict=True)
    np.testing.assert_array_equal(bits(dtype, value("atan2", dtype, y, x)), bits(dtype, wanted))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_hypot_with_an_infinity_is_infinite_even_beside_a_nan(dtype):
    others = [0.0, 1.0, inf, -inf, nan]
    got = value("hypot", dtype, [*others, *([-inf] * 5), nan], [*([inf] * 5), *others, 2.0])
    np.testing.assert_array_equal(bits(dtype, got), bits(dtype, [inf] * 10 + [nan]))


@pytest.mark.parametrize(
    ("name", "dtype", "args", "wanted"),
    [
        ("exp", f32, [89.0, -104.0], [inf, 0.0]),
        ("exp", f64, [710.0, -746.0], [inf, 0.0]),
        ("expm1", f64, [710.0, -40.0], [inf, -1.0]),
        ("sinh", f32, [90.0, -90.0], [inf, -inf]),
        ("cosh", f64, [711.0, -711.0], [inf, inf]),
        ("tanh", f64, [25.0, -25.0], [1.0, -1.0]),
    ],
)
def test_results_out_of_range_become_their_limits(name, dtype, args, wanted):
    assert value(name, dtype, args).tolist() == wanted


@pytest.mark.parametrize(
    ("name", "x", "wanted"),
    [
        # the double nearest to a multiple of pi/2 relative to its size (Muller, Elementary Functions, 2006, 11.3.2)
        ("cos", 6381956970095103 * 2.0**797, "-4.68716592425462761112e-19"),
        ("sin", 1e22, "-0.8522008497671888017727"),
        ("cos", 1e22, "0.5232147853951389454975"),
        ("tan", 1e22, "-1.628778225606898878549"),
    ],
)
def test_huge_arguments_are_reduced_exactly(name, x, wanted):
    got = float(value(name, f64, [x])[0])
    assert abs(Fraction(got) - Fraction(wanted)) <= 2 * Fraction(math.ulp(float(Fraction(wanted))))
