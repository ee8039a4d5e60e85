"""The eval `lse`: log(sum(exp(x))) of a vector, and its gradient.

The maximum is taken off before the exponentials are, and added again, which keeps them in range. The result does not
depend on what was taken off, so that reverse mode need not know of the maximum.
"""

import adstack as qd

from .task import Cell, Line, Task, array, gradient, number, numbers, zeros


@qd.kernel
def find_top(x: Line, top: Cell):
    top[None] = x[0]
    for i in range(x.shape[0]):
        qd.stop_grad(x)
        qd.atomic_max(top[None], x[i])


@qd.kernel
def clear(total: Cell):
    total[None] = 0.0


@qd.kernel
def add_up(x: Line, top: Cell, total: Cell):
    for i in range(x.shape[0]):
        total[None] += qd.exp(x[i] - top[None])


@qd.kernel
def finish(top: Cell, total: Cell, result: Cell):
    result[None] = top[None] + qd.log(total[None])


def _task(given, differentiated):
    x, top = array(given["x"], needs_grad=differentiated), zeros()
    total, result = zeros(needs_grad=differentiated), zeros(needs_grad=differentiated)

    def program():
        find_top(x, top)
        clear(total)
        add_up(x, top, total)
        finish(top, total, result)

    if differentiated:
        return Task(gradient(result, program), lambda: numbers(x.grad))
    return Task(program, lambda: number(result))


FUNCTIONS = {"primal": lambda given: _task(given, False), "gradient": lambda given: _task(given, True)}
EXAMPLE = {"x": [0.5, -1.0, 2.0, 0.25, 100.0, 99.5]}
