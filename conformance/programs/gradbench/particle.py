"""The eval `particle`: where a charge is to stand so that a particle, which two charges repel, flies through the
origin.

The force is the gradient of a potential, taken in each step of the flight; so the derivative by the parameter is a
derivative of derivatives. The first letter of a function's name is the mode of the outer derivative, forward or
reverse, which adstack takes of the kernel with its loop; the second that of the inner one, taken in the kernel
(`inner`).
"""

import adstack as qd

from . import inner
from .descent import argmin
from .task import Cell, Task, gradient, number, zeros

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


def flight(slope):
    """A kernel that flies until the particle is below the x axis, and gives the square of where it crossed it."""

    @qd.kernel
    def fly(parameter: Cell, miss: Cell):
        for _ in range(1):
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


FLIGHTS = {"f": flight(slope_by_tangents), "r": flight(slope_by_tracing)}


def _task(given, outer, nested):
    fly, both = FLIGHTS[nested], {"needs_grad": outer == "r", "needs_dual": outer == "f"}
    parameter, miss = zeros(**both), zeros(**both)
    reverse = gradient(miss, lambda: fly(parameter, miss))
    least = []

    def evaluate(w):
        parameter.fill(w[0])
        if outer == "r":
            reverse()
            return number(miss), parameter.grad.to_numpy().reshape(1)
        with qd.ad.FwdMode(loss=miss, param=parameter, seed=[1.0]):
            fly(parameter, miss)
        return number(miss), miss.dual.to_numpy().reshape(1)

    def run():
        least[:] = argmin(evaluate, [given["w"]])

    return Task(run, lambda: float(least[0]))


FUNCTIONS = {name: lambda given, name=name: _task(given, *name) for name in ("rr", "ff", "fr", "rf")}
EXAMPLE = {"w": 0.0}
