"""What vectors and matrices are made of: a shape and a sequence of elements, row by row.

The elements may be numbers (on the host), runtime values of the frontend (in kernels), or anything else that has
arithmetic, such as `fractions.Fraction`. They lie in a `Storage`: a plain list, or an object that makes a vector a live
view of an element of a field or of a kernel's local variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar, Protocol

from ..errors import AdstackTypeError
from ..ir.types import DType
from .calling import takes
from .kinds import Operand
from .protocol import own

__all__ = ["Elements", "Storage", "as_elements", "describe", "zip_elements"]


class Storage(Protocol):
    """Where elements lie. A list is one; a live view's reads and writes go to what it is a view of.

    A storage may also have `get_at(indices, shape)` and `set_at(indices, shape, value)`: how to reach an element by
    runtime indices (one per axis). Without them, runtime indices become chains of selects.
    """

    def __getitem__(self, position: int, /) -> Operand: ...
    def __setitem__(self, position: int, value: Operand, /) -> None: ...
    def __len__(self) -> int: ...


class Elements:
    """A vector (one axis) or matrix (two axes) of elements; the base of `Matrix`.

    Attributes:
        shape: (n,) or (n, m).
        storage: the elements, row by row.
    """

    __slots__ = ("_dtype", "shape", "storage")

    _dtype: DType | None
    shape: tuple[int, ...]
    storage: Storage
    kinds: ClassVar[dict[int, Operand]] = {}
    """The class for each number of axes; filled in by the module that assembles the classes."""

    @classmethod
    def over(cls, storage: Storage, shape: Sequence[int], dtype: DType | None = None) -> Operand:
        """A vector or matrix whose elements are those of `storage`, not a copy of them."""
        elements = object.__new__(cls.kinds[len(shape)])
        object.__setattr__(elements, "storage", storage)
        object.__setattr__(elements, "shape", tuple(shape))
        object.__setattr__(elements, "_dtype", dtype)
        return elements

    @property
    def dtype(self) -> DType | None:
        """The elements' type: as declared, or the common type of runtime elements, or None for plain numbers."""
        if self._dtype is not None:
            return self._dtype
        types = {id(t): t for t in (getattr(e, "dtype", None) for e in self.entries)}
        only = next(iter(types.values()), None)
        return only if len(types) == 1 and isinstance(only, DType) else None

    @property
    def entries(self) -> list[Operand]:
        """The elements, row by row, as they are now."""
        return [self.storage[k] for k in range(len(self.storage))]

    @property
    def n(self) -> int:
        """Length of a vector, rows of a matrix."""
        return self.shape[0]

    @property
    def m(self) -> int:
        """Columns; 1 for a vector."""
        return self.shape[1] if len(self.shape) == 2 else 1

    @property
    def ndim(self) -> int:
        """1 for a vector, 2 for a matrix."""
        return len(self.shape)

    @property
    def is_vector(self) -> bool:
        """Whether it is a vector, not a matrix."""
        return len(self.shape) == 1

    @takes("get_shape")
    def get_shape(self) -> tuple[int, ...]:
        """(n,) or (n, m)."""
        return self.shape

    def copy(self) -> Operand:
        """A vector or matrix of its own with the elements of now."""
        return self.over(self.entries, self.shape, self._dtype)

    def map(self, function: Callable[[Operand], Operand]) -> Operand:
        """Elementwise `function`."""
        return self.over([function(e) for e in self.entries], self.shape)

    def rows_of_entries(self) -> list[list[Operand]]:
        """The elements, one list per row; a vector is a column."""
        flat = self.entries
        return [flat[i * self.m : (i + 1) * self.m] for i in range(self.n)]

    @takes("to_list")
    def to_list(self) -> list[Operand]:
        """The elements in lists nested like the axes."""
        return self.entries if self.is_vector else self.rows_of_entries()

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[Operand]:
        return iter(self.to_list())


def describe(value: object) -> str:
    """What `value` is, for messages: "a 3-vector", "a 2x2 matrix", "i32", "a str", "a struct of the type Ball"."""
    if isinstance(value, Elements):
        return f"a {value.n}-vector" if value.is_vector else f"a {value.n}x{value.m} matrix"
    in_words = getattr(type(value), "__adstack_described__", None)
    if in_words is not None:
        words: str = in_words(value)
        return words
    dtype = own(value, "dtype")
    return dtype.name if isinstance(dtype, DType) else f"a {type(value).__name__}"


def is_array(value: object) -> bool:
    """Whether it is an array of numpy's, torch's or the like, with at least one axis."""
    return hasattr(type(value), "tolist") and own(value, "ndim", 0) > 0


def as_elements(value: object) -> Operand:
    """Lists, tuples and numpy arrays as vectors or matrices; anything else as it is."""
    if isinstance(value, Elements):
        return value
    if isinstance(value, (list, tuple)) or is_array(value):
        return Elements.kinds[2](value)
    return value


def common_shape(what: str, values: Iterable[Operand]) -> tuple[int, ...] | None:
    """The one shape of the vectors and matrices among `values`; None if all are scalars.

    AdstackTypeError, which names the function `what`, if there are several shapes.
    """
    shapes = [v for v in values if isinstance(v, Elements)]
    for other in shapes[1:]:
        if other.shape != shapes[0].shape:
            raise AdstackTypeError(
                f"operands of {what} must share a shape",
                note=f"got {describe(shapes[0])} and {describe(other)}",
                do="make both shapes equal; only scalars are broadcast",
            )
    return shapes[0].shape if shapes else None


def zip_elements(what: str, function: Callable[..., Operand], *values: object) -> Operand:
    """`function` of scalars applied elementwise, scalars broadcast; on scalars alone, `function` itself."""
    values = tuple(as_elements(v) for v in values)
    shape = common_shape(what, values)
    if shape is None:
        return function(*values)
    count = len(next(v for v in values if isinstance(v, Elements)).storage)
    columns = [v.entries if isinstance(v, Elements) else [v] * count for v in values]
    return Elements.over([function(*row) for row in zip(*columns, strict=True)], shape)
