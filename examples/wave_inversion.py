"""How fast do waves travel inside of a body? The speeds are found from what is heard at its surface.

A pulse goes through a rod of several pieces, and is partly reflected where the speed of sound changes. Microphones at
both ends record what comes. The program knows these recordings alone, simulates the wave for a guess of the speeds, and
changes the guess along the gradient of the difference. This is full waveform inversion, in one dimension.

    python examples/wave_inversion.py [ARCH]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import adstack as qd

Array = npt.NDArray[Any]
Outcome = tuple[list[float], dict[str, Array]]

PIECES, WIDTH = 6, 7  # a piece of the rod is seven cells
CELLS = PIECES * WIDTH
STEPS, ITERATIONS = 80, 30


@qd.data_oriented
class Rod:
    """The rod, the history of a wave in it, and what the microphones have heard."""

    def __init__(self) -> None:
        self.u = qd.field(qd.f64, shape=(STEPS + 2, CELLS), needs_grad=True)
        self.speed = qd.field(qd.f64, shape=PIECES, needs_grad=True)  # (speed x time step / size of a cell) squared
        self.heard = qd.field(qd.f64, shape=(STEPS + 2, 2))
        self.loss = qd.field(qd.f64, shape=(), needs_grad=True)
        pulse = np.exp(-0.03 * (np.arange(CELLS) - CELLS / 3) ** 2)
        self.u.from_numpy(np.concatenate([np.tile(pulse, (2, 1)), np.zeros((STEPS, CELLS))]))

    @qd.kernel
    def step(self, t: qd.i32) -> None:
        for i in range(1, CELLS - 1):
            bend = self.u[t, i - 1] - 2.0 * self.u[t, i] + self.u[t, i + 1]
            self.u[t + 1, i] = 2.0 * self.u[t, i] - self.u[t - 1, i] + self.speed[i // WIDTH] * bend

    @qd.kernel
    def listen(self) -> None:
        for t, end in self.heard:
            self.loss[None] += (self.u[t, 2 if end == 0 else CELLS - 3] - self.heard[t, end]) ** 2

    def simulate(self) -> None:
        """Lets the pulse go, and adds the difference from what was heard to the loss."""
        for t in range(1, STEPS + 1):
            self.step(t)
        self.listen()

    def record(self, speed: Array) -> None:
        """Has the microphones hear what a rod with these speeds sounds like."""
        self.evaluate(speed)
        self.heard.from_numpy(self.u.to_numpy()[:, [2, CELLS - 3]])

    def evaluate(self, speed: Array) -> float:
        """The loss for these speeds."""
        self.speed.from_numpy(speed)
        self.loss[None] = 0.0
        self.simulate()
        return float(self.loss[None])

    def differentiate(self, speed: Array) -> tuple[float, Array]:
        """The loss for these speeds, and its gradient."""
        self.speed.from_numpy(speed)
        with qd.ad.Tape(self.loss):
            self.simulate()
        return float(self.loss[None]), np.asarray(self.speed.grad.to_numpy())


def main(arch: str = "cpu") -> Outcome:
    """Finds the speeds; returns the loss of every iteration, and what the picture shows."""
    qd.init(arch=arch, default_fp=qd.f64)
    rod, truth, guess = Rod(), np.array([0.4, 0.45, 0.3, 0.35, 0.5, 0.4]), np.full(PIECES, 0.4)
    rod.record(truth)

    # The gradient is what differences of the loss say, along one direction of all speeds.
    direction = 1e-6 * np.cos(np.arange(PIECES))
    slope = float(rod.differentiate(guess)[1] @ direction)
    difference = (rod.evaluate(guess + direction) - rod.evaluate(guess - direction)) / 2
    assert abs(slope - difference) < 1e-5 * abs(slope), (slope, difference)

    # Gradient descent, whose rate follows from the two latest gradients (Barzilai and Borwein, 1988).
    loss, gradient = rod.differentiate(guess)
    losses, rate = [loss], 1e-3
    for _ in range(ITERATIONS):
        moved, before = -rate * gradient, gradient
        guess = guess + moved
        loss, gradient = rod.differentiate(guess)
        losses.append(loss)
        rate = abs(float(moved @ moved / (moved @ (gradient - before))))
    assert losses[-1] < 1e-3 * losses[0], losses
    assert abs(guess - truth).max() < 0.01, guess
    return losses, {"the wave: time goes downwards": rod.u.to_numpy()}


if __name__ == "__main__":
    history, _ = main(*sys.argv[1:2])
    print(f"difference of the recordings: {history[0]:.4f} at first, {history[-1]:.6f} after {len(history)} iterations")
