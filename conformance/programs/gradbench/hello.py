"""The eval `hello`: the square of a number, and its derivative, by reverse mode."""

import adstack as qd

from .task import Cell, Task, array, number, zeros


@qd.kernel
def square(x: Cell, y: Cell):
    y[None] = x[None] * x[None]


def _task(given, differentiated):
    x, y = array(given, needs_grad=differentiated), zeros(needs_grad=differentiated)

    def differentiate():
        square(x, y)
        x.grad[None], y.grad[None] = 0.0, 1.0
        square.grad(x, y)

    if differentiated:
        return Task(differentiate, lambda: number(x.grad))
    return Task(lambda: square(x, y), lambda: number(y))


FUNCTIONS = {"square": lambda given: _task(given, False), "double": lambda given: _task(given, True)}
EXAMPLE = 3.0
