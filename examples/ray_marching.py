"""Where does the light come from? Found from a picture, by the gradient of the renderer.

The renderer marches a ray through each pixel until it meets the surface, a union of two spheres whose seam is smooth,
and shades what it meets. The `while` loop takes as many steps as a ray needs; the gradient goes back through them all.

    python examples/ray_marching.py [ARCH]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import adstack as qd

Array = npt.NDArray[Any]
Outcome = tuple[list[float], dict[str, Array]]

FAR, NEAR, AMBIENT = 4.0, 1e-3, 0.1


@qd.func
def distance(p: qd.math.vec3) -> Any:
    """From a point to the surface."""
    one = (p - qd.Vector([-0.3, 0.0, 2.0])).norm() - 0.5
    other = (p - qd.Vector([0.35, 0.15, 1.9])).norm() - 0.4
    mixed = qd.math.clamp(0.5 + 2.5 * (other - one), 0.0, 1.0)
    return qd.math.mix(other, one, mixed) - 0.2 * mixed * (1.0 - mixed)


@qd.func
def normal(p: qd.math.vec3) -> Any:
    """The direction in which the distance grows fastest, by differences."""
    n = qd.Vector([0.0, 0.0, 0.0])
    for k in qd.static(range(3)):
        step = qd.Vector([0.0, 0.0, 0.0])
        step[k] = 1e-2
        n[k] = distance(p + step) - distance(p - step)
    return n.normalized()


@qd.data_oriented
class Renderer:
    """A picture of n x n pixels, and the one that it is to be."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.light = qd.field(qd.f32, shape=2, needs_grad=True)  # azimuth and elevation, in radians
        self.image = qd.field(qd.f32, shape=(n, n), needs_grad=True)
        self.wanted = qd.field(qd.f32, shape=(n, n))
        self.loss = qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def render(self) -> None:
        for i, j in self.image:
            ray = qd.Vector([2.0 * j / self.n - 1.0, 1.0 - 2.0 * i / self.n, 2.0]).normalized()
            away, left = 0.0, FAR
            while left > NEAR and away < FAR:
                left = distance(away * ray)
                away += left
            if away < FAR:
                azimuth, elevation = self.light[0], self.light[1]
                flat = qd.cos(elevation)
                light = qd.Vector([flat * qd.sin(azimuth), qd.sin(elevation), -flat * qd.cos(azimuth)])
                self.image[i, j] = AMBIENT + qd.max(0.0, normal(away * ray).dot(light))

    @qd.kernel
    def compare(self) -> None:
        for i, j in self.image:
            self.loss[None] += (self.image[i, j] - self.wanted[i, j]) ** 2 / self.n**2

    def differentiate(self, light: Array) -> tuple[float, Array]:
        """The loss for this light, and its gradient."""
        self.light.from_numpy(light)
        with qd.ad.Tape(self.loss):
            self.render()
            self.compare()
        return float(self.loss[None]), self.light.grad.to_numpy()


def main(arch: str = "cpu", *, n: int = 64, iterations: int = 60) -> Outcome:
    """Finds the light; returns the loss of every iteration, and what the picture shows."""
    qd.init(arch=arch)
    renderer, truth = Renderer(n), np.array([0.9, 0.7])
    light: Array = np.array([-0.6, 0.1])
    renderer.light.from_numpy(truth)
    renderer.render()
    wanted = renderer.image.to_numpy()
    renderer.wanted.from_numpy(wanted)

    losses, first = [], wanted
    for iteration in range(iterations):
        loss, gradient = renderer.differentiate(light)
        losses.append(loss)
        first = renderer.image.to_numpy() if iteration == 0 else first
        light = light - 5.0 * gradient
    assert losses[-1] < 0.05 * losses[0], losses
    return losses, {"first guess": first, "found": renderer.image.to_numpy(), "wanted": wanted}


if __name__ == "__main__":
    history, _ = main(*sys.argv[1:2])
    print(f"difference of the pictures: {history[0]:.5f} at first, {history[-1]:.7f} at the end")
