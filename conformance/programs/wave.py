"""A wave equation on a square: the first displacement is found from the last.

One launch a step; the whole history is one field, each step reads the two before it.
"""

import numpy as np

import adstack as qd

SIZES = {"reduced": {"n": 8, "steps": 5}, "full": {"n": 64, "steps": 256}}

DX, DT, SPEED, DAMPING, RATE = 1.0 / 64, 0.005, 1.0, 0.02, 1.0

x = y = first = wanted = loss = None


def make(n, steps):
    global first, wanted, loss, x
    x = qd.field(qd.f32, shape=(steps + 1, n, n), needs_grad=True)
    first = qd.field(qd.f32, shape=(n, n), needs_grad=True)
    wanted = qd.field(qd.f32, shape=(n, n))
    loss = qd.field(qd.f32, shape=(), needs_grad=True)


@qd.func
def laplacian(t: qd.i32, i: qd.i32, j: qd.i32):
    n = first.shape[0]
    left, right = qd.max(i - 1, 0), qd.min(i + 1, n - 1)
    below, above = qd.max(j - 1, 0), qd.min(j + 1, n - 1)
    total = x[t, left, j] + x[t, right, j] + x[t, i, below] + x[t, i, above]
    return (total - 4.0 * x[t, i, j]) / (DX * DX)


@qd.kernel
def begin():
    for i, j in first:
        x[0, i, j] = first[i, j]
        x[1, i, j] = first[i, j]


@qd.kernel
def step(t: qd.i32):
    for i, j in first:
        kept = x[t - 1, i, j] + (x[t - 1, i, j] - x[t - 2, i, j]) * (1.0 - DAMPING)
        x[t, i, j] = kept + SPEED * SPEED * DT * DT * laplacian(t - 1, i, j)


@qd.kernel
def measure(t: qd.i32):
    for i, j in first:
        loss[None] += DX * DX * (x[t, i, j] - wanted[i, j]) ** 2


@qd.kernel
def descend():
    for i, j in first:
        first[i, j] -= RATE * first.grad[i, j]


class Program:
    """The fields of the module, and what to do with them."""

    def __init__(self, n, steps):
        make(n, steps)
        self.steps, self.loss, self.inputs = steps, loss, {"first": first}
        across = np.linspace(-1.0, 1.0, n)
        hill = np.exp(-8.0 * (across[:, None] ** 2 + (across[None, :] - 0.2) ** 2))
        wanted.from_numpy(hill.astype(np.float32))
        first.from_numpy(np.random.default_rng(2).uniform(0.0, 0.1, (n, n)).astype(np.float32))

    def forward(self):
        """All steps, and the loss."""
        begin()
        for t in range(2, self.steps + 1):
            step(t)
        measure(self.steps)

    def differentiate(self):
        """The loss and its gradients."""
        with qd.ad.Tape(loss):
            self.forward()
        return loss[None]

    def update(self):
        """Descend."""
        descend()
