"""What the tests of differentiation share: programs from x to y, and what their derivatives have to agree with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import adstack as qd

Array = npt.NDArray[Any]
STEPS = (2.0, 1.0, 0.5, 0.25)


class Program:
    """`run()` computes the field y from the field x; both have gradients and duals."""

    def __init__(self, make: Callable[[Any, Any], Callable[[], None]], n: int = 4, m: int = 3, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.x = qd.field(qd.f64, shape=n, needs_grad=True, needs_dual=True)
        self.y = qd.field(qd.f64, shape=m, needs_grad=True, needs_dual=True)
        self.x0 = self.rng.uniform(0.4, 1.6, n)
        self.y0 = self.rng.uniform(0.4, 1.6, m)
        self.run = make(self.x, self.y)

    def start(self, x0: Array | None = None) -> None:
        """Memory as it is before a run."""
        self.x.from_numpy(self.x0 if x0 is None else x0)
        self.y.from_numpy(self.y0)

    def value(self, x0: Array) -> Array:
        """What y is for an x."""
        self.start(x0)
        self.run()
        return self.y.to_numpy()

    def forward(self, direction: Array) -> Array:
        """The tangent of y along a direction of x."""
        self.start()
        with qd.ad.FwdMode(loss=self.y, param=self.x, seed=direction):
            self.run()
        return self.y.dual.to_numpy()

    def reverse(self, weights: Array, kernel: Any) -> Array:
        """The gradient of the weighted sum of y."""
        self.start()
        self.run()
        self.x.grad.fill(0)
        self.y.grad.from_numpy(weights)
        kernel.grad()
        return self.x.grad.to_numpy()


def check_forward(program: Program) -> None:
    """Tangents agree with finite differences, as far as those agree among themselves."""
    direction = program.rng.normal(size=program.x0.shape)
    tangent = program.forward(direction)
    estimates = [_difference(program, direction, scale) for scale in STEPS]
    low, high = np.min(estimates, 0), np.max(estimates, 0)
    spread = high - low
    assert np.all((low - spread <= tangent) & (tangent <= high + spread)), (tangent, estimates)


def _difference(program: Program, direction: Array, scale: float) -> Array:
    step = scale * np.finfo(np.float64).eps ** (1 / 3)
    plus, minus = (program.value(program.x0 + sign * step * direction) for sign in (1, -1))
    difference: Array = (plus - minus) / (2 * step)
    return difference


def check_dot(program: Program, kernel: Any) -> None:
    """<weights, J direction> = <J^T weights, direction>, up to the rounding of the sums."""
    direction = program.rng.normal(size=program.x0.shape)
    weights = program.rng.normal(size=program.y0.shape)
    right = weights * program.forward(direction)
    left = program.reverse(weights, kernel) * direction
    size = np.abs(left).sum() + np.abs(right).sum()
    # each side is a few hundred roundings away from the exact value, at most
    assert abs(left.sum() - right.sum()) <= 256 * np.finfo(np.float64).eps * size
