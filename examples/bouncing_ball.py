"""How must a ball be thrown to bounce once and fall into a hole? Many throws are improved at the same time.

Each iteration of the parallel loop is one ball, with its whole flight: a serial loop with a bounce under `if`. Where a
ball meets the ground within a time step, the step is taken in two parts, so that the landing depends smoothly on the
throw: with a bounce at the end of a step it would not, and the gradient would be of no use.

    python examples/bouncing_ball.py [ARCH]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import adstack as qd

Array = npt.NDArray[Any]
Outcome = tuple[list[float], dict[str, Array]]

STEPS, DT, GRAVITY, BOUNCE, HOLE = 60, 0.03, 9.81, 0.7, 3.0


@qd.data_oriented
class Throws:
    """Balls that start at height one, each with a velocity of its own."""

    def __init__(self, balls: int) -> None:
        self.velocity = qd.Vector.field(2, qd.f64, shape=balls, needs_grad=True)
        self.track = qd.Vector.field(2, qd.f64, shape=(balls, STEPS + 1), needs_grad=True)
        self.miss = qd.field(qd.f64, shape=balls, needs_grad=True)

    @qd.kernel
    def fly(self) -> None:
        for b in self.velocity:
            x, v = qd.Vector([0.0, 1.0]), self.velocity[b]
            bounces = 0
            self.track[b, 0] = x
            for t in range(STEPS):
                fall = v[1] * DT - 0.5 * GRAVITY * DT * DT
                if bounces < 1 and x[1] + fall < 0.0:
                    down = qd.sqrt(v[1] * v[1] + 2.0 * GRAVITY * x[1])  # the speed at the ground
                    until = (v[1] + down) / GRAVITY
                    x, v = qd.Vector([x[0] + v[0] * until, 0.0]), qd.Vector([v[0], BOUNCE * down])
                    rest = DT - until
                    x += qd.Vector([v[0] * rest, v[1] * rest - 0.5 * GRAVITY * rest * rest])
                    v[1] -= GRAVITY * rest
                    bounces += 1
                else:
                    x += qd.Vector([v[0] * DT, fall])
                    v[1] -= GRAVITY * DT
                self.track[b, t + 1] = x
            self.miss[b] = (x - qd.Vector([HOLE, 0.0])).norm_sqr()

    def differentiate(self, velocity: Array) -> tuple[Array, Array]:
        """How far each ball is from the hole at the end, squared, and the gradients by the velocities."""
        self.velocity.from_numpy(velocity)
        self.fly()
        qd.ad.clear_all_gradients()
        self.miss.grad.fill(1.0)
        self.fly.grad()
        return self.miss.to_numpy(), self.velocity.grad.to_numpy()


def main(arch: str = "cpu", *, balls: int = 8, iterations: int = 60) -> Outcome:
    """Improves the throws; returns the mean distance of every iteration, squared, and what the picture shows."""
    qd.init(arch=arch, default_fp=qd.f64)
    throws = Throws(balls)
    velocity = np.stack([np.linspace(0.5, 3.0, balls), np.linspace(3.0, 4.5, balls)], axis=1)
    misses, first = [], np.zeros((0, STEPS + 1, 2))
    for iteration in range(iterations):
        miss, gradient = throws.differentiate(velocity)
        misses.append(float(miss.mean()))
        first = throws.track.to_numpy() if iteration == 0 else first
        velocity = velocity - 0.1 * gradient
    assert misses[-1] < 0.05 * misses[0], misses
    return misses, {"first throws": first, "last throws": throws.track.to_numpy()}


if __name__ == "__main__":
    history, _ = main(*sys.argv[1:2])
    print(f"mean distance from the hole, squared: {history[0]:.3f} at first, {history[-1]:.5f} at the end")
