"""The orbit of a planet from where it was seen: a fit by Newton's method, of a model that runs Newton's method itself.

Where a planet stands at a given time follows from Kepler's equation, E - e sin E = M, which has no closed solution. The
kernel solves it for each observation by Newton's method, in a `while` loop that ends when the angle no longer changes.
Forward mode gives the derivatives of all residuals along one parameter at a time, and Gauss-Newton steps fit the
parameters; reverse mode gives the gradient of the sum of squares at once. Both go through the loop, and agree.

    python examples/newton_fit.py [ARCH]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import adstack as qd

Array = npt.NDArray[Any]
Outcome = tuple[list[float], dict[str, Array]]

SEEN, PARAMETERS, ITERATIONS = 24, 3, 8  # parameters: eccentricity, period, time of the perihelion


@qd.data_oriented
class Orbit:
    """An orbit by its parameters, and how far each observation is from it; the semi-major axis has length one."""

    def __init__(self) -> None:
        self.parameters = qd.field(qd.f64, shape=PARAMETERS, needs_grad=True, needs_dual=True)
        self.when = qd.field(qd.f64, shape=SEEN)
        self.seen = qd.Vector.field(2, qd.f64, shape=SEEN)
        self.residual = qd.Vector.field(2, qd.f64, shape=SEEN, needs_grad=True, needs_dual=True)
        self.loss = qd.field(qd.f64, shape=(), needs_grad=True)
        self.when.from_numpy(np.linspace(0.0, 1.2, SEEN))

    @qd.kernel
    def compare(self) -> None:
        e = self.parameters[0]
        for i in self.when:
            mean = 2.0 * qd.math.pi * (self.when[i] - self.parameters[2]) / self.parameters[1]
            angle = mean
            change = 1.0
            while qd.abs(change) > 1e-14:
                change = (angle - e * qd.sin(angle) - mean) / (1.0 - e * qd.cos(angle))
                angle -= change
            place = qd.Vector([qd.cos(angle) - e, qd.sqrt(1.0 - e * e) * qd.sin(angle)])
            self.residual[i] = place - self.seen[i]

    @qd.kernel
    def total(self) -> None:
        for i in self.residual:
            self.loss[None] += self.residual[i].norm_sqr()

    def gradient(self) -> Array:
        """The gradient of the sum of squares, by reverse mode."""
        with qd.ad.Tape(self.loss):
            self.compare()
            self.total()
        return np.asarray(self.parameters.grad.to_numpy())

    def jacobian(self) -> Array:
        """The derivatives of all residuals by forward mode, a column for each parameter."""
        columns = []
        for direction in np.eye(PARAMETERS):
            with qd.ad.FwdMode(loss=self.residual, param=self.parameters, seed=list(direction)):
                self.compare()
            columns.append(self.residual.dual.to_numpy().reshape(-1))
        return np.stack(columns, axis=1)


def main(arch: str = "cpu") -> Outcome:
    """Fits the orbit; returns the sum of squares before every step, and what the picture shows."""
    qd.init(arch=arch, default_fp=qd.f64)
    orbit, truth, guess = Orbit(), np.array([0.4, 1.3, 0.1]), np.array([0.2, 1.2, 0.0])
    orbit.parameters.from_numpy(truth)
    orbit.compare()
    orbit.seen.from_numpy(orbit.residual.to_numpy())

    losses, first = [], orbit.seen.to_numpy()
    for _ in range(ITERATIONS):
        orbit.parameters.from_numpy(guess)
        gradient, slopes = orbit.gradient(), orbit.jacobian()
        losses.append(float(orbit.loss[None]))
        first = first if len(losses) > 1 else orbit.residual.to_numpy() + orbit.seen.to_numpy()
        errors = orbit.residual.to_numpy().reshape(-1)
        assert np.allclose(gradient, 2.0 * slopes.T @ errors, rtol=1e-9, atol=1e-12)
        guess = guess - np.linalg.lstsq(slopes, errors, rcond=None)[0]
    assert losses[-1] < 1e-20 * losses[0], losses
    assert np.allclose(guess, truth, rtol=1e-9), guess
    return losses, {"the first guess, and what was seen": np.stack([first, orbit.seen.to_numpy()])}


if __name__ == "__main__":
    history, _ = main(*sys.argv[1:2])
    print(f"sum of squares: {', '.join(f'{value:.1e}' for value in history)}")
