"""Operators of vectors and matrices: elementwise, scalars broadcast, and the matrix product."""

from __future__ import annotations

from ...errors import AdstackTypeError, AdstackValueError
from ...ir.scalar_ops import (
    ABS,
    ADD,
    AND,
    DIV,
    EQ,
    FLOORDIV,
    GE,
    GT,
    LE,
    LT,
    MOD,
    MUL,
    NE,
    NEG,
    NOT,
    OR,
    POW,
    SHL,
    SHR,
    SUB,
    XOR,
)
from ..elements import Elements, as_elements, describe
from ..functions import elementwise, operate
from ..kinds import Operand
from ..operations import POS


def dot_entries(left: list[Operand], right: list[Operand]) -> Operand:
    """The sum of products, from the left."""
    total = operate(MUL, left[0], right[0])
    for a, b in zip(left[1:], right[1:], strict=True):
        total = operate(ADD, total, operate(MUL, a, b))
    return total


def matmul(left: Operand, right: Operand) -> Operand:
    """`left @ right`: a vector on the left is a row, one on the right a column, and two give their inner product.

    AdstackTypeError if the shapes do not fit.
    """
    left, right = as_elements(left), as_elements(right)
    both = isinstance(left, Elements) and isinstance(right, Elements)
    if not both or (left.n if left.is_vector else left.m) != right.n:
        raise AdstackTypeError(
            "operands of @ must be matrices or vectors, with rows of the first as long as columns of the second",
            note=f"got {describe(left)} @ {describe(right)}",
            do="use .transpose() to swap axes, * for elementwise products",
        )
    rows = [left.entries] if left.is_vector else left.rows_of_entries()
    columns = [list(column) for column in zip(*right.rows_of_entries(), strict=True)]
    product = [dot_entries(row, column) for row in rows for column in columns]
    shape = (() if left.is_vector else (left.n,)) + (() if right.is_vector else (right.m,))
    return Elements.over(product, shape) if shape else product[0]


class Operators(Elements):
    """Python's operators, elementwise."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None  # numpy arrays on the left leave the operator to us

    def __bool__(self) -> bool:
        raise AdstackValueError(
            f"{describe(self)} is not a condition: its elements may differ", do="use .all() or .any() of it"
        )

    def __add__(self, other: object) -> Operand:
        return operate(ADD, self, other)

    def __radd__(self, other: object) -> Operand:
        return operate(ADD, other, self)

    def __sub__(self, other: object) -> Operand:
        return operate(SUB, self, other)

    def __rsub__(self, other: object) -> Operand:
        return operate(SUB, other, self)

    def __mul__(self, other: object) -> Operand:
        return operate(MUL, self, other)

    def __rmul__(self, other: object) -> Operand:
        return operate(MUL, other, self)

    def __truediv__(self, other: object) -> Operand:
        return operate(DIV, self, other)

    def __rtruediv__(self, other: object) -> Operand:
        return operate(DIV, other, self)

    def __floordiv__(self, other: object) -> Operand:
        return operate(FLOORDIV, self, other)

    def __rfloordiv__(self, other: object) -> Operand:
        return operate(FLOORDIV, other, self)

    def __mod__(self, other: object) -> Operand:
        return operate(MOD, self, other)

    def __rmod__(self, other: object) -> Operand:
        return operate(MOD, other, self)

    def __pow__(self, other: object) -> Operand:
        return operate(POW, self, other)

    def __rpow__(self, other: object) -> Operand:
        return operate(POW, other, self)

    def __lshift__(self, other: object) -> Operand:
        return operate(SHL, self, other)

    def __rlshift__(self, other: object) -> Operand:
        return operate(SHL, other, self)

    def __rshift__(self, other: object) -> Operand:
        return operate(SHR, self, other)

    def __rrshift__(self, other: object) -> Operand:
        return operate(SHR, other, self)

    def __and__(self, other: object) -> Operand:
        return operate(AND, self, other)

    def __rand__(self, other: object) -> Operand:
        return operate(AND, other, self)

    def __or__(self, other: object) -> Operand:
        return operate(OR, self, other)

    def __ror__(self, other: object) -> Operand:
        return operate(OR, other, self)

    def __xor__(self, other: object) -> Operand:
        return operate(XOR, self, other)

    def __rxor__(self, other: object) -> Operand:
        return operate(XOR, other, self)

    def __eq__(self, other: object) -> Operand:
        return operate(EQ, self, other)

    def __ne__(self, other: object) -> Operand:
        return operate(NE, self, other)

    def __lt__(self, other: object) -> Operand:
        return operate(LT, self, other)

    def __le__(self, other: object) -> Operand:
        return operate(LE, self, other)

    def __gt__(self, other: object) -> Operand:
        return operate(GT, self, other)

    def __ge__(self, other: object) -> Operand:
        return operate(GE, self, other)

    def __neg__(self) -> Operand:
        return operate(NEG, self)

    def __pos__(self) -> Operand:
        return operate(POS, self)

    def __invert__(self) -> Operand:
        return operate(NOT, self)

    def __abs__(self) -> Operand:
        return elementwise(ABS, self)

    def __matmul__(self, other: object) -> Operand:
        return matmul(self, other)

    def __rmatmul__(self, other: object) -> Operand:
        return matmul(other, self)
