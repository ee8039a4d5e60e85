"""Operators of vectors and matrices: elementwise, scalars broadcast, and the matrix product."""

from __future__ import annotations

from ...errors import AdstackTypeError, AdstackValueError
from ..elements import Elements, as_elements, describe
from ..functions import elementwise, operate
from ..kinds import Operand


def dot_entries(left: list[Operand], right: list[Operand]) -> Operand:
    """The sum of products, from the left."""
    total = operate("mul", left[0], right[0])
    for a, b in zip(left[1:], right[1:], strict=True):
        total = operate("add", total, operate("mul", a, b))
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
        return operate("add", self, other)

    def __radd__(self, other: object) -> Operand:
        return operate("add", other, self)

    def __sub__(self, other: object) -> Operand:
        return operate("sub", self, other)

    def __rsub__(self, other: object) -> Operand:
        return operate("sub", other, self)

    def __mul__(self, other: object) -> Operand:
        return operate("mul", self, other)

    def __rmul__(self, other: object) -> Operand:
        return operate("mul", other, self)

    def __truediv__(self, other: object) -> Operand:
        return operate("div", self, other)

    def __rtruediv__(self, other: object) -> Operand:
        return operate("div", other, self)

    def __floordiv__(self, other: object) -> Operand:
        return operate("floordiv", self, other)

    def __rfloordiv__(self, other: object) -> Operand:
        return operate("floordiv", other, self)

    def __mod__(self, other: object) -> Operand:
        return operate("mod", self, other)

    def __rmod__(self, other: object) -> Operand:
        return operate("mod", other, self)

    def __pow__(self, other: object) -> Operand:
        return operate("pow", self, other)

    def __rpow__(self, other: object) -> Operand:
        return operate("pow", other, self)

    def __lshift__(self, other: object) -> Operand:
        return operate("shl", self, other)

    def __rlshift__(self, other: object) -> Operand:
        return operate("shl", other, self)

    def __rshift__(self, other: object) -> Operand:
        return operate("shr", self, other)

    def __rrshift__(self, other: object) -> Operand:
        return operate("shr", other, self)

    def __and__(self, other: object) -> Operand:
        return operate("and", self, other)

    def __rand__(self, other: object) -> Operand:
        return operate("and", other, self)

    def __or__(self, other: object) -> Operand:
        return operate("or", self, other)

    def __ror__(self, other: object) -> Operand:
        return operate("or", other, self)

    def __xor__(self, other: object) -> Operand:
        return operate("xor", self, other)

    def __rxor__(self, other: object) -> Operand:
        return operate("xor", other, self)

    def __eq__(self, other: object) -> Operand:
        return operate("eq", self, other)

    def __ne__(self, other: object) -> Operand:
        return operate("ne", self, other)

    def __lt__(self, other: object) -> Operand:
        return operate("lt", self, other)

    def __le__(self, other: object) -> Operand:
        return operate("le", self, other)

    def __gt__(self, other: object) -> Operand:
        return operate("gt", self, other)

    def __ge__(self, other: object) -> Operand:
        return operate("ge", self, other)

    def __neg__(self) -> Operand:
        return operate("neg", self)

    def __pos__(self) -> Operand:
        return operate("pos", self)

    def __invert__(self) -> Operand:
        return operate("not", self)

    def __abs__(self) -> Operand:
        return elementwise("abs", self)

    def __matmul__(self, other: object) -> Operand:
        return matmul(self, other)

    def __rmatmul__(self, other: object) -> Operand:
        return matmul(other, self)
