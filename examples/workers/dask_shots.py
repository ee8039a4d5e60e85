"""Gradients from several processes by Dask: the profile of a layer of rock, from echoes of many shots.

Each shot is a simulation of its own, which a worker runs and differentiates: adstack in each process, and Dask, which
brings the speeds to the workers and their gradients back. The sum of the gradients moves the speeds.

    python examples/workers/dask_shots.py [ARCH [ITERATIONS]]
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import distributed
import numpy as np
import numpy.typing as npt

import adstack as qd

Array = npt.NDArray[np.float32]
dask: Any = distributed  # it has no types

WORKERS, CELLS, STEPS, SHOTS = 2, 48, 90, 6


@qd.data_oriented
class Line:
    """A line of rock on which one wave runs; its ends are heard."""

    def __init__(self) -> None:
        self.speed = qd.field(qd.f32, shape=CELLS, needs_grad=True)
        self.height = qd.field(qd.f32, shape=(STEPS, CELLS), needs_grad=True)
        self.heard = qd.field(qd.f32, shape=(STEPS, 2))
        self.loss = qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def strike(self, place: qd.i32) -> None:
        for i in range(CELLS):
            bump = qd.exp(-0.25 * qd.cast(i - place, qd.f32) ** 2)
            self.height[0, i] = bump
            self.height[1, i] = bump

    @qd.kernel
    def step(self, t: qd.i32) -> None:
        for i in range(1, CELLS - 1):
            bend = self.height[t - 1, i - 1] - 2.0 * self.height[t - 1, i] + self.height[t - 1, i + 1]
            self.height[t, i] = 2.0 * self.height[t - 1, i] - self.height[t - 2, i] + self.speed[i] ** 2 * bend

    @qd.kernel
    def compare(self) -> None:
        for t in range(STEPS):
            left = self.height[t, 3] - self.heard[t, 0]
            right = self.height[t, CELLS - 4] - self.heard[t, 1]
            self.loss[None] += left**2 + right**2

    def run(self, place: int) -> None:
        self.strike(place)
        for t in range(2, STEPS):
            self.step(t)


@cache
def line(arch: str) -> Line:
    """The line of this process, made when it is first asked for."""
    qd.init(arch=arch, announce=False)
    return Line()


def listen(arch: str, speed: Array, place: int) -> Array:
    """What is heard at both ends of a shot."""
    rock = line(arch)
    rock.speed.from_numpy(speed)
    rock.run(place)
    height = rock.height.to_numpy()
    return np.stack([height[:, 3], height[:, CELLS - 4]], axis=1)


def shoot(arch: str, speed: Array, place: int, heard: Array) -> tuple[float, Array]:
    """The loss of one shot, and its gradient."""
    rock = line(arch)
    rock.speed.from_numpy(speed)
    rock.heard.from_numpy(heard)
    with qd.ad.Tape(rock.loss):
        rock.run(place)
        rock.compare()
    return float(rock.loss[None]), rock.speed.grad.to_numpy()


def descend(client: Any, arch: str, iterations: int) -> tuple[list[float], Array]:
    """Gradient descent over all shots at once; the loss of every iteration, and the speeds."""
    true = (0.5 + 0.15 * np.exp(-0.02 * (np.arange(CELLS) - 28.0) ** 2)).astype(np.float32)
    places = [6 + 7 * k for k in range(SHOTS)]
    heard = client.gather([client.submit(listen, arch, true, place) for place in places])
    speed, slow, square, losses = np.full(CELLS, 0.5, np.float32), np.zeros(CELLS), np.zeros(CELLS), []
    for k in range(1, iterations + 1):
        shots = [client.submit(shoot, arch, speed, *shot, pure=False) for shot in zip(places, heard, strict=True)]
        outcomes = client.gather(shots)
        losses.append(sum(loss for loss, _ in outcomes))
        slope = np.sum([gradient for _, gradient in outcomes], axis=0)
        slow, square = 0.9 * slow + 0.1 * slope, 0.99 * square + 0.01 * slope**2  # Adam
        speed = (speed - 0.01 * (slow / (1 - 0.9**k)) / (np.sqrt(square / (1 - 0.99**k)) + 1e-8)).astype(np.float32)
    return losses, speed


def main(arch: str, iterations: int) -> tuple[list[float], Array]:
    """Starts the workers, and fits; returns the loss of every iteration, and the speeds."""
    with (
        dask.LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, silence_logs="ERROR"
        ) as cluster,
        dask.Client(cluster) as client,
    ):
        losses, speed = descend(client, arch, iterations)
    assert losses[-1] < 0.5 * losses[0], losses
    return losses, speed


if __name__ == "__main__":
    iterations = int(sys.argv[2]) if sys.argv[2:] else 40
    history, _ = main(sys.argv[1] if sys.argv[1:] else "cpu", iterations)
    print(f"loss {history[0]:.4f} at first, {history[-1]:.4f} after {len(history)} iterations in {WORKERS} processes")
