"""Where was it hot? The temperature of a plate long ago is found from what is measured now.

Heat spreads over a plate, and blurs. The program knows the plate as it is at the end alone. It guesses what it was at
the start, lets the heat spread, and changes the guess along the gradient of the difference from what was measured.

    python examples/heat_source.py [ARCH]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import adstack as qd

Array = npt.NDArray[Any]
Outcome = tuple[list[float], dict[str, Array]]

CONDUCTED, RATE = 0.2, 0.45  # what neighbours exchange in a step; the rate of gradient descent


@qd.data_oriented
class Plate:
    """The history of a plate of n x n cells, and the measurement."""

    def __init__(self, n: int, steps: int) -> None:
        self.n, self.steps = n, steps
        self.heat = qd.field(qd.f32, shape=(steps + 1, n, n), needs_grad=True)
        self.measured = qd.field(qd.f32, shape=(n, n))
        self.loss = qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def spread(self, t: qd.i32) -> None:
        for i, j in self.measured:
            flow = 0.0
            for k in qd.static(range(4)):
                a = i + qd.static([1, -1, 0, 0][k])
                b = j + qd.static([0, 0, 1, -1][k])
                if 0 <= a < self.n and 0 <= b < self.n:  # the plate is insulated at its border
                    flow += self.heat[t, a, b] - self.heat[t, i, j]
            self.heat[t + 1, i, j] = self.heat[t, i, j] + CONDUCTED * flow

    @qd.kernel
    def compare(self) -> None:
        for i, j in self.measured:
            self.loss[None] += (self.heat[self.steps, i, j] - self.measured[i, j]) ** 2

    def simulate(self) -> None:
        """Lets the heat spread from what it is in the first slice."""
        for t in range(self.steps):
            self.spread(t)

    def start(self, guess: Array) -> None:
        """Sets the temperature at the start."""
        history = np.zeros(self.heat.shape, np.float32)
        history[0] = guess
        self.heat.from_numpy(history)

    def differentiate(self, guess: Array) -> tuple[float, Array]:
        """The loss for this start, and its gradient."""
        self.start(guess)
        with qd.ad.Tape(self.loss):
            self.simulate()
            self.compare()
        return float(self.loss[None]), self.heat.grad.to_numpy()[0]


def main(arch: str = "cpu", *, n: int = 32, steps: int = 25, iterations: int = 60) -> Outcome:
    """Finds the start; returns the loss of every iteration, and what the picture shows."""
    qd.init(arch=arch)
    plate, truth = Plate(n, steps), np.zeros((n, n), np.float32)
    truth[n // 8 : n // 3, n // 4 : n // 2] = 1.0
    truth[n // 2 : -n // 5, n // 2 : -n // 5] = 0.6
    plate.start(truth)
    plate.simulate()
    measured = plate.heat.to_numpy()[steps]
    plate.measured.from_numpy(measured)

    guess, losses = measured.copy(), []
    for _ in range(iterations):
        loss, gradient = plate.differentiate(guess)
        losses.append(loss)
        guess = guess - RATE * gradient
    assert losses[-1] < 0.2 * losses[0], losses
    return losses, {"measured": measured, "found": guess, "truth": truth}


if __name__ == "__main__":
    history, _ = main(*sys.argv[1:2])
    print(f"difference from the measurement: {history[0]:.4f} at first, {history[-1]:.6f} at the end")
