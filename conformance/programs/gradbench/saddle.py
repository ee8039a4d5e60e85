"""The eval `saddle`: the point x that minimises what the largest value of f(x, y) over y is, and that y.

f(x, y) = (x1^2 + x2^2) - (y1^2 + y2^2). Both are found by gradient descent, one in each step of the other. A kernel
descends along y; the derivative of what it ends with by x is that of the descent, loop and all. The first letter of
a function's name is the mode in which adstack takes it, forward or reverse; the second that of the gradient by y,
which the kernel takes (`inner`).
"""

from contextlib import nullcontext

import numpy as np

import adstack as qd

from . import inner
from .descent import SMALL, START, STEADY, argmin
from .task import Task


def height(x1, x2, y1, y2):
    return (x1 * x1 + x2 * x2) - (y1 * y1 + y2 * y2)


def fall(x1, x2):
    """The function of y whose descent climbs f, without its terms that are constant while x stays."""
    return lambda y1, y2: (y1 * y1 + y2 * y2) - (x1 * x1 + x2 * x2)


def slope_by_tangents(x1, x2, y1, y2):
    return inner.forward(fall(x1, x2), (y1, y2))


def slope_by_tracing(x1, x2, y1, y2):
    return inner.reverse(fall(x1, x2), (y1, y2))


def climb(slope, x, start, top, where):
    """A kernel that finds the largest value of f over y, from `start`, for each row of x, and where it is."""

    @qd.kernel
    def descend():
        qd.loop_config(serialize=True)
        for row in top:
            x1, x2, y1, y2 = x[row, 0], x[row, 1], start[0], start[1]
            least = -height(x1, x2, y1, y2)
            g1, g2 = slope(x1, x2, y1, y2)
            rate, steps, going = START, 0, g1 * g1 + g2 * g2 > SMALL * SMALL
            while going:
                if steps == STEADY:
                    rate, steps = 2.0 * rate, 0
                else:
                    going = rate * rate * (g1 * g1 + g2 * g2) > SMALL * SMALL
                    value = -height(x1, x2, y1 - rate * g1, y2 - rate * g2)
                    if going and value < least:
                        y1 -= rate * g1
                        y2 -= rate * g2
                        least = value
                        g1, g2 = slope(x1, x2, y1, y2)
                        going = g1 * g1 + g2 * g2 > SMALL * SMALL
                        steps += 1
                    else:
                        rate, steps = 0.5 * rate, 0
            top[row] = -least
            where[row, 0] = y1
            where[row, 1] = y2

    return descend


SLOPES = {"f": slope_by_tangents, "r": slope_by_tracing}


def _task(given, outer, nested):
    rows, both = (1 if outer == "r" else 2), {"needs_grad": outer == "r", "needs_dual": outer == "f"}
    x, top = qd.field(qd.f64, (rows, 2), **both), qd.field(qd.f64, rows, **both)
    start, where, ends = qd.field(qd.f64, 2), qd.field(qd.f64, (rows, 2)), []
    start.from_numpy(np.array(given["start"]))
    descend = climb(SLOPES[nested], x, start, top, where)

    def evaluate(point):
        x.from_numpy(np.broadcast_to(point, (rows, 2)))
        descend()
        if outer == "f":
            return top[0], np.array([top.dual[0], top.dual[1]])
        x.grad.fill(0.0)
        top.grad[0] = 1.0
        descend.grad()
        return top[0], np.array([x.grad[0, 0], x.grad[0, 1]])

    def run():
        forward = qd.ad.FwdMode(loss=top, param=x, seed=[1.0, 0.0, 0.0, 1.0]) if outer == "f" else nullcontext()
        with forward:
            least = argmin(evaluate, given["start"])
            evaluate(least)
        ends[:] = [*least.tolist(), where[0, 0], where[0, 1]]

    return Task(run, lambda: list(ends))


FUNCTIONS = {name: lambda given, name=name: _task(given, *name) for name in ("rr", "ff", "fr", "rf")}
EXAMPLE = {"start": [1.0, 1.0]}
