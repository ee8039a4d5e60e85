"""The eval `particle`: where a charge is to stand so that a particle, which two charges repel, flies through the
origin.

The force is the gradient of a potential, taken in each step of the flight; so the derivative by the parameter is a
derivative of derivatives. The first letter of a function's name is the mode of the outer derivative, forward or
reverse, which adstack takes of the kernel with its loop; the second that of the inner one, taken in the kernel
(`inner`).
"""

from contextlib import nullcontext

import numpy as np

import adstack as qd

from . import inner
from .descent import argmin
from .task import Task

STEP = 0.1


def potential(w):
    """The function of a place that the particle descends: the sum of the reciprocal distances from both charges."""

    def at(x, y):
        first = (x - 10.0) * (x - 10.0) + (y - (10.0 - w)) * (y - (10.0 - w))
        second = (x - 10.0) * (x - 10.0) + y * y
        return 1.0 / inner.root(first) + 1.0 / inner.root(second)

    return at


def slope_by_tangents(w, x, y):
    return inner.forward(potential(w), (x, y))


def slope_by_tracing(w, x, y):
    return inner.reverse(potential(w), (x, y))


def flight(slope, parameter, miss):
    """A kernel that flies until the particle is below the x axis; `miss` is the square of where it crossed it."""

    @qd.kernel
    def fly():
        w = parameter[None]
        x, y, along, down = 0.0, 8.0, 0.75, 0.0
        while y > 0.0:
            by_x, by_y = slope(w, x, y)
            x += STEP * along
            y += STEP * down
            if y > 0.0:
                along -= STEP * by_x
                down -= STEP * by_y
        crossed = x - y / down * along
        miss[None] = crossed * crossed

    return fly


SLOPES = {"f": slope_by_tangents, "r": slope_by_tracing}


def _task(given, outer, nested):
    both = {"needs_grad": outer == "r", "needs_dual": outer == "f"}
    parameter, miss = qd.field(qd.f64, (), **both), qd.field(qd.f64, (), **both)
    fly = flight(SLOPES[nested], parameter, miss)
    least = []

    def evaluate(w):
        parameter[None] = w[0]
        fly()
        if outer == "f":
            return miss[None], np.array([miss.dual[None]])
        parameter.grad[None], miss.grad[None] = 0.0, 1.0
        fly.grad()
        return miss[None], np.array([parameter.grad[None]])

    def run():
        forward = qd.ad.FwdMode(loss=miss, param=parameter, seed=[1.0]) if outer == "f" else nullcontext()
        with forward:
            least[:] = argmin(evaluate, [given["w"]])

    return Task(run, lambda: float(least[0]))


FUNCTIONS = {name: lambda given, name=name: _task(given, *name) for name in ("rr", "ff", "fr", "rf")}
EXAMPLE = {"w": 0.0}
