"""numpy's functions of numbers of the host: they have derivatives, or are errors where a link would be lost.

Rules: grad.linked, grad.unlinked
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.values.numpy_rules import RULES

AT = 0.7
LINKED: list[Callable[[Any], Any]] = [
    np.square,
    np.reciprocal,
    lambda v: np.remainder(5.5, v),
    lambda v: np.mod(v, 0.3),
    lambda v: np.fmod(-5.5, v),
    lambda v: np.fmax(v, 0.5) + np.fmin(v, 0.5),
    np.positive,
    lambda v: np.clip(v, 0.0, 5.0),
    lambda v: np.clip(v, None, v * v),
    lambda v: np.clip(v, v + 1.0, 9.0),
    lambda v: np.logaddexp(v, 1.5) + np.logaddexp2(0.25, v),
    np.arcsinh,
    lambda v: np.arccosh(v + 1.0),
    np.arctanh,
    np.sinc,
    lambda v: np.deg2rad(v) + np.radians(v),
    lambda v: np.rad2deg(v) + np.degrees(v),
    lambda v: np.copysign(v, -2.0) + np.copysign(3.0, v),
    lambda v: np.add(v, v, dtype=float),
    lambda v: np.multiply(v, np.array(2.0)),
    lambda v: v * np.array(2.0) + np.array(3.0) * v,
    lambda v: v.real * v.conjugate() + np.real(v) * np.conj(v),
    lambda v: np.bool_(True) * v * Fraction(1, 2),
    lambda v: np.heaviside(0.0, v),
    lambda v: np.hypot(np.power(v, 2), np.arctan2(v, 2.0)),
]
LOST: list[Callable[[Any], Any]] = [
    lambda v: np.where(True, v, 0.0),
    np.sum,
    np.mean,
    np.nan_to_num,
    lambda v: np.polyval([1.0, 2.0], v),
    lambda v: np.interp(v, [0.0, 9.0], [0.0, 9.0]),
    np.modf,
    lambda v: np.divmod(v, 2.0),
    np.add.reduce,
    lambda v: np.nextafter(v, 9.0),
    lambda v: np.ldexp(v, 2),
    lambda v: np.add(v, v, dtype=np.float32),
    lambda v: np.add(v, v, out=np.zeros(())),
    np.linalg.norm,
]
PLAIN: list[Callable[[Any], Any]] = [
    np.floor,
    np.rint,
    np.sign,
    lambda v: np.round(v, 1),
    lambda v: np.isclose(v, 0.7) and np.allclose(v, [0.7]),
    lambda v: np.isfinite(v) and not np.signbit(v) and np.less(v, 1.0),
    np.ndim,
    np.imag,
    lambda v: (np.ones(2) * v)[1],
    lambda v: np.full_like(np.ones(2), v)[1],
    lambda v: f"{v:.1f}" == "0.7",
]


class World:
    """A number, and a kernel that returns it."""

    def __init__(self) -> None:
        self.x, self.y = (qd.field(qd.f64, shape=(), needs_grad=True, needs_dual=True) for _ in range(2))
        x = self.x

        @qd.kernel
        def get() -> qd.f64:
            return x[None]

        self.get = get
        x[None] = AT


@pytest.mark.parametrize("function", LINKED)
def test_derivatives_are_those_of_finite_differences(arch: str, function: Callable[[Any], Any]) -> None:
    world, h = World(), 1e-6
    with qd.ad.Tape(world.y):
        world.y[None] = function(world.get())
    with qd.ad.FwdMode(loss=world.y, param=world.x, seed=[1.0]):
        dual = function(world.get()).dual
    difference = (float(function(np.float64(AT + h))) - float(function(np.float64(AT - h)))) / (2 * h)
    assert world.y[None] == float(function(np.float64(AT)))
    assert world.x.grad[None] == pytest.approx(difference, rel=1e-6)
    assert dual == world.x.grad[None]


@pytest.mark.parametrize("function", LOST)
def test_what_would_lose_the_link_is_an_error(arch: str, function: Callable[[Any], Any]) -> None:
    world = World()
    with qd.ad.FwdMode(loss=world.y, param=world.x, seed=[1.0]):
        v = world.get()
        with pytest.raises(
            qd.AdstackRuntimeError, match=r"numpy\..* of a number can't be linked(.|\n)*float\(\.\.\.\)"
        ):
            function(v)
        function(float(v))
    function(v)  # which is a plain number by now


@pytest.mark.parametrize("function", PLAIN)
def test_what_has_no_derivative_gives_plain_numbers(arch: str, function: Callable[[Any], Any]) -> None:
    world = World()
    with qd.ad.FwdMode(loss=world.y, param=world.x, seed=[1.0]):
        result = function(world.get())
    assert not hasattr(result, "dual")
    assert np.all(result == function(AT))


def test_kinks_and_edges_are_those_of_the_language() -> None:
    with np.errstate(all="ignore"):
        assert RULES["fmax"]([1.0, 1.0], 1.0) == [0.0, 1.0]
        assert RULES["copysign"]([0.0, -1.0], -0.0)[0] == 0.0
        assert RULES["arctanh"]([1.0], np.inf) == [np.inf]
        assert np.isnan(RULES["arctanh"]([2.0], np.nan)[0])
        assert RULES["arccosh"]([1.0], 0.0) == [np.inf]
        assert np.isnan(RULES["arccosh"]([-2.0], np.nan)[0])
        assert RULES["sinc"]([0.0], 1.0) == [0.0]


@pytest.mark.parametrize("other", [np.float32(0.5), np.int64(2), np.array(0.5)])
def test_numbers_of_numpy_beside_linked_ones(arch: str, other: Any) -> None:
    world = World()
    v = qd.Vector.field(2, qd.f64, shape=1, needs_grad=True)
    y = world.y

    @qd.kernel
    def total():
        y[None] += 3.0 * v[0].x + 5.0 * v[0].y

    with qd.ad.Tape(y):
        v[0] = [world.get(), other]
        total()
    assert world.x.grad[None] == 3.0
    assert v.grad.to_numpy().tolist() == [[0.0, 5.0]]
