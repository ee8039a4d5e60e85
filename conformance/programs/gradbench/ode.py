"""The eval `ode`: a chain of linear equations, solved to time 2 by s steps of the classical Runge-Kutta method, from
zero.

y[0]' = x[0], and y[i]' = x[i] y[i - 1]: an element depends on the one before it, and after a whole step on the four
before it. A step is one launch, in which each lane computes what it needs of its neighbours again. Four elements that
do not change stand in front of the chain, the last of them 1, so that all of the chain has one equation. The gradient
is that of the last element at the end.
"""

import numpy as np

import adstack as qd

from .task import Cell, Line, Table, Task, array, gradient, numbers, zeros

END = 2.0
FRONT = 4


@qd.kernel
def step(x: Line, y: Table, t: qd.i32, h: qd.f64):
    for i in range(FRONT, x.shape[0]):
        y0, y1, y2, y3 = y[t, i], y[t, i - 1], y[t, i - 2], y[t, i - 3]
        first0, first1 = x[i] * y1, x[i - 1] * y2
        first2, first3 = x[i - 2] * y3, x[i - 3] * y[t, i - 4]
        second0 = x[i] * (y1 + 0.5 * h * first1)
        second1 = x[i - 1] * (y2 + 0.5 * h * first2)
        second2 = x[i - 2] * (y3 + 0.5 * h * first3)
        third0 = x[i] * (y1 + 0.5 * h * second1)
        third1 = x[i - 1] * (y2 + 0.5 * h * second2)
        fourth0 = x[i] * (y1 + h * third1)
        y[t + 1, i] = y0 + h * (first0 + 2.0 * second0 + 2.0 * third0 + fourth0) / 6.0


@qd.kernel
def take_last(y: Table, last: Cell):
    last[None] = y[y.shape[0] - 1, y.shape[1] - 1]


def _task(given, differentiated):
    steps = given["s"]
    x = array([*[0.0] * FRONT, *given["x"]], needs_grad=differentiated)
    start = np.zeros((steps + 1, x.shape[0]))
    start[:, FRONT - 1] = 1.0
    y, last = array(start, needs_grad=differentiated), zeros(needs_grad=differentiated)

    def solve():
        for t in range(steps):
            step(x, y, t, END / steps)

    def program():
        solve()
        take_last(y, last)

    if differentiated:
        return Task(gradient(last, program), lambda: numbers(x.grad)[FRONT:])
    return Task(solve, lambda: numbers(y)[-1][FRONT:])


FUNCTIONS = {"primal": lambda given: _task(given, False), "gradient": lambda given: _task(given, True)}
EXAMPLE = {"x": [0.5, 1.5, -0.75, 2.0, 1.25, 0.5, 1.0], "s": 3}
