"""The real Schur form of a square matrix, by the implicit QR algorithm with double shifts.

The matrix is brought to Hessenberg form by reflections, and J. G. F. Francis's steps ("The QR transformation", The
Computer Journal 4, 1961; G. H. Golub, C. F. Van Loan, "Matrix Computations", 7.5) turn it until what is left below the
diagonal are single elements, no two of them next to each other. A step has no branches: where a window begins and ends
is chosen by `select`. Only the number of steps depends on the matrix, so that lanes of a processor stay together.
"""

from __future__ import annotations

from typing import Final

from ...ir.scalar_ops import ADD, DIV, EQ, LE, LT, MUL, NEG, SUB
from ..elements import Elements
from ..func import pyfunc
from ..functions import abs_, cast, operate, select, sqrt
from ..kinds import Operand
from ..protocol import is_expr
from .operators import dot_entries

__all__ = ["Rows", "like", "real_schur"]

Rows = list[list[Operand]]


def like(other: Operand, number: float) -> Operand:
    """A number of the type that another has."""
    return cast(float(number), other.dtype) if is_expr(other) else float(number)


STEPS_PER_ROW: Final = 30
"""How many steps are taken at most; two or three for each row are usual."""
EXCEPTIONAL: Final = (10, 20)
"""After so many steps without success the shifts are others: of a permutation the usual ones change nothing."""


def real_schur(rows: Rows) -> tuple[Rows, Rows, Operand]:
    """T, Q with `Q @ T @ Q.transpose()` the matrix, Q orthogonal, T in blocks of one or two rows; and whether it is.

    Args:
        rows: real numbers, all of one type; at least 3 rows.
    """
    size = len(rows)
    table, turns = (_flat(part) for part in _hessenberg(rows))
    settled, turned, last = _iterate(table, turns, size - 1, STEPS_PER_ROW * size)
    return _rows(settled, size), _rows(turned, size), operate(LE, last, 1)


def _flat(rows: Rows) -> Operand:
    return Elements.over([e for row in rows for e in row], (len(rows) ** 2,))


def _rows(flat: Operand, size: int) -> Rows:
    entries = flat.entries
    return [entries[k * size : (k + 1) * size] for k in range(size)]


def _hessenberg(rows: Rows) -> tuple[Rows, Rows]:
    """A similar matrix with zeros below the first subdiagonal, and the orthogonal matrix that turns it."""
    size = len(rows)
    table = [list(row) for row in rows]
    turns = [[like(rows[0][0], i == j) for j in range(size)] for i in range(size)]
    for k in range(size - 2):
        vector, factor = _reflection([table[i][k] for i in range(k + 1, size)])
        _reflect(table, turns, k + 1, vector, factor)
        for i in range(k + 2, size):
            table[i][k] = like(rows[0][0], 0)
    return table, turns


def _reflection(vector: list[Operand]) -> tuple[list[Operand], Operand]:
    """v and f such that 1 - f v v^T reflects a vector onto the first axis; f is 0 where the rest of it is 0 already."""
    largest = abs_(vector[0])
    rest = abs_(vector[1])
    for e in vector[2:]:
        rest = operate(ADD, rest, abs_(e))
    aligned = operate(EQ, rest, 0)
    scale = select(aligned, 1.0, operate(ADD, largest, rest))
    x, *others = (operate(DIV, e, scale) for e in vector)
    length = sqrt(dot_entries([x, *others], [x, *others]))
    turned = select(operate(LT, x, 0), operate(NEG, length), length)
    head = operate(ADD, x, turned)
    product = operate(MUL, turned, head)
    return [head, *others], operate(DIV, select(aligned, 0.0, 1.0), select(aligned, 1.0, product))


def _reflect(table: Rows, turns: Rows, at: int, vector: list[Operand], factor: Operand) -> None:
    """Reflect rows and columns of the table, and columns of the turns, from `at` on."""
    size, lines = len(table), range(at, at + len(vector))
    for j in range(size):
        along = operate(MUL, factor, dot_entries(vector, [table[i][j] for i in lines]))
        for i, e in zip(lines, vector, strict=True):
            table[i][j] = operate(SUB, table[i][j], operate(MUL, e, along))
    for row in (*table, *turns):
        along = operate(MUL, factor, dot_entries(vector, [row[i] for i in lines]))
        for i, e in zip(lines, vector, strict=True):
            row[i] = operate(SUB, row[i], operate(MUL, e, along))


