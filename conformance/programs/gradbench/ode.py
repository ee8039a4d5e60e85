"""The eval `ode`: a chain of linear equations, solved to time 2 by s steps of the classical Runge-Kutta method, from
zero.

y[0]' = x[0], and y[i]' = x[i] y[i - 1]: an element depends on the one before it, and after a whole step on the four
before it. A step is one launch, in which each lane computes what it needs of its neighbours again. The gradient is
that of the last element at the end.
"""

import adstack as qd

from .task import Cell, Line, Table, Task, array, gradient, numbers, zeros

END = 2.0


@qd.func
def slope(x, i, before):
    """The derivative of y[i] by the time where y[i - 1] is `before`; indices below zero belong to nobody."""
    result = 0.0
    if i > 0:
        result = x[i] * before
    elif i == 0:
        result = x[0]
    return result


@qd.func
def value(y, t, i):
    result = 0.0
    if i >= 0:
        result = y[t, i]
    return result


@qd.kernel
def step(x: Line, y: Table, t: qd.i32, h: qd.f64):
    for i in range(x.shape[0]):
        y0, y1, y2, y3 = y[t, i], value(y, t, i - 1), value(y, t, i - 2), value(y, t, i - 3)
        first0, first1 = slope(x, i, y1), slope(x, i - 1, y2)
        first2, first3 = slope(x, i - 2, y3), slope(x, i - 3, value(y, t, i - 4))
        second0 = slope(x, i, y1 + 0.5 * h * first1)
        second1 = slope(x, i - 1, y2 + 0.5 * h * first2)
        second2 = slope(x, i - 2, y3 + 0.5 * h * first3)
        third0 = slope(x, i, y1 + 0.5 * h * second1)
        third1 = slope(x, i - 1, y2 + 0.5 * h * second2)
        fourth0 = slope(x, i, y1 + h * third1)
        y[t + 1, i] = y0 + h * (first0 + 2.0 * second0 + 2.0 * third0 + fourth0) / 6.0


@qd.kernel
def take_last(y: Table, last: Cell):
    last[None] = y[y.shape[0] - 1, y.shape[1] - 1]


def _task(given, differentiated):
    steps = given["s"]
    x = array(given["x"], needs_grad=differentiated)
    y, last = zeros(steps + 1, x.shape[0], needs_grad=differentiated), zeros(needs_grad=differentiated)

    def solve():
        for t in range(steps):
            step(x, y, t, END / steps)

    def program():
        solve()
        take_last(y, last)

    if differentiated:
        return Task(gradient(last, program), lambda: numbers(x.grad))
    return Task(solve, lambda: numbers(y)[-1])


FUNCTIONS = {"primal": lambda given: _task(given, False), "gradient": lambda given: _task(given, True)}
EXAMPLE = {"x": [0.5, 1.5, -0.75, 2.0, 1.25, 0.5, 1.0], "s": 3}
