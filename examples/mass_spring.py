"""A chain of springs that is to hang in a given shape: the rest lengths of the springs are found by gradient descent.

Masses hang between two walls. The program simulates them for some time steps, in place, and compares where they come to
rest with where they ought to be. The gradient of that distance goes back through all time steps: the tape records
the launches, and keeps of memory what they overwrite.

    python examples/mass_spring.py [ARCH]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import adstack as qd

Array = npt.NDArray[Any]
Outcome = tuple[list[float], dict[str, Array]]

MASSES = 10  # the first and the last are the walls
STEPS, ITERATIONS, RATE = 60, 30, 0.04
DT, STIFFNESS, GRAVITY, DAMPING = 0.03, 200.0, 2.0, 0.95


@qd.data_oriented
class Chain:
    """The masses, the springs between them, and the shape that they are to take."""

    def __init__(self) -> None:
        self.x = qd.Vector.field(2, qd.f64, shape=MASSES, needs_grad=True)
        self.v = qd.Vector.field(2, qd.f64, shape=MASSES, needs_grad=True)
        self.wanted = qd.Vector.field(2, qd.f64, shape=MASSES)
        self.rest = qd.field(qd.f64, shape=MASSES - 1, needs_grad=True)
        self.loss = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def step(self) -> None:
        for s in self.rest:  # spring s is between the masses s and s + 1
            along = self.x[s + 1] - self.x[s]
            length = along.norm()
            force = STIFFNESS * (length - self.rest[s]) / length * along
            self.v[s] += DT * force  # atomic: two springs pull at each mass
            self.v[s + 1] -= DT * force
        for i in range(1, MASSES - 1):
            self.v[i] = DAMPING * (self.v[i] + DT * qd.Vector([0.0, -GRAVITY]))
            self.x[i] = self.x[i] + DT * self.v[i]

    @qd.kernel
    def compare(self) -> None:
        for i in self.x:
            self.loss[None] += (self.x[i] - self.wanted[i]).norm_sqr()

    def simulate(self) -> None:
        """Lets the chain go, from a straight line, and adds its distance from the shape to the loss."""
        across = np.linspace(0.0, 1.0, MASSES)
        self.wanted.from_numpy(np.stack([across, 0.8 * across * (across - 1.0)], axis=1))
        self.x.from_numpy(np.stack([across, np.zeros(MASSES)], axis=1))
        self.v.fill(0.0)
        for _ in range(STEPS):
            self.step()
        self.compare()

    def evaluate(self, rest: Array) -> float:
        """The loss for these rest lengths."""
        self.rest.from_numpy(rest)
        self.loss[None] = 0.0
        self.simulate()
        return float(self.loss[None])

    def differentiate(self, rest: Array) -> tuple[float, Array]:
        """The loss for these rest lengths, and its gradient."""
        self.rest.from_numpy(rest)
        with qd.ad.Tape(self.loss):
            self.simulate()
        return float(self.loss[None]), np.asarray(self.rest.grad.to_numpy())


def main(arch: str = "cpu", *, iterations: int = ITERATIONS) -> Outcome:
    """Optimises the rest lengths; returns the loss of every iteration, and what the picture shows."""
    qd.init(arch=arch, default_fp=qd.f64)
    chain = Chain()
    rest = np.full(MASSES - 1, 1.0 / (MASSES - 1))

    # The gradient is what differences of the loss say, along one direction of all rest lengths.
    direction = 1e-6 * np.cos(np.arange(MASSES - 1))
    slope = float(chain.differentiate(rest)[1] @ direction)
    difference = (chain.evaluate(rest + direction) - chain.evaluate(rest - direction)) / 2
    assert abs(slope - difference) < 1e-5 * abs(slope), (slope, difference)

    losses = []
    for _ in range(iterations):
        loss, gradient = chain.differentiate(rest)
        losses.append(loss)
        rest = rest - RATE * gradient
    assert losses[-1] < 0.01 * losses[0], losses
    return losses, {"the chain, and where it is to hang": np.stack([chain.x.to_numpy(), chain.wanted.to_numpy()])}


if __name__ == "__main__":
    history, _ = main(*sys.argv[1:2])
    print(f"distance from the shape: {history[0]:.4f} at first, {history[-1]:.6f} after {len(history)} iterations")
