"""Derivatives of the table: right to within rounding at interior points, and as the specification says at the others.

Rules: grad.table, grad.kinks, grad.edges, grad.ties, grad.choice, grad.stops
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from exactly import FUNCTIONS, mp

from adstack.error_analysis.rounding import Bounded, half_ulp
from adstack.interpreter import run
from adstack.ir.builder import Builder
from adstack.ir.ops import TABLE
from adstack.ir.pulls import Saved
from adstack.ir.structure import Kernel
from adstack.ir.types import f16, f32, f64, u1
from adstack.oracle.numbers import Num
from adstack.transforms.math import library  # noqa: F401  (what transcendental rows mean)
from adstack.transforms.math.num import Num as Built

RULES = {row.name for row in TABLE.values() if row.pulls}
NOT_DIFFERENTIABLE = {row.name for row in TABLE.values() if row.pulls == ()}

INF, NAN = math.inf, math.nan
SPREAD = (0.3, -0.7, 1.9, -2.6)
UNARY = {
    **dict.fromkeys(
        ("neg", "abs", "sin", "cos", "atan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "cbrt"), SPREAD
    ),
    "tan": (0.3, -1.1, 1.5, 40.0),
    "sqrt": (1e-6, 0.3, 2.0, 1e6),
    "rsqrt": (1e-6, 0.3, 2.0, 1e6),
    "asin": (0.3, -0.7, 0.99, -0.999),
    "acos": (0.3, -0.7, 0.99, -0.999),
    "log": (1e-6, 0.3, 2.0, 1e6),
    "log2": (1e-6, 0.3, 2.0, 1e6),
    "log10": (1e-6, 0.3, 2.0, 1e6),
    "log1p": (-0.9, 1e-6, 0.3, 2.0, 1e6),
}
PAIRS = ((0.3, 0.7), (-0.3, 1.7), (2.5, -1.25), (-4.0, -0.5))
BINARY = {
    **dict.fromkeys(("add", "sub", "mul", "div", "max", "min", "hypot", "atan2"), PAIRS),
    "pow": ((0.3, 0.7), (1.7, -2.5), (2.5, 3.0), (4.0, 0.5)),
}
HUGE = {
    "atan2": ((1e-25, 1e-25), (3e-25, -1e-30), (1e25, 2e25), (-1e30, 1e10)),
    "hypot": ((1e-25, 1e-25), (1e25, 2e25)),
}
POINTS = [
    *((name, (x,)) for name, points in UNARY.items() for x in points),
    *((name, pair) for table in (BINARY, HUGE) for name, points in table.items() for pair in points),
    *(("fma", point) for point in ((0.3, 0.7, -1.5), (-2.0, 3.0, 6.5))),
]


def pulls_of(name):
    """What the row says now: a mutation changes it after this module was imported."""
    return TABLE[name].pulls


def change(name, k, operands, dtype, g=1.5):
    """What a pull makes of an adjoint, with a bound on its error."""
    meaning = TABLE[name].meaning
    with np.errstate(all="ignore"):
        arrays = [np.array([x], u1.numpy if isinstance(x, bool) else dtype.numpy) for x in operands]
        result = meaning(dtype, *arrays)
        numbers = [Num(u1, a) if a.dtype == bool else Bounded(dtype, a, np.zeros(1)) for a in arrays]
        budget = TABLE[name].budget.of(dtype)
        numbers.append(Bounded(dtype, result, (1 + 2 * budget) * half_ulp(result)))
        letters = [*"xyz"[: len(operands)], "r"]
        pull = pulls_of(name)[k]
        saved = Saved(**{letter: n for letter, n in zip(letters, numbers, strict=True) if letter in pull.needs})
        return pull.map(Bounded(dtype, np.array([g], dtype.numpy), np.zeros(1)), saved)


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize(("name", "point"), POINTS, ids=lambda value: str(value).replace(" ", ""))
def test_a_pull_is_the_derivative_to_within_its_own_rounding(name, point, dtype):
    operands = [dtype(x) for x in point]
    for k in range(len(operands)):
        got = change(name, k, operands, dtype)
        order = tuple(int(k == j) for j in range(len(operands)))
        exact = [mp.mpf(x) for x in operands]
        want = 1.5 * mp.diff(
            FUNCTIONS[name], exact[0] if len(exact) == 1 else tuple(exact), order if len(exact) > 1 else 1
        )
        assert abs(mp.mpf(got.value.item()) - want) <= got.error.item()
        assert got.error.item() <= abs(float(want)) * 2**12 * np.finfo(dtype.numpy).eps + np.finfo(dtype.numpy).tiny


def test_a_cast_of_real_numbers_passes_changes_on():
    (pull,) = pulls_of("cast")
    assert pull.map(-2.5, Saved()) == -2.5


AWKWARD = [
    ("abs", (0.0,), (0,)),
    ("abs", (-0.0,), (0,)),
    ("abs", (NAN,), (NAN,)),
    ("abs", (INF,), (1,)),
    ("abs", (-INF,), (-1,)),
    ("max", (2.0, 2.0), (0, 1)),
    ("min", (2.0, 2.0), (0, 1)),
    ("max", (0.0, -0.0), (0, 1)),
    ("max", (NAN, 2.0), (0, 1)),
    ("max", (2.0, NAN), (1, 0)),
    ("min", (NAN, 2.0), (0, 1)),
    ("min", (2.0, NAN), (1, 0)),
    ("select", (True, 1.0, NAN), (None, 1, 0)),
    ("select", (False, INF, 1.0), (None, 0, 1)),
    ("sqrt", (0.0,), (INF,)),
    ("sqrt", (-0.0,), (INF,)),
    ("sqrt", (-1.0,), (NAN,)),
    ("sqrt", (INF,), (0,)),
    ("rsqrt", (0.0,), (-INF,)),
    ("rsqrt", (-0.0,), (-INF,)),
    ("rsqrt", (-1.0,), (NAN,)),
    ("cbrt", (0.0,), (INF,)),
    ("cbrt", (-0.0,), (INF,)),
    ("log", (0.0,), (INF,)),
    ("log", (-0.0,), (INF,)),
    ("log", (-1.0,), (NAN,)),
    ("log2", (0.0,), (INF,)),
    ("log2", (-1.0,), (NAN,)),
    ("log10", (-0.0,), (INF,)),
    ("log10", (-1.0,), (NAN,)),
    ("log1p", (-1.0,), (INF,)),
    ("log1p", (-2.0,), (NAN,)),
    ("asin", (1.0,), (INF,)),
    ("asin", (-1.0,), (INF,)),
    ("asin", (2.0,), (NAN,)),
    ("acos", (1.0,), (-INF,)),
    ("acos", (-1.0,), (-INF,)),
    ("acos", (2.0,), (NAN,)),
    ("atan2", (0.0, 0.0), (NAN, NAN)),
    ("atan2", (0.0, 2.0), (0.5, 0)),
    ("atan2", (2.0, 0.0), (0, -0.5)),
    ("atan2", (INF, 1.0), (0, 0)),
    ("atan2", (1.0, INF), (0, 0)),
    ("hypot", (0.0, 0.0), (NAN, NAN)),
    ("hypot", (0.0, 3.0), (0, 1)),
    ("div", (1.0, 0.0), (INF, -INF)),
    ("pow", (0.0, 0.0), (0, -INF)),
    ("pow", (5.0, 0.0), (0, "log(5)")),
    ("pow", (0.0, 1.0), (1, 0)),
    ("pow", (0.0, 2.0), (0, 0)),
    ("pow", (0.0, 0.5), (INF, 0)),
    ("pow", (-2.0, 3.0), (12, NAN)),
    ("pow", (-2.0, 0.5), (NAN, NAN)),
    ("tanh", (1000.0,), (0,)),
    ("exp", (-INF,), (0,)),
]


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize(("name", "operands", "derivatives"), AWKWARD, ids=lambda value: str(value).replace(" ", ""))
def test_awkward_points(name, operands, derivatives, dtype):
    for k, want in enumerate(derivatives):
        if want is None:
            assert pulls_of(name)[k] is None
        elif isinstance(want, str):
            got = change(name, k, operands, dtype, 1.0)
            assert abs(got.value.item() - math.log(5)) <= got.error.item()
        else:
            got = change(name, k, operands, dtype, 1.0).value.item()
            assert got == want or (math.isnan(got) and math.isnan(want)), (k, got)


def test_what_a_choice_does_not_take_is_no_contribution():
    g = Num(f32, np.array([2.0, 3.0], np.float32), live=np.array([True, True]))
    saved = Saved(x=Num(u1, np.array([True, False])))
    _, to_first, to_second = pulls_of("select")
    assert to_first.map(g, saved).live.tolist() == [True, False]
    assert to_second.map(g, saved).live.tolist() == [False, True]


def test_every_scalar_operation_has_a_rule_or_is_listed_as_not_differentiable():
    scalar = {name for name, row in TABLE.items() if row.meaning is not None}
    assert scalar == RULES | NOT_DIFFERENTIABLE
    assert set() == RULES & NOT_DIFFERENTIABLE


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_rule_has_a_pull_or_none_per_operand(name):
    words = TABLE[name].signature.inputs
    assert len(pulls_of(name)) == len(words)
    assert [pull is None for pull in pulls_of(name)] == [word == "u1" for word in words]


@pytest.mark.parametrize("name", sorted(RULES - {"select", "cast"}))
def test_every_rule_is_tried_at_interior_points(name):
    assert name in {tried for tried, _ in POINTS}


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_pull_is_linear_in_the_change(name):
    count = len(pulls_of(name))
    point = {"asin": (0.3,), "acos": (0.3,), "select": (True, 0.3, 0.7)}.get(name, (1.3, 0.7, 2.1)[:count])
    for k, pull in enumerate(pulls_of(name)):
        if pull is not None:
            one, two = (change(name, k, point, f64, g).value.item() for g in (1.0, 2.0))
            assert two == 2 * one


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_pull_names_every_primal_it_looks_at_and_no_other(name):
    class Watched(Saved):
        def __getattribute__(self, letter):
            if letter in "xyzr":
                seen.add(letter)
            return super().__getattribute__(letter)

    for pull in pulls_of(name):
        if pull is not None:
            seen: set[str] = set()
            shown = {letter: Num(f64, np.array([0.25])) for letter in pull.needs}
            if name == "select":
                shown["x"] = Num(u1, np.array([True]))
            pull.map(Num(f64, np.array([1.0])), Watched(**shown))
            assert seen == set(pull.needs)


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_pull_works_in_half_precision(name):
    point = {"asin": (0.25,), "acos": (0.25,), "select": (True, 0.25, 0.75)}.get(
        name, (1.25, 0.75, 2.0)[: len(pulls_of(name))]
    )
    for k, pull in enumerate(pulls_of(name)):
        if pull is not None:
            coarse, fine = (change(name, k, point, dtype) for dtype in (f16, f64))
            assert coarse.value.dtype == np.float16
            assert abs(coarse.value.item() - fine.value.item()) <= coarse.error.item() + fine.error.item()


def emitted(name, k, operands, dtype):
    """What the pull's operations give when they are written as IR and interpreted."""
    b = Builder()
    values = [b.const(x, u1 if isinstance(x, bool) else dtype) for x in operands]
    shown = dict(zip("xyz", (Built(b, v) for v in values), strict=False), r=Built(b, b.emit(TABLE[name], *values)))
    pull = pulls_of(name)[k]
    saved = Saved(**{letter: shown[letter] for letter in pull.needs})
    b.return_(pull.map(Built(b, b.const(1.5, dtype)), saved).v)
    (result,) = run(Kernel("k", b.region, {}, (dtype,)), {})
    return result


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize(
    ("name", "operands"),
    [*POINTS, *((name, point) for name, point, _ in AWKWARD)],
    ids=lambda v: str(v).replace(" ", ""),
)
def test_a_pull_has_the_same_bits_in_ir_and_in_arrays(name, operands, dtype):
    for k, pull in enumerate(pulls_of(name)):
        if pull is not None:
            wanted = dtype.numpy.type(change(name, k, operands, dtype).value.item())
            got = dtype.numpy.type(emitted(name, k, operands, dtype))
            assert got.tobytes() == wanted.tobytes() or (np.isnan(got) and np.isnan(wanted))
