"""The accuracy of the math library is measured rightly, and what is on file is of today's algorithms and in budget."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from click.testing import CliRunner

from adstack.ir.ops import TABLE
from adstack.ir.types import FLOATS, f16, f32, f64
from adstack.tools.accuracy import __main__ as command
from adstack.tools.accuracy import cost, measure, ordinary, points, results, table
from adstack.tools.accuracy.distance import WRONG, distance_region, distances
from adstack.tools.accuracy.jit import Compiled
from adstack.tools.accuracy.minimax import remez, rounded
from adstack.tools.accuracy.truth import TRUTH, exactly
from adstack.transforms.math import library
from adstack.transforms.math.algorithms import ALGORITHMS, PAIRS, Algorithm

EVERY = [(name, dtype) for name in TRUTH for dtype in FLOATS]
IDS = [f"{name}.{dtype}" for name, dtype in EVERY]


def test_there_is_a_truth_for_every_function_but_pairs():
    assert set(TRUTH) == set(ALGORITHMS) - PAIRS.keys() == {n for n, row in TABLE.items() if row.transcendental}


# ---- what is on file


@pytest.mark.parametrize(("name", "dtype"), EVERY, ids=IDS)
def test_the_result_on_file_is_of_this_algorithm(name, dtype):
    result = results.load(name, dtype)
    assert result is not None
    assert result.fingerprint == results.fingerprint(name, dtype), "run python -m adstack.tools.accuracy --all"


@pytest.mark.parametrize(("name", "dtype"), EVERY, ids=IDS)
def test_the_measured_error_keeps_the_budget_of_the_row(name, dtype):
    result = results.load(name, dtype)
    # the correctly rounded result is half a unit from the exact value; distances from it are whole numbers
    assert result.max_ulp + 0.5 < TABLE[name].budget.of(dtype) + 1


@pytest.mark.parametrize("name", [name for name in TRUTH if ALGORITHMS[name].arity == 1])
@pytest.mark.parametrize("dtype", [f16, f32], ids=str)
def test_functions_of_one_argument_were_tried_at_every_number(name, dtype):
    result = results.load(name, dtype)
    assert (result.exhaustive, result.points) == (True, 1 << dtype.bits)


@pytest.mark.parametrize(("name", "dtype"), EVERY, ids=IDS)
def test_the_largest_error_on_file_is_found_again_by_mpmath(name, dtype):
    result = results.load(name, dtype)
    at = tuple(map(float.fromhex, result.at))
    worst = measure.Worst(result.max_ulp, at, 1, [(result.max_ulp, at)])
    assert measure.judge(name, dtype, worst)[0] == pytest.approx(result.max_ulp, abs=2e-3)


def test_the_tables_of_the_documentation_are_those_on_file():
    assert table.tables() in table.PAGE.read_text()


# ---- distances


@pytest.mark.parametrize(
    ("got", "exact", "wanted"),
    [
        (1.0, 1.0, 0.0),
        (1.0 + 2.0**-52, 1.0, 1.0),
        (1.0, np.longdouble(1.0) + np.longdouble(2.0) ** -53, 0.5),
        (2.0**-1074, 0.5 * 2.0**-1073, 0.0),
        (0.0, 2.0**-1074, 1.0),
        (math.inf, math.inf, 0.0),
        (math.nan, math.nan, 0.0),
        (math.nan, 1.0, WRONG),
        (1.0, math.nan, WRONG),
        (-0.0, 0.0, WRONG),
        (-1.0, 1.0, WRONG),
        (np.finfo(np.float64).max, math.inf, 1.0),
    ],
)
def test_distances_count_units_in_the_last_place(got, exact, wanted):
    far = distances(np.array([got]), np.array([exact], np.longdouble))
    assert far[0] == wanted


def test_distances_in_long_double_see_below_the_smallest_double():
    exact = np.array([np.longdouble(2.0**-1074) * np.longdouble(1.25)])
    assert distances(np.array([2.0**-1074]), exact)[0] == 0.25


def shifted(monkeypatch, by: float) -> None:
    """A function `exp` whose result is off by a factor."""
    build = ALGORITHMS["exp"].build
    monkeypatch.setitem(ALGORITHMS, "exp", Algorithm(lambda x: build(x) * (1.0 + by)))


def test_a_sweep_sees_an_error_of_two_units(monkeypatch):
    shifted(monkeypatch, 2.0**-22)
    args = np.linspace(-1, 1, 4096, dtype=np.float32)
    worst = measure.measure("exp", f32, iter([(args,)]), 4096)
    assert 2 < worst.ulp < 5.1
    assert measure.judge("exp", f32, worst)[0] == pytest.approx(worst.ulp, abs=1e-6)


def test_a_compiled_judge_agrees_with_exact_arithmetic():
    x = np.random.default_rng(1).uniform(-80, 80, 500).astype(np.float32)
    exact = np.exp(x.astype(np.float64))
    far = Compiled(distance_region("exp", f32))(x, exact)
    got = Compiled(library.traced("exp", f32))(x)
    for value, wide, distance in zip(got, exact, far, strict=True):
        unit = Fraction(2) ** (math.frexp(wide)[1] - 24)
        assert float(abs(Fraction(float(value)) - Fraction(wide)) / unit) == pytest.approx(float(distance), rel=1e-12)


@pytest.mark.parametrize(
    ("value", "exact", "wanted"),
    [(1.0, math.nan, WRONG), (1.0, -1.0, WRONG), (1.0, 1.0, 0.0)],
    ids=["nan", "sign", "same"],
)
def test_a_compiled_judge_knows_what_is_no_rounding(value, exact, wanted):
    x = np.array([math.log(value)], np.float32)
    assert Compiled(distance_region("exp", f32), 1)(x, np.array([exact]))[0] == wanted


# ---- truth and points


@pytest.mark.parametrize("name", list(TRUTH))
def test_numpy_and_mpmath_mean_the_same_function(name):
    args = (0.375, 0.625)[: ALGORITHMS[name].arity]
    assert float(TRUTH[name].wide(*map(np.float64, args))) == pytest.approx(float(exactly(name, *args)), rel=1e-14)


def test_mpmath_is_asked_for_enough_digits_where_digits_cancel():
    x = points.WORST_REDUCTION
    with mp.workprec(3000):
        wanted = mp.cos(mp.mpf(x))
    assert abs(exactly("cos", x) / wanted - 1) < 1e-30


def test_every_number_of_a_format_is_tried_once():
    seen = np.concatenate([x for (x,) in points.all_numbers(f16)]).view(np.uint16)
    assert len(seen) == len(np.unique(seen)) == 65536


@pytest.mark.parametrize("name", [row.name for row in points.HARD])
def test_hard_points_are_reproducible_and_as_many_as_asked_for(name):
    with np.errstate(all="ignore"):
        first, second = (np.concatenate([x for (x,) in points.hard(name, 10 * points.BATCH)]) for _ in range(2))
    assert first.size == 10 * points.BATCH
    assert first.tobytes() == second.tobytes()


def test_the_worst_reduction_is_among_the_hard_points_of_the_sine():
    batches = points.hard("sin", 16 * points.BATCH)
    assert any((np.abs(x) == points.WORST_REDUCTION).any() for (x,) in batches)


def test_exponents_of_hard_pairs_bring_powers_near_the_ends_of_the_range():
    with np.errstate(all="ignore"):
        sizes = [np.log2(np.power(*(a.astype(float) for a in p))) for p in points.pairs("pow", f32, 6 * points.BATCH)]
    sizes = np.concatenate(sizes)
    for low, high in ((-150, -126), (127, 128)):
        assert ((low < sizes) & (sizes < high)).sum() > 100


# ---- coefficients, cost, command


def test_remez_finds_the_best_straight_line():
    # of x^2 on [0, 1]: x - 1/8, error 1/8
    coefficients, error = remez(lambda x: x * x, [0, 1], 0, 1, lambda x: mp.mpf(1))
    assert [float(c) for c in coefficients] == pytest.approx([-0.125, 1.0], abs=1e-6)
    assert float(error) == pytest.approx(0.125, abs=1e-4)


def test_rounded_coefficients_are_numbers_of_their_format():
    coefficients, error = rounded(mp.exp, [0, 1, 2], -0.125, 0.125, lambda x: mp.mpf(1), ["f32"] * 3)
    assert [float(np.float32(c)) for c in coefficients] == coefficients
    assert error < -12


def test_a_sine_costs_about_twenty_operations_on_the_usual_path():
    usual, all_ops = cost.operations("sin", f32)
    assert usual <= 24
    assert all_ops > 100


def test_the_command_measures_what_is_missing_and_no_more(tmp_path):
    arguments = ["exp", "hypot", "--format", "f64", "--scale", "0.002", "--jobs", "1", "--into", str(tmp_path)]
    first = CliRunner().invoke(command.main, arguments, catch_exceptions=False)
    assert first.exit_code == 0
    assert "[2/2] hypot f64" in first.output
    assert results.load("exp", f64, tmp_path).points >= 200_000
    assert CliRunner().invoke(command.main, arguments, catch_exceptions=False).output == ""


def test_ordinary_arguments_are_found_about_1_and_end_where_something_is_rare_or_subnormal(monkeypatch, capsys):
    every = ordinary.binade
    monkeypatch.setattr(ordinary, "binade", lambda exponent: every(exponent)[:: 1 << 16])
    ordinary.main(["sin", "exp"])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [name for name, *_ in lines] == ["sin", "exp"]
    (low, high), (lowest, highest) = ([float.fromhex(end) for end in ends] for _, *ends in lines)
    assert high == 2.0**17  # beyond, another way reduces the argument
    assert highest == math.inf
    assert 2.0**-126 < low <= 2.0**-28
    assert 2.0**-126 < lowest <= 2.0**-60
