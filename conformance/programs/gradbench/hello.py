"""The eval `hello`: the square of a number, and its derivative, by reverse mode."""

import adstack as qd

from .task import Cell, Task, array, gradient, number, zeros


@qd.kernel
def square(x: Cell, y: Cell):
    y[None] = x[None] * x[None]


def _task(given, differentiated):
    x, y = array(given, needs_grad=True), zeros(needs_grad=True)

    def program():
        square(x, y)

    if differentiated:
        return Task(gradient(y, program), lambda: number(x.grad))
    return Task(program, lambda: number(y))


FUNCTIONS = {"square": lambda given: _task(given, False), "double": lambda given: _task(given, True)}
EXAMPLE = 3.0
