"""Charges that attract and repel each other: strengths with which they end up where they are wanted.

One launch a step, in which every charge looks at every other. Arrays are passed to each call.
"""

import numpy as np

import adstack as qd

SIZES = {"reduced": {"charges": 4, "steps": 5}, "full": {"charges": 16, "steps": 256}}

DT, SOFT, RATE = 0.01, 0.02, 0.02

HISTORY = qd.types.ndarray(dtype=qd.f32, ndim=3)
NUMBERS = qd.types.ndarray(dtype=qd.f32, ndim=1)


@qd.kernel
def move(x: HISTORY, v: HISTORY, strength: NUMBERS, t: qd.i32):
    for i in range(x.shape[1]):
        fx, fy = 0.0, 0.0
        for j in range(x.shape[1]):
            dx, dy = x[t, i, 0] - x[t, j, 0], x[t, i, 1] - x[t, j, 1]
            near = dx * dx + dy * dy + SOFT
            size = strength[i] * strength[j] / (near * qd.sqrt(near))
            fx += size * dx
            fy += size * dy
        v[t + 1, i, 0] = v[t, i, 0] + DT * fx
        v[t + 1, i, 1] = v[t, i, 1] + DT * fy
        x[t + 1, i, 0] = x[t, i, 0] + DT * (v[t, i, 0] + DT * fx)
        x[t + 1, i, 1] = x[t, i, 1] + DT * (v[t, i, 1] + DT * fy)


@qd.kernel
def measure(x: HISTORY, wanted: qd.types.ndarray(dtype=qd.f32, ndim=2), loss: NUMBERS, t: qd.i32):
    for i in range(x.shape[1]):
        loss[0] += (x[t, i, 0] - wanted[i, 0]) ** 2 + (x[t, i, 1] - wanted[i, 1]) ** 2


class Program:
    """The charges, their history, and where they are wanted."""

    def __init__(self, charges, steps):
        self.steps = steps
        self.x, self.v = (qd.ndarray(qd.f32, shape=(steps + 1, charges, 2), needs_grad=True) for _ in range(2))
        self.strength = qd.ndarray(qd.f32, shape=(charges,), needs_grad=True)
        self.wanted = qd.ndarray(qd.f32, shape=(charges, 2))
        self.loss = qd.ndarray(qd.f32, shape=(1,), needs_grad=True)
        self.inputs = {"strength": self.strength}
        draw = np.random.default_rng(3)
        history = np.zeros((steps + 1, charges, 2), np.float32)
        history[0] = draw.uniform(-1.0, 1.0, (charges, 2))
        self.x.from_numpy(history)
        self.v.from_numpy(np.zeros_like(history))
        self.strength.from_numpy((0.3 * draw.choice([-1.0, 1.0], charges)).astype(np.float32))
        self.wanted.from_numpy((history[0] + 0.1 * draw.standard_normal((charges, 2))).astype(np.float32))

    def forward(self):
        """All steps, and the loss."""
        for t in range(self.steps):
            move(self.x, self.v, self.strength, t)
        measure(self.x, self.wanted, self.loss, self.steps)

    def differentiate(self):
        """The loss and its gradients, which add up in arrays."""
        for array in (self.x, self.v, self.strength):
            array.grad.fill(0.0)
        with qd.ad.Tape(self.loss):
            self.forward()
        return self.loss[0]

    def update(self):
        """Descend, on the host."""
        self.strength.from_numpy(self.strength.to_numpy() - np.float32(RATE) * self.strength.grad.to_numpy())
