"""Smoke in a square that comes round: the first velocity with which it takes a given shape in the end.

Semi-Lagrangian advection, and projection by a few Jacobi iterations, each a launch of its own over a history. Kernels
take fields as templates.
"""

import numpy as np

import adstack as qd

SIZES = {"reduced": {"n": 6, "steps": 2, "sweeps": 2}, "full": {"n": 48, "steps": 24, "sweeps": 6}}

DT, RATE = 1.0, 0.5


@qd.func
def mixed(field: qd.template(), t: qd.i32, x: qd.f32, y: qd.f32, n: qd.i32):
    i, j = qd.cast(qd.floor(x), qd.i32), qd.cast(qd.floor(y), qd.i32)
    a, b = x - qd.floor(x), y - qd.floor(y)
    left, right, below, above = (i + n) % n, (i + 1 + n) % n, (j + n) % n, (j + 1 + n) % n
    low = (1.0 - a) * field[t, left, below] + a * field[t, right, below]
    high = (1.0 - a) * field[t, left, above] + a * field[t, right, above]
    return (1.0 - b) * low + b * high


@qd.kernel
def advect(old: qd.template(), new: qd.template(), v: qd.template(), t: qd.i32, n: qd.i32):
    for i, j in qd.ndrange(n, n):
        here = v[t, i, j]
        new[t + 1, i, j] = mixed(old, t, i - DT * here[0], j - DT * here[1], n)


@qd.kernel
def diverge(v: qd.template(), divergence: qd.template(), t: qd.i32, n: qd.i32):
    for i, j in qd.ndrange(n, n):
        across = v[t, (i + 1) % n, j][0] - v[t, (i + n - 1) % n, j][0]
        divergence[t, i, j] = -0.5 * (across + v[t, i, (j + 1) % n][1] - v[t, i, (j + n - 1) % n][1])


@qd.kernel
def relax(pressure: qd.template(), divergence: qd.template(), t: qd.i32, k: qd.i32, n: qd.i32):
    for i, j in qd.ndrange(n, n):
        beside = pressure[k, (i + 1) % n, j] + pressure[k, (i + n - 1) % n, j]
        beside += pressure[k, i, (j + 1) % n] + pressure[k, i, (j + n - 1) % n]
        pressure[k + 1, i, j] = 0.25 * (divergence[t, i, j] + beside)


@qd.kernel
def project(v: qd.template(), new: qd.template(), pressure: qd.template(), t: qd.i32, k: qd.i32, n: qd.i32):
    for i, j in qd.ndrange(n, n):
        down = pressure[k, (i + 1) % n, j] - pressure[k, (i + n - 1) % n, j]
        aside = pressure[k, i, (j + 1) % n] - pressure[k, i, (j + n - 1) % n]
        new[t, i, j] = v[t, i, j] - 0.5 * qd.Vector([down, aside])


@qd.kernel
def begin(v: qd.template(), first: qd.template()):
    for i, j in first:
        v[0, i, j] = first[i, j]


@qd.kernel
def compare(smoke: qd.template(), wanted: qd.template(), loss: qd.template(), t: qd.i32, n: qd.i32):
    for i, j in qd.ndrange(n, n):
        loss[None] += (smoke[t, i, j] - wanted[i, j]) ** 2 / (n * n)


@qd.kernel
def descend(first: qd.template()):
    for i, j in first:
        first[i, j] -= RATE * first.grad[i, j]


class Program:
    """The smoke, its velocity, pressures, and the shape that is wanted."""

    def __init__(self, n, steps, sweeps):
        self.n, self.steps, self.sweeps = n, steps, sweeps
        shape = (steps + 1, n, n)
        self.v, self.carried = (qd.Vector.field(2, qd.f32, shape=shape, needs_grad=True) for _ in range(2))
        self.smoke, self.divergence = (qd.field(qd.f32, shape=shape, needs_grad=True) for _ in range(2))
        self.pressure = qd.field(qd.f32, shape=(steps * (sweeps + 1) + 1, n, n), needs_grad=True)
        self.first = qd.Vector.field(2, qd.f32, shape=(n, n), needs_grad=True)
        self.wanted = qd.field(qd.f32, shape=(n, n))
        self.loss = qd.field(qd.f32, shape=(), needs_grad=True)
        self.inputs = {"first": self.first}
        across = np.arange(n)
        smoke = np.zeros(shape, np.float32)
        smoke[0] = ((across[:, None] // 3 + across[None, :] // 3) % 2).astype(np.float32)
        self.smoke.from_numpy(smoke)
        self.wanted.from_numpy((np.hypot(across[:, None] - n / 2, across[None, :] - n / 2) < n / 4).astype(np.float32))
        draw = np.random.default_rng(4)
        self.first.from_numpy(draw.uniform(-0.4, 0.4, (n, n, 2)).astype(np.float32))

    def forward(self):
        """All steps, and the loss."""
        n = self.n
        begin(self.v, self.first)
        for t in range(self.steps):
            advect(self.v, self.carried, self.v, t, n)
            diverge(self.carried, self.divergence, t + 1, n)
            start = t * (self.sweeps + 1)
            for k in range(start, start + self.sweeps):
                relax(self.pressure, self.divergence, t + 1, k, n)
            project(self.carried, self.v, self.pressure, t + 1, start + self.sweeps, n)
            advect(self.smoke, self.smoke, self.v, t, n)
        compare(self.smoke, self.wanted, self.loss, self.steps, n)

    def differentiate(self):
        """The loss and its gradients."""
        with qd.ad.Tape(self.loss):
            self.forward()
        return self.loss[None]

    def update(self):
        """Descend."""
        descend(self.first)