@pyfunc
def _iterate(table, turns, last_row, most):  # type: ignore[no-untyped-def]  # the kernel language: a loop at run time
    """Take steps until every block is finished; gives the last row that is not."""
    settled, turned, last, stuck, steps = table, turns, last_row, 0, 0
    while last > 1 and steps < most:
        settled, turned, last, stuck = _step(settled, turned, last, stuck)
        steps += 1
    return settled, turned, last


def _step(settled: Operand, turned: Operand, last: Operand, stuck: Operand) -> tuple[Operand, ...]:
    """Finish the block that ends in row `last`, or do one step on the rows of its window.

    `stuck` counts the steps since a block was finished.
    """
    size = round(len(settled.entries) ** 0.5)
    table, turns = _rows(settled, size), _rows(turned, size)
    _clear_negligible(table)
    first = _window(table, last)
    going = operate(LT, first + 1, last)
    trace, product = _shifts(table, last, stuck)
    for k in range(size - 1):
        starts = first == k
        active = going & (first <= k) & (last > k)
        vector = _bulge(table, k, starts, trace, product)
        reflection, factor = _reflection(vector)
        _reflect(table, turns, k, reflection, select(active, factor, 0.0))
        for i in range(k + 1, min(k + 3, size)) if k else ():
            table[i][k - 1] = select(active & (first < k), 0.0, table[i][k - 1])
    return _flat(table), _flat(turns), select(going, last, first - 1), select(going, stuck + 1, 0)


def _clear_negligible(table: Rows) -> None:
    """Set elements below the diagonal to 0 that would not change the sum of their neighbours' magnitudes."""
    norm = abs_(table[0][0])
    for e in [e for row in table for e in row][1:]:
        norm = operate(ADD, norm, abs_(e))
    for k in range(1, len(table)):
        around = operate(ADD, abs_(table[k - 1][k - 1]), abs_(table[k][k]))
        around = select(operate(EQ, around, 0), norm, around)
        small = operate(EQ, operate(ADD, around, abs_(table[k][k - 1])), around)
        table[k][k - 1] = select(small, 0.0, table[k][k - 1])


def _window(table: Rows, last: Operand) -> Operand:
    """The first row of the block that ends in row `last`."""
    first: Operand = 0
    for k in range(1, len(table)):
        first = select((last >= k) & operate(EQ, table[k][k - 1], 0), k, first)
    return first


def _shifts(table: Rows, last: Operand, stuck: Operand) -> tuple[Operand, Operand]:
    """Sum and product of the two shifts: the eigenvalues of the last two rows of the window, or others when stuck."""
    chosen = _shift_parts(table, 2)
    for k in range(3, len(table)):
        parts = zip(_shift_parts(table, k), chosen, strict=True)
        chosen = [select(last == k, new, old) for new, old in parts]
    trace, product, below = chosen
    other = (stuck == EXCEPTIONAL[0]) | (stuck == EXCEPTIONAL[1])
    return select(other, 1.5 * below, trace), select(other, below * below, product)


def _shift_parts(table: Rows, k: int) -> list[Operand]:
    """Sum and product of the eigenvalues of rows k - 1 and k, and the sum of magnitudes below the diagonal there."""
    (a, b), (c, d) = table[k - 1][k - 1 : k + 1], table[k][k - 1 : k + 1]
    return [a + d, a * d - b * c, abs_(c) + abs_(table[k - 1][k - 2])]


def _bulge(table: Rows, k: int, starts: Operand, trace: Operand, product: Operand) -> list[Operand]:
    """What is to be reflected onto row k: the first column of the shifted square, or what the row before left."""
    size = len(table)
    a, b, c, d = table[k][k], table[k][k + 1], table[k + 1][k], table[k + 1][k + 1]
    begin = [a * a + b * c - trace * a + product, c * (a + d - trace)]
    if k + 2 < size:
        begin.append(c * table[k + 2][k + 1])
    if k == 0:
        return begin
    return [select(starts, e, table[k + i][k - 1]) for i, e in enumerate(begin)]
