"""Three bodies that chase each other along one curve: the figure eight of Chenciner and Montgomery.

The curve is a sum of sines, and the bodies follow each other on it at thirds of the period. Of all such curves one that
minimises the action, the mean of kinetic energy minus potential energy, is an orbit: its bodies move as gravity has it.
The program goes downhill along the gradient of the action, and measures how far the curve is from Newton's law.

    python examples/choreography.py [ARCH]

Chenciner, Montgomery: A remarkable periodic solution of the three-body problem in the case of equal masses, 2000.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import adstack as qd

Array = npt.NDArray[Any]
Outcome = tuple[list[float], dict[str, Array]]

WAVES = 12  # x has the odd ones of the sines, y the even ones


@qd.data_oriented
class Curve:
    """A closed curve of period 2 pi, at `n` moments; three divides n."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.amplitude = qd.field(qd.f64, shape=WAVES + 1, needs_grad=True)
        self.place = qd.Vector.field(2, qd.f64, shape=n, needs_grad=True)
        self.velocity = qd.Vector.field(2, qd.f64, shape=n, needs_grad=True)
        self.action = qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def draw(self) -> None:
        for i in self.place:
            t = 2.0 * qd.math.pi * i / self.n
            place, velocity = qd.Vector([0.0, 0.0]), qd.Vector([0.0, 0.0])
            for k in range(1, WAVES + 1):
                axis = 1 - k % 2
                place[axis] += self.amplitude[k] * qd.sin(k * t)
                velocity[axis] += self.amplitude[k] * k * qd.cos(k * t)
            self.place[i], self.velocity[i] = place, velocity

    @qd.kernel
    def act(self) -> None:
        for i in self.place:
            apart = self.place[i] - self.place[(i + self.n // 3) % self.n]
            self.action[None] += (0.5 * self.velocity[i].norm_sqr() + 1.0 / apart.norm()) / self.n

    def differentiate(self, amplitude: Array) -> tuple[float, Array]:
        """The action of the curve with these amplitudes, for one body, and its gradient."""
        self.amplitude.from_numpy(amplitude)
        with qd.ad.Tape(self.action):
            self.draw()
            self.act()
        return float(self.action[None]), self.amplitude.grad.to_numpy()

    def unbalance(self) -> float:
        """How far the curve is from Newton's law: the mean square of acceleration minus force."""
        place, third = self.place.to_numpy(), self.n // 3
        waves = 1j * np.fft.fftfreq(self.n, 1.0 / self.n)
        acceleration = np.fft.ifft(waves[:, None] ** 2 * np.fft.fft(place, axis=0), axis=0).real
        others = [np.roll(place, third, axis=0) - place, np.roll(place, -third, axis=0) - place]
        force = sum(d / np.linalg.norm(d, axis=1, keepdims=True) ** 3 for d in others)
        return float(((acceleration - force) ** 2).sum(axis=1).mean())


def main(arch: str = "cpu", *, n: int = 96, iterations: int = 150) -> Outcome:
    """Finds the orbit; returns its distance from Newton's law at every iteration, and what the picture shows."""
    qd.init(arch=arch, default_fp=qd.f64)
    curve, amplitude = Curve(n), np.zeros(WAVES + 1)
    amplitude[1], amplitude[2] = 1.2, 0.4
    scale = np.maximum(np.arange(WAVES + 1), 1.0) ** 2  # the kinetic energy of the sines
    distances: list[float] = []
    for _ in range(iterations):
        _, gradient = curve.differentiate(amplitude)
        distances.append(curve.unbalance())
        amplitude = amplitude - 0.5 * gradient / scale
    assert distances[-1] < 1e-2 * distances[0], distances
    place = curve.place.to_numpy()
    return distances, {"the curve": np.concatenate([place, place[:1]])[None]}


if __name__ == "__main__":
    history, _ = main(*sys.argv[1:2])
    print(f"distance from Newton's law: {history[0]:.3f} at first, {history[-1]:.1e} at the end")
