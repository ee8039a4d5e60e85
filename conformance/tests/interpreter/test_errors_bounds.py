"""Error bounds of sums, products and choices, where they can be worked out by hand; and that they are not absurd.

Rules: grad.bound
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from adstack.error_analysis.bounds import bound, gradient_bound
from adstack.error_analysis.rounding import gamma, half_ulp, result_error
from adstack.ir.builder import Builder
from adstack.ir.structure import Kernel, Place, Region, Value
from adstack.ir.types import f16, f32, f64, i32

COUNT = 300


def sums(dtype, serial):
    """Adds up x, by a serial loop or by atomic additions."""
    x, total = Place("x", dtype, (COUNT,)), Place("total", dtype)
    b = Builder()
    lo, hi = b.const(0, i32), b.const(COUNT, i32)
    if serial:
        body = Region([Value(i32), Value(dtype)])
        with b.into(body):
            b.yield_(b.add(body.args[1], b.load(x, [body.args[0]])))
        b.store(total, [], b.for_(lo, hi, [b.const(0.0, dtype)], body)[0])
    else:
        body = Region([Value(i32)])
        with b.into(body):
            b.atomic("add", total, [], b.load(x, [body.args[0]]))
            b.yield_()
        b.parallel_for([(lo, hi)], body)
    b.return_()
    return Kernel("sums", b.region, {"x": x, "total": total})


def numbers(dtype, seed):
    x = np.random.default_rng(seed).uniform(-1, 1, COUNT).astype(dtype.numpy)
    return {"x": x, "total": np.zeros((), dtype.numpy)}


def exactly(x):
    return sum((Fraction(float(v)) for v in x), Fraction(0))


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize("seed", range(5))
def test_the_bound_of_an_atomic_sum_is_that_of_any_order(seed, dtype):
    buffers = numbers(dtype, seed)
    answer = bound(sums(dtype, serial=False), buffers)
    u = float(np.finfo(dtype.numpy).eps) / 2
    magnitudes = np.abs(buffers["x"].astype(float)).sum()
    assert math.isclose(
        answer.bounds["total"].item(), magnitudes * (COUNT - 1) * u / (1 - (COUNT - 1) * u), rel_tol=1e-12
    )
    for order in (buffers["x"], buffers["x"][::-1], np.sort(buffers["x"])):
        total = np.add.accumulate(order)[-1]
        assert abs(Fraction(float(total)) - exactly(order)) <= Fraction(answer.bounds["total"].item())


@pytest.mark.parametrize("dtype", [f16, f32, f64], ids=str)
@pytest.mark.parametrize("seed", range(5))
def test_the_bound_of_a_serial_sum_holds_and_is_at_most_that_of_any_order(seed, dtype):
    buffers = numbers(dtype, seed)
    answer, any_order = (bound(sums(dtype, serial), buffers) for serial in (True, False))
    error = abs(Fraction(float(answer.values["total"])) - exactly(buffers["x"]))
    assert error <= Fraction(answer.bounds["total"].item())
    assert answer.bounds["total"] <= any_order.bounds["total"]
    # partial sums of n numbers of either sign grow like the root of n, errors of that many additions by another root
    assert answer.bounds["total"].item() <= 8 * COUNT * float(np.finfo(dtype.numpy).eps) * math.sqrt(COUNT)


def test_more_additions_than_the_type_can_count_have_no_bound():
    assert gamma(np.array([1, 2047, 2048]), f16).tolist() == [pytest.approx(2.0**-11, rel=1e-3), 2047.0, math.inf]


def test_the_gradient_of_a_sum_has_no_error():
    buffers = numbers(f32, 0)
    adjoints = {"x": np.zeros(COUNT, np.float32), "total": np.ones((), np.float32)}
    for serial in (True, False):
        answer = gradient_bound(sums(f32, serial), buffers, (), adjoints)
        assert answer.values["x"].tolist() == [1.0] * COUNT
        assert answer.bounds["x"].tolist() == [0.0] * COUNT


def test_what_is_returned_has_a_bound():
    b = Builder()
    x = Value(f32, "x")
    b.region.define((x,))
    third = b.div(x, b.const(3.0, f32))
    b.return_(third, b.cast(third, i32))
    answer = bound(Kernel("k", b.region, {}, (f32, i32)), {}, [1.0])
    (value, error), (integer, none) = answer.returned
    assert abs(Fraction(value) - Fraction(1, 3)) <= Fraction(error) <= Fraction(2) ** -25
    assert (integer, none) == (0, 0.0)


@pytest.mark.parametrize("dtype", [f16, f32, f64], ids=str)
def test_half_a_unit_in_the_last_place(dtype):
    one, eps, largest = dtype.numpy.type(1), np.finfo(dtype.numpy).eps, np.finfo(dtype.numpy).max
    numbers = np.array([1, 1 + eps, 0, np.inf, np.nan, largest, 1 - eps / 2], dtype.numpy)
    with np.errstate(all="ignore"):
        got = half_ulp(numbers).tolist()
    least, top = float(np.nextafter(dtype.numpy.type(0), one)) / 2, float(largest - np.nextafter(largest, one)) / 2
    assert got == [float(eps) / 2, float(eps) / 2, least, math.inf, math.inf, top, float(eps) / 2]


def error(name, args, errors, dtype=f64):
    from adstack.ir.ops import TABLE

    arrays = [np.array([x]) for x in args]
    with np.errstate(all="ignore"):
        own = TABLE[name].meaning(dtype, *arrays)
        return result_error(TABLE[name], dtype, own, arrays, [np.array([e]) for e in errors]).item()


@pytest.mark.parametrize(
    ("name", "args", "errors", "least", "most"),
    [
        ("add", (1.0, 2.0), (0.25, 0.5), 0.75, 0.751),
        ("max", (1.0, 2.0), (0.25, 0.5), 0.5, 0.5),
        ("neg", (1.0,), (0.25,), 0.25, 0.25),
        ("abs", (-1.0,), (0.25,), 0.25, 0.25),
        ("select", (True, 1.0, 2.0), (0.0, 0.25, 0.5), 0.25, 0.25),
        ("select", (False, 1.0, 2.0), (0.0, 0.25, 0.5), 0.5, 0.5),
        ("floor", (1.5,), (0.25,), 0, 0),
        ("floor", (1.9,), (0.25,), 1, 1),
        ("round", (0.5,), (0.25,), 1, 1),
        ("mul", (3.0, 5.0), (0.5, 0.25), 0.5 * 5.25 + 3 * 0.25, 0.5 * 5.25 + 3.5 * 0.26),
        ("mul", (0.0, 5.0), (0.0, 0.25), 0, 0),
        ("div", (1.0, 2.0), (0.0, 0.5), 1 / 1.5 - 0.5, 0.5),
        ("div", (1.0, 0.25), (0.0, 0.5), math.inf, math.inf),
        ("sqrt", (1e-10,), (1e-10,), 0.9e-5, 2e-5),
        ("sqrt", (1e-10,), (2e-10,), math.inf, math.inf),
        ("sin", (0.0,), (0.1,), 0.1, 0.11),
        ("sin", (math.pi / 2,), (0.1,), 1 - math.cos(0.1), 0.101),
        ("tanh", (0.05,), (0.1,), math.tanh(0.15) - math.tanh(0.05), 0.11),
        ("tan", (1.5,), (0.1,), math.inf, math.inf),
        ("tan", (0.5,), (0.1,), math.tan(0.6) - math.tan(0.5), 0.15),
        ("cbrt", (0.0,), (1e-6,), 0.01, 0.02),
        ("atan2", (0.0, -1.0), (0.1, 0.0), math.tau, 6.3),
        ("atan2", (0.0, 1.0), (0.1, 0.0), math.atan(0.1), 0.101),
        ("hypot", (0.0, 0.0), (0.1, 0.1), math.hypot(0.1, 0.1), 0.21),
        ("exp", (0.0,), (1.0,), math.e - 1, math.e * 1.01),
        ("pow", (2.0, 3.0), (0.0, 0.0), 0, 1e-14),
        ("pow", (-2.0, 3.0), (0.125, 0.0), 1.58, 2.0),
    ],
)
def test_what_operands_bring(name, args, errors, least, most):
    assert least <= error(name, args, errors) <= most


NEAR = {
    "mul": ((3.0, -0.5), (0.25, 1.0)), "div": ((-1.0, 0.75), (0.5, 0.5)), "fma": ((0.0, 2.0, 1.0), (0.5, 3.0, 0.125)),
    "sin": ((1.5,), (0.5,)), "cos": ((-0.125,), (3.0,)), "exp": ((2.0,), (1.0,)), "log": ((0.5,), (0.4375,)),
    "sqrt": ((0.25,), (0.25,)), "tanh": ((-0.25,), (0.5,)), "atan": ((2.0,), (1.5,)),
}  # fmt: skip


@pytest.mark.parametrize("name", NEAR)
def test_no_number_inside_the_box_is_farther_away_than_the_bound_and_some_is_nearly_as_far(name):
    from adstack.ir.ops import TABLE

    middle, reach = NEAR[name]
    axes = [np.linspace(x - e, x + e, 101) for x, e in zip(middle, reach, strict=True)]
    there = [axis.ravel() for axis in np.meshgrid(*axes)]
    exactly = {"sin": np.sin, "cos": np.cos, "exp": np.exp, "log": np.log, "tanh": np.tanh, "atan": np.arctan}
    meaning = TABLE[name].meaning
    moved = exactly[name](*there) if name in exactly else meaning(f64, *there)
    here = exactly[name](*middle) if name in exactly else meaning(f64, *(np.array([x]) for x in middle))
    farthest, limit = np.abs(moved - here).max(), error(name, middle, reach)
    assert farthest <= limit * (1 + 1e-12)
    assert limit <= 4 * farthest
