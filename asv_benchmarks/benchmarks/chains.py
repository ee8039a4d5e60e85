"""Steps of a history that take arrays, and their gradients, the last first: ndarrays by hand, numpy's under a tape."""

import numpy as np

from .common import COMPILED, called, opened
from .dispatch import python_calls

STEPS, SIZE = 100, 64


def by_hand(qd):
    """`x[t] -> x[t + 1]` of an ndarray, without a tape."""
    x = qd.ndarray(qd.f32, (STEPS + 1, SIZE), needs_grad=True)

    @qd.kernel
    def step(x: qd.types.ndarray(dtype=qd.f32, ndim=2), t: qd.i32):
        for i in range(SIZE):
            x[t + 1, i] = x[t, i] * 0.5 + qd.sin(x[t, i])

    def steps():
        for t in range(STEPS):
            step(x, t)
        for t in reversed(range(STEPS)):
            step.grad(x, t)

    return steps


def two_by_hand(qd):
    """`x[t], v[t] -> x[t + 1], v[t + 1]` of two ndarrays, without a tape."""
    x, v = (qd.ndarray(qd.f32, (STEPS + 1, SIZE), needs_grad=True) for _ in range(2))

    @qd.kernel
    def step(x: qd.types.ndarray(dtype=qd.f32, ndim=2), v: qd.types.ndarray(dtype=qd.f32, ndim=2), t: qd.i32):
        for i in range(SIZE):
            v[t + 1, i] = v[t, i] - 0.1 * qd.sin(x[t, i])
            x[t + 1, i] = x[t, i] + 0.1 * v[t + 1, i]

    def steps():
        for t in range(STEPS):
            step(x, v, t)
        for t in reversed(range(STEPS)):
            step.grad(x, v, t)

    return steps


def under_a_tape(qd):
    """`x[t] -> x[t + 1]` of a field, with weights and places that are arrays of numpy."""
    x, loss = qd.field(qd.f32, (STEPS + 1, SIZE), needs_grad=True), qd.field(qd.f32, (), needs_grad=True)
    weights, places = np.linspace(0.1, 1, SIZE, dtype=np.float32), np.arange(SIZE, dtype=np.int32)[::-1].copy()

    @qd.kernel
    def step(t: qd.i32, w: qd.types.ndarray(dtype=qd.f32, ndim=1), places: qd.types.ndarray(dtype=qd.i32, ndim=1)):
        for i in range(SIZE):
            x[t + 1, i] = x[t, places[i]] * w[i] + qd.sin(x[t, i])

    @qd.kernel
    def total():
        for i in range(SIZE):
            loss[None] += x[STEPS, i]

    def steps():
        with qd.ad.Tape(loss):
            for t in range(STEPS):
                step(t, weights, places)
            total()

    return steps


WORK = {
    "an ndarray by hand": by_hand,
    "two ndarrays by hand": two_by_hand,
    "numpy's arrays under a tape": under_a_tape,
}


class Chain:
    """A hundred steps of 64 numbers, and their gradients, done before."""

    params = (COMPILED, tuple(WORK))
    param_names = ("backend", "work")

    def setup(self, backend, work):
        self.steps = WORK[work](opened(backend))
        called(self.steps)

    def time_steps(self, backend, work):
        self.steps()

    def track_python_calls(self, backend, work):
        return python_calls(self.steps)

    track_python_calls.unit = "functions"
