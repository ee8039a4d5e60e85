"""Error bounds of runs: they hold through launches in place, they are tight, and asking leaves memory as it was."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import adstack as qd
from adstack.inspection import error_bounds

START = np.array([0.1, 0.7, 1.3], np.float32)
STEPS = 4


@pytest.fixture(params=["reference", "cpu"], autouse=True)
def arch(request: Any) -> None:
    qd.init(arch=request.param)


class World:
    """x <- x x (in place), several times; then y <- 3 x."""

    def __init__(self) -> None:
        x = self.x = qd.field(qd.f32, shape=3, needs_grad=True, needs_dual=True)
        y = self.y = qd.field(qd.f32, shape=3, needs_grad=True, needs_dual=True)
        x.from_numpy(START)

        @qd.kernel
        def square():
            for i in x:
                x[i] = x[i] * x[i]

        @qd.kernel
        def triple(a: qd.f32):
            for i in x:
                y[i] = a * x[i]

        def run() -> None:
            for _ in range(STEPS):
                square()
            triple(3.0)

        self.run: Callable[[], None] = run


def truth(start: np.float32) -> Fraction:
    return 3 * Fraction(float(start)) ** (2**STEPS)


def slope(start: np.float32) -> Fraction:
    return 3 * 2**STEPS * Fraction(float(start)) ** (2**STEPS - 1)


def check(values: Any, exact: Any, bounds: Any) -> None:
    """Within the bound, and the bound is no larger than rounding every step, doubled by every square, can explain."""
    for value, want, limit in zip(values.tolist(), exact, bounds.tolist(), strict=True):
        assert abs(Fraction(value) - want) <= Fraction(limit)
        assert 0 < limit <= abs(float(want)) * 2.0**-24 * 2 ** (STEPS + 3)


def test_values_stay_within_their_bounds_over_launches() -> None:
    world = World()
    (bounds,) = error_bounds(world.run, "value", [world.y])
    assert np.array_equal(world.x.to_numpy(), START)
    assert not world.y.to_numpy().any()
    world.run()
    check(world.y.to_numpy(), map(truth, START), bounds)


def test_gradients_stay_within_their_bounds_over_launches() -> None:
    world = World()
    loss = qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def total():
        for i in world.y:
            loss[None] += world.y[i]

    def run() -> None:
        world.run()
        total()

    loss.grad.fill(1)
    (bounds,) = error_bounds(run, "grad", [world.x])
    with qd.ad.Tape(loss):
        run()
    check(world.x.grad.to_numpy(), map(slope, START), bounds)


def test_duals_stay_within_their_bounds_over_launches() -> None:
    world = World()
    world.x.dual.fill(1)
    (bounds,) = error_bounds(world.run, "dual", [world.y])
    with qd.ad.FwdMode(loss=world.y, param=world.x, seed=[1.0] * 3):
        world.run()
    check(world.y.dual.to_numpy(), map(slope, START), bounds)


def test_arrays_have_bounds_too_and_untouched_ones_have_none() -> None:
    a, other = qd.ndarray(qd.f32, shape=(3,), needs_grad=True), qd.ndarray(qd.f32, shape=(2,))
    a.from_numpy(START)
    y = qd.field(qd.f32, shape=3, needs_grad=True)

    @qd.kernel
    def k(a: qd.types.ndarray()):
        for i in y:
            y[i] = a[i] * a[i]

    y.grad.fill(0.7)
    bounds, nothing = error_bounds(lambda: k(a), "value", [y, other])
    assert nothing.tolist() == [0, 0]
    assert (np.abs(bounds - np.spacing(START * START) / 2) <= np.spacing(START)).all()
    (bounds,) = error_bounds(lambda: k(a), "grad", [a])
    k(a)
    k.grad(a)
    exact = 2 * float(np.float32(0.7)) * START.astype(float)
    assert (np.abs(a.grad.to_numpy().astype(float) - exact) <= bounds).all()
    assert (bounds > 0).all()
    assert (bounds <= 4 * np.spacing(exact.astype(np.float32))).all()


def test_memory_is_put_back_if_the_run_fails() -> None:
    world = World()

    def run() -> None:
        world.run()
        raise KeyError

    with pytest.raises(KeyError):
        error_bounds(run, "value", [world.y])
    assert np.array_equal(world.x.to_numpy(), START)
