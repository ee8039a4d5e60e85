"""Products, norms and reductions of vectors and matrices."""

from __future__ import annotations

from functools import reduce

from ...errors import AdstackTypeError
from ...ir.opdef import OpDef
from ...ir.scalar_ops import ADD, AND, DIV, MUL, NE, OR, SUB
from ..calling import methods_take, takes
from ..elements import Elements, as_elements, describe
from ..functions import cast, max_, min_, operate, sqrt
from ..kinds import Operand, TypeLike
from ..scalars import settled
from .operators import Operators, dot_entries


def vector_operand(what: str, value: object) -> Operand:
    """`value` as a vector; AdstackTypeError, which names the function `what`, if it is none."""
    value = as_elements(value)
    if not (isinstance(value, Elements) and value.is_vector):
        raise AdstackTypeError(f"operands of {what} must be vectors", note=f"got {describe(value)}")
    return value


def _same_length(what: str, left: Operand, right: Operand) -> tuple[list[Operand], list[Operand]]:
    left, right = vector_operand(what, left), vector_operand(what, right)
    if left.n != right.n:
        raise AdstackTypeError(
            f"operands of {what} must have the same length",
            note=f"got {describe(left)} and {describe(right)}",
            do="take some of the components, as v.xy",
        )
    return left.entries, right.entries


@takes("cross")
def cross(x: object, y: object) -> Operand:
    """The cross product of `x` and `y`: a vector for two 3-vectors, a scalar for two 2-vectors.

    AdstackTypeError for other operands.
    """
    a, b = _same_length("cross", x, y)
    if len(a) not in (2, 3):
        do = "take some of the components, as v.xyz"
        raise AdstackTypeError("the cross product is defined for 2 and 3 components", note=f"got {describe(x)}", do=do)

    def minor(i: int, j: int) -> Operand:
        return operate(SUB, operate(MUL, a[i], b[j]), operate(MUL, a[j], b[i]))

    return minor(0, 1) if len(a) == 2 else Elements.over([minor(1, 2), minor(2, 0), minor(0, 1)], (3,))


def nonzero(value: object) -> Operand:
    """Whether a number is not zero."""
    return operate(NE, value, 0)


def _fold(operation: OpDef, elements: list[Operand]) -> Operand:
    return reduce(lambda left, right: operate(operation, left, right), elements)


def in_type(matrix: object, dt: object) -> Operand:
    """A matrix with its elements converted to the type `dt`, or as they are for None."""
    return matrix if dt is None else cast(as_elements(matrix), dt)


@methods_take
class Algebra(Operators):
    """Methods that make scalars and vectors of vectors and matrices."""

    __slots__ = ()

    def dot(self, other: object) -> Operand:
        """The sum of the products of the components of two vectors; AdstackTypeError if their lengths differ."""
        return dot_entries(*_same_length("dot", self, other))

    def cross(self, other: object) -> Operand:
        """The cross product: a vector for two 3-vectors, a scalar for two 2-vectors; AdstackTypeError for others."""
        return cross(self, other)

    def outer_product(self, other: object) -> Operand:
        """The matrix of all products of a component of this vector (row) and one of the other (column)."""
        left, right = vector_operand("outer_product", self), vector_operand("outer_product", other)
        products = [operate(MUL, a, b) for a in left.entries for b in right.entries]
        return self.over(products, (left.n, right.n))

    def frobenius_inner(self, other: object) -> Operand:
        """The sum of the products of the elements of this matrix and of `other`, which has the same shape."""
        products = operate(MUL, self, other)
        return products.sum()

    def norm_sqr(self) -> Operand:
        """The sum of the squares of the elements."""
        return dot_entries(self.entries, self.entries)

    def norm(self, eps: object = 0) -> Operand:
        """sqrt(norm_sqr() + eps); an eps above 0 keeps the derivative finite at 0."""
        return sqrt(self._padded(self.norm_sqr(), eps))

    def norm_inv(self, eps: object = 0) -> Operand:
        """1 / sqrt(norm_sqr() + eps)."""
        return operate(DIV, 1, self.norm(eps))

    def normalized(self, eps: object = 0) -> Operand:
        """The elements divided by norm() + eps."""
        return operate(MUL, self, operate(DIV, 1, self._padded(self.norm(), eps)))

    @staticmethod
    def _padded(value: object, eps: object) -> Operand:
        # A literal 0 adds nothing and would only be another operation to compile and differentiate.
        return value if isinstance(eps, (int, float)) and eps == 0 else operate(ADD, value, eps)

    def sum(self) -> Operand:
        """The sum of the elements, from the first on."""
        return _fold(ADD, self.entries)

    def max(self) -> Operand:
        """The largest element, as the variadic `max` finds it."""
        return max_(*self.entries)

    def min(self) -> Operand:
        """The smallest element, as the variadic `min` finds it."""
        return min_(*self.entries)

    def any(self) -> Operand:
        """Whether an element is not zero."""
        return _fold(OR, [nonzero(e) for e in self.entries])

    def all(self) -> Operand:
        """Whether no element is zero."""
        return _fold(AND, [nonzero(e) for e in self.entries])

    def trace(self) -> Operand:
        """The sum of the diagonal of a square matrix."""
        rows = square_rows("trace", self)
        return _fold(ADD, [rows[i][i] for i in range(len(rows))])

    def transpose(self) -> Operand:
        """Rows and columns exchanged; a vector becomes a matrix of one row."""
        flat = [e for column in zip(*self.rows_of_entries(), strict=True) for e in column]
        return self.over(flat, (self.m, self.n))

    def cast(self, dtype: TypeLike) -> Operand:
        """The elements converted to `dtype`."""
        dtype = settled(dtype)
        converted = cast(self, dtype)
        return self.over(converted.entries, self.shape, dtype if hasattr(dtype, "bits") else None)


def square_rows(what: str, value: object) -> list[list[Operand]]:
    """The rows of a square matrix; AdstackTypeError, which names the function `what`, if it is none."""
    value = as_elements(value)
    if not isinstance(value, Elements) or value.is_vector or value.n != value.m:
        do = "give as many rows as columns"
        raise AdstackTypeError(f"{what} is defined for square matrices", note=f"got {describe(value)}", do=do)
    return value.rows_of_entries()
