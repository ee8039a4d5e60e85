"""Which wind carries a hanging cloth to a given place? Found through the simulation of its springs.

The cloth hangs from its upper edge, and swings as springs, gravity and air have it. A tape records a launch for each
time step, and the gradient by the wind is added up over all of them.

    python examples/cloth.py [ARCH]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import adstack as qd

Array = npt.NDArray[Any]
Outcome = tuple[list[float], dict[str, Array]]

DT, STIFFNESS, GRAVITY, DRAG = 0.02, 400.0, 9.8, 1.5


@qd.data_oriented
class Cloth:
    """n x n masses with springs between neighbours, and the history of their places and velocities."""

    def __init__(self, n: int, steps: int) -> None:
        self.n, self.steps, self.rest = n, steps, 1.0 / (n - 1)
        self.x = qd.Vector.field(3, qd.f32, shape=(steps + 1, n, n), needs_grad=True)
        self.v = qd.Vector.field(3, qd.f32, shape=(steps + 1, n, n), needs_grad=True)
        self.wind = qd.Vector.field(3, qd.f32, shape=(), needs_grad=True)
        self.loss = qd.field(qd.f32, shape=(), needs_grad=True)
        i, j = np.indices((n, n)) * self.rest
        history = np.zeros((steps + 1, n, n, 3), np.float32)
        history[0] = np.stack([j, -i, np.zeros((n, n))], axis=2)
        self.x.from_numpy(history)

    @qd.kernel
    def step(self, t: qd.i32) -> None:
        for i, j in qd.ndrange(self.n, self.n):
            force = DRAG * (self.wind[None] - self.v[t, i, j]) - qd.Vector([0.0, GRAVITY, 0.0])
            for k in qd.static(range(8)):
                a = i + qd.static([1, -1, 0, 0, 1, 1, -1, -1][k])
                b = j + qd.static([0, 0, 1, -1, 1, -1, 1, -1][k])
                if 0 <= a < self.n and 0 <= b < self.n:
                    along = self.x[t, a, b] - self.x[t, i, j]
                    length = along.norm()
                    rest = self.rest * qd.static(1.0 if k < 4 else 2.0**0.5)
                    force += STIFFNESS * (length - rest) / length * along
            speed = self.v[t, i, j]
            if i > 0:  # the upper edge does not move
                speed += DT * force
            self.v[t + 1, i, j] = speed
            self.x[t + 1, i, j] = self.x[t, i, j] + DT * speed

    @qd.kernel
    def compare(self, aim: qd.math.vec3) -> None:
        corner = self.x[self.steps, self.n - 1, self.n - 1]
        self.loss[None] += (corner - aim).norm_sqr()

    def differentiate(self, wind: Array, aim: Array) -> tuple[float, Array]:
        """The squared distance of the lower corner from where it is to be, and its gradient by the wind."""
        self.wind.from_numpy(wind)
        with qd.ad.Tape(self.loss):
            for t in range(self.steps):
                self.step(t)
            self.compare(qd.Vector(list(aim)))
        return float(self.loss[None]), self.wind.grad.to_numpy()


def main(arch: str = "cpu", *, n: int = 9, steps: int = 60, iterations: int = 30) -> Outcome:
    """Finds the wind; returns the loss of every iteration, and what the picture shows."""
    qd.init(arch=arch)
    cloth, aim, losses = Cloth(n, steps), np.array([1.0, -0.75, 0.6]), []
    wind: Array = np.zeros(3)
    for _ in range(iterations):
        loss, gradient = cloth.differentiate(wind, aim)
        losses.append(loss)
        wind = wind - 8.0 * gradient
    assert losses[-1] < 0.2 * losses[0], losses
    seen = cloth.x.to_numpy()[-1] @ np.array([[0.8, 0.3], [0.0, 1.0], [0.6, -0.4]], np.float32)
    return losses, {"the cloth in the wind": np.concatenate([seen, seen.transpose(1, 0, 2)])}


if __name__ == "__main__":
    history, _ = main(*sys.argv[1:2])
    print(f"squared distance of the corner: {history[0]:.4f} at first, {history[-1]:.6f} at the end")
