"""A block of jelly is thrown so that it ends where it should: the material point method, and its gradient.

Particles carry the material, and a grid computes how they push each other (Hu et al., A moving least squares material
point method, 2018). Everything is overwritten in each step: the tape keeps what the gradient needs of it.

    python examples/falling_jelly.py [ARCH]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import adstack as qd

Array = npt.NDArray[Any]
Outcome = tuple[list[float], dict[str, Array]]

GRID, DT, GRAVITY = 24, 2e-3, 9.8
CELL = 1.0 / GRID
VOLUME, STIFFNESS, BULK, FLOOR = (0.5 * CELL) ** 2, 40.0, 80.0, 3


@qd.func
def nearest(x: qd.math.vec2) -> Any:
    """The first of the three nearest cells along each axis, the place in it, the weights: a quadratic B-spline."""
    base = qd.cast(x / CELL - 0.5, qd.i32)
    fx = x / CELL - qd.cast(base, qd.f32)
    return base, fx, [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]


@qd.data_oriented
class Jelly:
    """Particles in the unit square, each of density one."""

    def __init__(self, start: Array) -> None:
        count = len(start)
        vector, matrix = qd.types.vector(2, qd.f32), qd.types.matrix(2, 2, qd.f32)
        self.start = start
        self.x, self.v = (qd.field(vector, shape=count, needs_grad=True) for _ in range(2))
        self.affine, self.strain = (qd.field(matrix, shape=count, needs_grad=True) for _ in range(2))
        self.momentum = qd.field(vector, shape=(GRID, GRID), needs_grad=True)
        self.mass = qd.field(qd.f32, shape=(GRID, GRID), needs_grad=True)
        self.throw = qd.field(vector, shape=(), needs_grad=True)
        self.loss = qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def begin(self) -> None:
        for p in self.v:
            self.v[p] = self.throw[None]
            self.strain[p] = qd.Matrix([[1.0, 0.0], [0.0, 1.0]])
            self.affine[p] = qd.Matrix([[0.0, 0.0], [0.0, 0.0]])

    @qd.kernel
    def to_grid(self) -> None:
        for p in self.x:
            base, fx, w = nearest(self.x[p])
            f = self.strain[p]
            unit = qd.Matrix([[1.0, 0.0], [0.0, 1.0]])  # the stress is that of a neo-Hookean material
            stress = STIFFNESS * (f @ f.transpose() - unit) + BULK * qd.log(f.determinant()) * unit
            push = VOLUME * (self.affine[p] - DT * 4.0 / CELL**2 * stress)
            for i, j in qd.static(qd.ndrange(3, 3)):
                away = (qd.Vector([float(i), float(j)]) - fx) * CELL
                weight = w[i][0] * w[j][1]
                self.momentum[base + qd.Vector([i, j])] += weight * (VOLUME * self.v[p] + push @ away)
                self.mass[base + qd.Vector([i, j])] += weight * VOLUME

    @qd.kernel
    def on_grid(self) -> None:
        for i, j in self.mass:
            if self.mass[i, j] > 0.0:
                speed = self.momentum[i, j] / self.mass[i, j] - qd.Vector([0.0, DT * GRAVITY])
                if j < FLOOR:
                    speed[1] = qd.max(speed[1], 0.0)
                self.momentum[i, j] = speed

    @qd.kernel
    def to_particles(self) -> None:
        for p in self.x:
            base, fx, w = nearest(self.x[p])
            speed, affine = qd.Vector([0.0, 0.0]), qd.Matrix([[0.0, 0.0], [0.0, 0.0]])
            for i, j in qd.static(qd.ndrange(3, 3)):
                there = w[i][0] * w[j][1] * self.momentum[base + qd.Vector([i, j])]
                speed += there
                affine += 4.0 / CELL * there.outer_product(qd.Vector([float(i), float(j)]) - fx)
            self.v[p], self.affine[p] = speed, affine
            self.strain[p] = self.strain[p] + DT * affine @ self.strain[p]
            self.x[p] = self.x[p] + DT * speed

    @qd.kernel
    def compare(self) -> None:
        for p in self.x:
            self.loss[None] += (self.x[p] - qd.Vector([0.7, 0.5])).norm_sqr() / self.x.shape[0]

    def differentiate(self, throw: Array, steps: int) -> tuple[float, Array]:
        """The mean squared distance from where it should be, and its gradient by the velocity of the throw."""
        self.throw.from_numpy(throw)
        self.x.from_numpy(self.start)
        with qd.ad.Tape(self.loss):
            self.begin()
            for _ in range(steps):
                self.momentum.fill(0.0)
                self.mass.fill(0.0)
                self.to_grid()
                self.on_grid()
                self.to_particles()
            self.compare()
        return float(self.loss[None]), self.throw.grad.to_numpy()


def main(arch: str = "cpu", *, side: int = 10, steps: int = 120, iterations: int = 10) -> Outcome:
    """Finds the throw; returns the loss of every iteration, and what the picture shows."""
    qd.init(arch=arch)
    grid = 0.25 + 0.5 * CELL * np.indices((side, side)).reshape(2, -1).T.astype(np.float32)
    jelly, losses = Jelly(grid), []
    throw: Array = np.array([0.3, 0.0])
    for _ in range(iterations):
        loss, gradient = jelly.differentiate(throw, steps)
        losses.append(loss)
        throw = throw - 0.5 * gradient / (steps * DT) ** 2
    assert losses[-1] < 0.5 * losses[0], losses
    return losses, {"the start": grid, "the end": jelly.x.to_numpy()}


if __name__ == "__main__":
    history, _ = main(*sys.argv[1:2])
    print(f"mean squared distance: {history[0]:.4f} at first, {history[-1]:.5f} at the end")
