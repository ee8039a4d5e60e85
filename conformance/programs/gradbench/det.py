"""The eval `det`: the determinant of a matrix by expansion along its first rows, and its gradient.

An expansion along all rows but the last four has a term for each way to choose a column for each of these rows, no
column twice: a lane computes one term, which is the product of the elements chosen and the minor that is left.
Columns that are free are the digits, base 16, of an integer.
"""

from math import factorial

import adstack as qd

from .task import Cell, Table, Task, array, backward, number, zeros

LEFT = 4
FIRST_COLUMNS = 0xFEDCBA9876543210


@qd.func
def minor(a, row, columns, size: qd.template()):
    """The determinant of the last rows, from `row` on, and of the columns that are digits of `columns`."""
    result = 0.0
    if qd.static(size == 1):
        result = a[row, qd.cast(columns & 15, qd.i32)]
    else:
        for digit in qd.static(range(size)):
            column = qd.cast((columns >> 4 * digit) & 15, qd.i32)
            term = a[row, column] * minor(a, row + 1, without(columns, digit), size - 1)
            result += qd.static((-1.0) ** digit) * term
    return result


@qd.func
def without(columns, digit):
    """The number without one of its digits, base 16."""
    below = (qd.u64(1) << qd.cast(4 * digit, qd.u64)) - 1
    return (columns & below) | (columns >> 4 & ~below)


@qd.kernel
def expand(a: Table, terms: qd.i32, size: qd.template(), result: Cell):
    for term in range(terms):
        rest, columns, product = term, qd.u64(FIRST_COLUMNS), 1.0
        for row in range(a.shape[0] - size):
            digit = rest % (a.shape[0] - row)
            rest = rest // (a.shape[0] - row)
            column = qd.cast((columns >> qd.cast(4 * digit, qd.u64)) & 15, qd.i32)
            product *= qd.select(digit % 2 == 0, a[row, column], -a[row, column])
            columns = without(columns, digit)
        result[None] += product * minor(a, a.shape[0] - size, columns, size)


@qd.kernel
def clear(result: Cell):
    result[None] = 0.0


def _task(given, differentiated):
    side = given["ell"]
    a = array([given["A"][side * row : side * (row + 1)] for row in range(side)], needs_grad=differentiated)
    result, size = zeros(needs_grad=differentiated), min(side, LEFT)
    terms = factorial(side) // factorial(size)

    def program():
        clear(result)
        expand(a, terms, size, result)

    def differentiate():
        program()
        backward(result, a, expand, a, terms, size, result)

    if differentiated:
        return Task(differentiate, lambda: a.grad.to_numpy().reshape(-1).tolist())
    return Task(program, lambda: number(result))


FUNCTIONS = {"primal": lambda given: _task(given, False), "gradient": lambda given: _task(given, True)}
EXAMPLE = {"A": [((7 * n * n + 3 * n) % 11 - 4.0) / 4.0 for n in range(25)], "ell": 5}
