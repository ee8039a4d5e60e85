"""The eval `llsq`: how far a polynomial is from the sign of t on n points t in [-1, 1], and the gradient by its
coefficients.

The value is half the sum of (sign(t) - p(t))^2, where p(t) = sum of x[j] t^j.
"""

import adstack as qd

from .task import Cell, Line, Task, array, backward, number, numbers, zeros


@qd.kernel
def fit(x: Line, n: qd.i32, loss: Cell):
    loss[None] = 0.0
    for i in range(n):
        t = 2.0 * i / (n - 1.0) - 1.0
        rest = qd.select(t > 0.0, 1.0, qd.select(t < 0.0, -1.0, 0.0))
        power = 1.0
        for j in range(x.shape[0]):
            rest -= x[j] * power
            power *= t
        loss[None] += 0.5 * rest * rest


def _task(given, differentiated):
    x, n = array(given["x"], needs_grad=differentiated), given["n"]
    loss = zeros(needs_grad=differentiated)

    def program():
        fit(x, n, loss)

    def differentiate():
        program()
        backward(loss, x, fit, x, n, loss)

    if differentiated:
        return Task(differentiate, lambda: numbers(x.grad))
    return Task(program, lambda: number(loss))


FUNCTIONS = {"primal": lambda given: _task(given, False), "gradient": lambda given: _task(given, True)}
EXAMPLE = {"x": [0.5, -1.0, 2.0], "n": 9}
