"""An image without its noise: the one with the least total variation that is not too far from what was seen.

The kernel computes the energy of Rudin, Osher and Fatemi (1992), and the gradient that the descent needs is adstack's:
each pixel's energy looks at its neighbours, so that the gradient of a pixel is a sum over them.

    python examples/denoise.py [ARCH]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import adstack as qd

Array = npt.NDArray[Any]
Outcome = tuple[list[float], dict[str, Array]]

WEIGHT, SOFT, RATE = 0.25, 0.05, 0.04  # of the variation; what makes it smooth at zero; of the descent


@qd.data_oriented
class Energy:
    """An image of n x n pixels, and the noisy one."""

    def __init__(self, noisy: Array) -> None:
        self.n = len(noisy)
        self.image = qd.field(qd.f32, shape=noisy.shape, needs_grad=True)
        self.noisy = qd.field(qd.f32, shape=noisy.shape)
        self.total = qd.field(qd.f32, shape=(), needs_grad=True)
        self.image.from_numpy(noisy)
        self.noisy.from_numpy(noisy)

    @qd.kernel
    def add_up(self) -> None:
        for i, j in self.image:
            here = self.image[i, j]
            down = self.image[qd.min(i + 1, self.n - 1), j] - here
            right = self.image[i, qd.min(j + 1, self.n - 1)] - here
            variation = qd.sqrt(down * down + right * right + SOFT * SOFT) - SOFT
            self.total[None] += 0.5 * (here - self.noisy[i, j]) ** 2 + WEIGHT * variation

    @qd.kernel
    def descend(self) -> None:
        for i, j in self.image:
            self.image[i, j] -= RATE * self.image.grad[i, j]

    def improve(self) -> float:
        """One step of gradient descent; the energy before it."""
        with qd.ad.Tape(self.total):
            self.add_up()
        self.descend()
        return float(self.total[None])


def main(arch: str = "cpu", *, n: int = 64, iterations: int = 150) -> Outcome:
    """Takes the noise away; returns the energy of every iteration, and what the picture shows."""
    qd.init(arch=arch)
    i, j = np.indices((n, n)) / n
    clean = np.where((i - 0.4) ** 2 + (j - 0.45) ** 2 < 0.08, 0.9, 0.2) + np.where(i + j > 1.4, 0.4, 0.0)
    noisy = (clean + np.random.default_rng(0).normal(0.0, 0.15, clean.shape)).astype(np.float32)
    energy = Energy(noisy)
    energies = [energy.improve() for _ in range(iterations)]
    image = energy.image.to_numpy()
    assert energies[-1] < 0.6 * energies[0], energies
    assert ((image - clean) ** 2).mean() < 0.4 * ((noisy - clean) ** 2).mean()
    return energies, {"noisy": noisy, "denoised": image}


if __name__ == "__main__":
    history, _ = main(*sys.argv[1:2])
    print(f"energy: {history[0]:.1f} at first, {history[-1]:.1f} after {len(history)} steps")
