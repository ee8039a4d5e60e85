"""A pendulum is swung up by a motor that is too weak to lift it: the torque at each moment is found by its gradient.

The kernel is one serial loop over time, and the reverse pass runs it backwards. What it keeps of each step is on
adstacks, whose depth adstack computes ahead of the launch.

    python examples/pendulum.py [ARCH]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import adstack as qd

Array = npt.NDArray[Any]
Outcome = tuple[list[float], dict[str, Array]]

DT, STRONGEST, EFFORT = 0.05, 0.6, 1e-3  # a torque of one holds the pendulum where it is horizontal


@qd.data_oriented
class Pendulum:
    """A pendulum that hangs at angle 0, and the control of its motor for `steps` moments."""

    def __init__(self, steps: int) -> None:
        self.control = qd.field(qd.f64, shape=steps, needs_grad=True)
        self.angle = qd.field(qd.f64, shape=steps)
        self.loss = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def swing(self) -> None:
        for _ in range(1):
            angle, speed, effort = 0.0, 0.0, 0.0
            for t in range(self.control.shape[0]):
                torque = STRONGEST * qd.tanh(self.control[t])
                speed += DT * (torque - qd.sin(angle))
                angle += DT * speed
                effort += EFFORT * torque * torque
                self.angle[t] = angle
            self.loss[None] = 1.0 + qd.cos(angle) + 0.1 * speed * speed + effort

    def differentiate(self, control: Array) -> tuple[float, Array]:
        """The loss for this control, and its gradient."""
        self.control.from_numpy(control)
        with qd.ad.Tape(self.loss):
            self.swing()
        return float(self.loss[None]), self.control.grad.to_numpy()


def main(arch: str = "cpu", *, steps: int = 240, iterations: int = 200) -> Outcome:
    """Finds the control; returns the loss of every iteration, and what the picture shows."""
    qd.init(arch=arch, default_fp=qd.f64)
    pendulum, time = Pendulum(steps), DT * np.arange(steps)
    control = 0.5 * np.sin(time)
    losses, mean, square = [], np.zeros(steps), np.zeros(steps)
    for iteration in range(1, iterations + 1):  # Adam (Kingma and Ba, 2015)
        loss, gradient = pendulum.differentiate(control)
        losses.append(loss)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        step = mean / (1.0 - 0.9**iteration) / (np.sqrt(square / (1.0 - 0.99**iteration)) + 1e-8)
        control = control - 0.05 * step
    assert losses[-1] < 0.2 * losses[0], losses
    angle = np.stack([time, pendulum.angle.to_numpy()], axis=1)
    torque = np.stack([time, STRONGEST * np.tanh(control)], axis=1)
    return losses, {"angle (up: pi or -pi), torque": np.stack([angle, torque])}


if __name__ == "__main__":
    history, _ = main(*sys.argv[1:2])
    print(f"loss: {history[0]:.3f} at first, {history[-1]:.4f} after {len(history)} iterations")
