"""A small neural network that learns a curve, with training itself in kernels.

One hidden layer of tanh; the gradient of the loss comes from a tape, and a kernel moves the weights along it.

    python examples/neural_network.py [ARCH]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import adstack as qd

Array = npt.NDArray[Any]
Outcome = tuple[list[float], dict[str, Array]]

RATE, MOMENTUM = 0.05, 0.9


@qd.data_oriented
class Network:
    """Weights from one input to `hidden` units, and from these to one output; `n` samples to learn."""

    def __init__(self, hidden: int, n: int) -> None:
        self.n = n
        self.weight, self.bias, self.out = (qd.field(qd.f32, shape=hidden, needs_grad=True) for _ in range(3))
        self.speed = qd.field(qd.f32, shape=(3, hidden))
        self.x, self.y = qd.field(qd.f32, shape=n), qd.field(qd.f32, shape=n)
        self.told = qd.field(qd.f32, shape=n, needs_grad=True)
        self.loss = qd.field(qd.f32, shape=(), needs_grad=True)
        random = np.random.default_rng(1)
        self.weight.from_numpy(random.normal(0.0, 2.0, hidden))
        self.bias.from_numpy(random.uniform(-2.0, 2.0, hidden))
        self.out.from_numpy(random.normal(0.0, 0.3, hidden))

    @qd.kernel
    def tell(self) -> None:
        for i in self.x:
            total = 0.0
            for k in range(self.weight.shape[0]):
                total += self.out[k] * qd.tanh(self.weight[k] * self.x[i] + self.bias[k])
            self.told[i] = total

    @qd.kernel
    def compare(self) -> None:
        for i in self.x:
            self.loss[None] += (self.told[i] - self.y[i]) ** 2 / self.n

    @qd.kernel
    def learn(self) -> None:
        for k in self.weight:
            self.speed[0, k] = MOMENTUM * self.speed[0, k] - RATE * self.weight.grad[k]
            self.speed[1, k] = MOMENTUM * self.speed[1, k] - RATE * self.bias.grad[k]
            self.speed[2, k] = MOMENTUM * self.speed[2, k] - RATE * self.out.grad[k]
            self.weight[k] += self.speed[0, k]
            self.bias[k] += self.speed[1, k]
            self.out[k] += self.speed[2, k]

    def train(self) -> float:
        """One step of gradient descent with momentum; the loss before it."""
        with qd.ad.Tape(self.loss):
            self.tell()
            self.compare()
        self.learn()
        return float(self.loss[None])


def main(arch: str = "cpu", *, hidden: int = 16, iterations: int = 600) -> Outcome:
    """Trains the network; returns the loss of every iteration, and what the picture shows."""
    qd.init(arch=arch)
    x = np.linspace(-1.0, 1.0, 64, dtype=np.float32)
    y = np.sin(4.0 * x) * np.exp(-x)
    network = Network(hidden, len(x))
    network.x.from_numpy(x)
    network.y.from_numpy(y)
    losses = [network.train() for _ in range(iterations)]
    assert losses[-1] < 0.1 * losses[0], losses
    curves = np.stack([np.stack([x, y], axis=1), np.stack([x, network.told.to_numpy()], axis=1)])
    return losses, {"the curve, and what is told": curves}


if __name__ == "__main__":
    history, _ = main(*sys.argv[1:2])
    print(f"mean square of the error: {history[0]:.4f} at first, {history[-1]:.6f} after {len(history)} steps")
