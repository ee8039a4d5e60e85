"""References: what can be assigned to, or changed by an atomic: a cell, an element of a place, or several of them.

A vector or matrix reference is an ordinary `Matrix` whose storage is a list of references, so that indexing and
swizzles of it reach memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from ...errors import AdstackTypeError
from ...ir.ops import ATOMICS
from ...ir.structure import Place, Value
from ...ir.types import FLOATS, NUMERIC, DType, i32
from ...values.elements import Elements
from ...values.kinds import KernelObject
from ..variables import cells
from .bounds import checked
from .current import current
from .expr import Expr
from .literals import describe
from .type_promotion import common, typed

__all__ = [
    "CellRef",
    "LiveStorage",
    "PlaceRef",
    "ScalarRef",
    "cell_matrix",
    "index_value",
    "is_live",
    "live",
    "place_matrix",
    "references_of",
]


class ScalarRef:
    """A scalar in memory or in a local variable."""

    __slots__ = ()

    @property
    def dtype(self) -> DType:
        """The type that the memory or the variable holds; what is stored is cast to it."""
        raise NotImplementedError

    def get(self) -> Expr:
        """Emit a load; the value as it is at this point of the program."""
        raise NotImplementedError

    def set(self, value: object) -> None:
        """Emit a store; the value is cast to the type of the reference."""
        raise NotImplementedError

    def combine(self, kind: str, values: list[Value]) -> Value:
        """Emit an atomic update of a kind of the table; the old value."""
        raise NotImplementedError

    def __adstack_atomic__(self, kind: str, values: tuple[KernelObject, ...], /) -> Expr:
        """Combine `values` into it; the old value. "sub" adds the negated value."""
        operands = [typed(v, self.dtype) for v in values]
        if kind == "sub":
            kind, operands = "add", [current().builder.neg(operands[0])]
        self._check(kind, values)
        return Expr(self.combine(kind, operands))

    def _check(self, kind: str, values: tuple[KernelObject, ...]) -> None:
        over = ATOMICS[kind].over
        if over == "bits" and (self.dtype in FLOATS or common(*values) in FLOATS):
            raise AdstackTypeError(
                f"a bitwise {kind} needs integers", note=f"the target is {self.dtype}", do="use an integer type"
            )
        if over == "numeric" and self.dtype not in NUMERIC:
            raise AdstackTypeError(
                f"an atomic {kind} needs a number", note=f"the target is {self.dtype}", do="use an integer type, as i32"
            )


class CellRef(ScalarRef):
    """An element of a cell, at a position known now or at run time."""

    __slots__ = ("at", "cell")

    def __init__(self, cell: cells.Cell, at: int | Value = 0) -> None:
        self.cell = cell
        self.at = at

    @property
    def dtype(self) -> DType:
        """See `ScalarRef.dtype`."""
        return self.cell.dtype

    def get(self) -> Expr:
        """See `ScalarRef.get`."""
        return Expr(cells.read(current().builder, self.cell, self.at))

    def set(self, value: object) -> None:
        """See `ScalarRef.set`."""
        cells.write(current().builder, self.cell, typed(value, self.dtype), self.at)

    def combine(self, kind: str, values: list[Value]) -> Value:
        """See `ScalarRef.combine`."""
        return cells.update(current().builder, self.cell, kind, values, self.at)


class PlaceRef(ScalarRef):
    """An element of a field, an ndarray argument, or a companion of either; constant indices become values at use."""

    __slots__ = ("indices", "place")

    def __init__(self, place: Place, indices: Sequence[KernelObject]) -> None:
        self.place = place
        self.indices = indices

    @property
    def dtype(self) -> DType:
        """See `ScalarRef.dtype`."""
        return self.place.dtype

    def _at(self) -> list[Value]:
        return [index_value(i) for i in self.indices]

    def get(self) -> Expr:
        """See `ScalarRef.get`."""
        return Expr(current().builder.load(self.place, self._at()))

    def set(self, value: object) -> None:
        """See `ScalarRef.set`."""
        stored = typed(value, self.dtype)
        current().builder.store(self.place, self._at(), stored)

    def combine(self, kind: str, values: list[Value]) -> Value:
        """See `ScalarRef.combine`."""
        return current().builder.atomic(kind, self.place, self._at(), *values)


Finder = Callable[[tuple[KernelObject, ...], tuple[int, ...]], ScalarRef]


class LiveStorage:
    """Elements of a vector or matrix that are references; reading one gives its value now.

    Args:
        targets: the references, row by row.
        find: the reference at runtime indices, one per axis.
    """

    def __init__(self, targets: Sequence[ScalarRef], find: Finder) -> None:
        self.targets = targets
        self.find = find

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, position: int, /) -> KernelObject:
        return self.targets[position].get()

    def __setitem__(self, position: int, value: object, /) -> None:
        self.targets[position].set(value)

    def get_at(self, indices: tuple[KernelObject, ...], shape: tuple[int, ...]) -> KernelObject:
        """Load the element at runtime indices; `shape` is that of the vector or matrix, for bounds."""
        return self.find(indices, shape).get()

    def set_at(self, indices: tuple[KernelObject, ...], shape: tuple[int, ...], value: object) -> None:
        """Store to the element at runtime indices; `shape` is that of the vector or matrix, for bounds."""
        self.find(indices, shape).set(value)

    def target(self, position: int) -> ScalarRef:
        """The reference itself, for atomics."""
        return self.targets[position]


def is_live(value: object) -> bool:
    """Whether `value` is a vector or matrix of references."""
    return isinstance(value, Elements) and isinstance(value.storage, LiveStorage)


def flat_index(indices: Sequence[KernelObject], shape: Sequence[int]) -> KernelObject:
    """The position, row by row, of an element."""
    position = indices[0]
    for index, extent in zip(indices[1:], shape[1:], strict=False):
        position = position * extent + index
    return position


def cell_matrix(cell: cells.Cell, shape: tuple[int, ...]) -> KernelObject:
    """A live vector or matrix whose elements are those of `cell`."""

    def find(indices: tuple[KernelObject, ...], shape: tuple[int, ...]) -> ScalarRef:
        return CellRef(cell, index_value(flat_index(checked(indices, shape), shape)))

    return Elements.over(LiveStorage([CellRef(cell, k) for k in range(cell.size)], find), shape, cell.dtype)


def place_matrix(
    place: Place,
    indices: Sequence[KernelObject],
    shape: tuple[int, ...],
    reference: Callable[[Place, Sequence[KernelObject]], ScalarRef] = PlaceRef,
) -> KernelObject:
    """A live vector or matrix: the element of `place` at `indices`, whose own axes are `shape`.

    `reference(place, indices)` makes the references to its numbers.
    """

    def find(inner: tuple[KernelObject, ...], _: tuple[int, ...]) -> ScalarRef:
        return reference(place, [*indices, *inner])

    points = product(*(range(extent) for extent in shape))
    return Elements.over(LiveStorage([find(p, shape) for p in points], find), shape, place.dtype)


def live(targets: Elements) -> KernelObject:
    """A live vector or matrix of references that were picked from another one."""

    def find(indices: tuple[KernelObject, ...], shape: tuple[int, ...]) -> ScalarRef:
        raise AdstackTypeError(
            "a slice or swizzle can't be indexed by a runtime value here", do="index the whole vector"
        )

    return Elements.over(LiveStorage(targets.entries, find), targets.shape)


def references_of(value: Elements) -> KernelObject:
    """A live vector or matrix with the references themselves as elements."""
    return Elements.over(list(value.storage.targets), value.shape)  # type: ignore[attr-defined]


def index_value(index: KernelObject) -> Value:
    """An index as an integer value; u1 and floats are refused."""
    if isinstance(index, Expr):
        if index.dtype.is_float:
            raise AdstackTypeError("an index must be an integer", note=f"this is {index.dtype}", do="cast it: i32(...)")
        return typed(index, i32) if index.dtype.is_bool else index.value
    if isinstance(index, bool) or not hasattr(type(index), "__index__"):
        raise AdstackTypeError("an index must be an integer", note=f"got {describe(index)}")
    number = int(index)
    context = current()
    return context.builder.const(number, i32 if i32.min <= number <= i32.max else context.default_ip)
