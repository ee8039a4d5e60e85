"""Arrays that the threads of a block share: their elements, and in debug mode who has touched them since `sync()`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final

from ...errors import AdstackIndexError
from ...ir.structure import Value
from ...ir.types import DType, i32, i64
from ...values.elements import Elements
from ...values.kinds import KernelObject
from ..variables import cells
from ..variables.blocks import Block
from .current import current
from .expr import Expr
from .literals import describe, plain
from .references import LiveStorage, ScalarRef, index_value
from .type_promotion import typed

__all__ = ["SharedArray", "SharedRef"]

_READ: Final = "reads"
_WRITE: Final = "writes"
_UPDATE: Final = "atomically updates"
_RIVALS: Final = {_READ: (_WRITE, _UPDATE), _WRITE: (_READ, _WRITE, _UPDATE), _UPDATE: (_READ, _WRITE)}
"""What other threads may not do to an element, beside what this one does, before all have waited in `sync()`."""


class SharedArray:
    """An array that the threads of a block share.

    Attributes:
        cell: its elements, row by row, those of vectors and matrices together.
        shape: the extents of the index axes.
        element_shape: () for scalars.
        name: what messages call it.
    """

    def __init__(self, block: Block, dtype: DType, shape: tuple[int, ...], element_shape: tuple[int, ...]) -> None:
        self.block = block
        self.shape = shape
        self.element_shape = element_shape
        self.name = "shared array"
        self.cell = self._cell(dtype)
        self.touched = {what: self._cell(i64) for what in _RIVALS} if block.debug else {}

    def _cell(self, dtype: DType) -> cells.Cell:
        size = 1
        for extent in (*self.shape, *self.element_shape):
            size *= extent
        cell = cells.Cell(self.name, dtype, size, in_memory=True)
        cell.team = "shared"
        self.block.shared.append(cell)
        return cell

    @property
    def dtype(self) -> DType:
        """The type of one scalar, also where elements are vectors or matrices."""
        return self.cell.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def call(self, name: str) -> None:
        """Have messages call it by the name of a variable."""
        if self.name == "shared array":
            self.name = self.cell.name = f"shared array '{name}'"

    def element(self, indices: Sequence[KernelObject]) -> KernelObject:
        """The reference to an element; the indices are integers, run-time ones among them.

        Raises:
            AdstackIndexError: there are not as many as axes, or one that is known is outside.
        """
        if len(indices) != len(self.shape):
            count = f"{len(self.shape)} {'index' if len(self.shape) == 1 else 'indices'}"
            raise AdstackIndexError(f"the {self.name} takes {count}, got {len(indices)}", do="give one for each axis")
        at = [_inside(self, axis, index) for axis, index in enumerate(indices)]
        if not self.element_shape:
            return self._reference(at)

        def find(inner: tuple[KernelObject, ...], _: tuple[int, ...]) -> ScalarRef:
            return self._reference([*at, *(_inside(self, len(at) + k, i) for k, i in enumerate(inner))])

        points = product(*(range(extent) for extent in self.element_shape))
        return Elements.over(LiveStorage([find(p, ()) for p in points], find), self.element_shape, self.dtype)

    def _reference(self, at: Sequence[KernelObject]) -> SharedRef:
        position = at[0]
        for index, extent in zip(at[1:], (*self.shape, *self.element_shape)[1:], strict=True):
            position = position * extent + index
        return SharedRef(self, position)


def _inside(array: SharedArray, axis: int, index: KernelObject) -> KernelObject:
    """An index, which debug mode checks."""
    extent, index = (*array.shape, *array.element_shape)[axis], plain(index)
    outside = f"Accessing the {array.name} out of bounds: index {{}} of axis {axis}"
    if isinstance(index, Expr):
        index = Expr(current().builder.cast(index_value(index), i32))
        if array.block.debug:
            current().builder.assert_(((index >= 0) & (index < extent)).value, outside, index.value)  # noqa: PT009
        return index
    if isinstance(index, bool) or not isinstance(index, int):
        note, do = f"got {describe(index)}", "give an integer for each axis"
        raise AdstackIndexError("an index must be an integer", note=note, do=do)
    if not 0 <= index < extent:
        raise AdstackIndexError(outside.format(index), do=f"use 0 to {extent - 1}")
    return index


class SharedRef(ScalarRef):
    """An element of a shared array."""

    __slots__ = ("array", "at")

    def __init__(self, array: SharedArray, at: KernelObject) -> None:
        self.array = array
        self.at = at

    @property
    def dtype(self) -> DType:
        return self.array.dtype

    def get(self) -> Expr:
        at = self._touched(_READ)
        return Expr(cells.read(current().builder, self.array.cell, at))

    def set(self, value: object) -> None:
        stored = typed(value, self.dtype)
        at = self._touched(_WRITE)
        cells.write(current().builder, self.array.cell, stored, at)

    def combine(self, kind: str, values: list[Value]) -> Value:
        at = self._touched(_UPDATE)
        self.array.cell.team = "updated"
        return cells.update(current().builder, self.array.cell, kind, values, at)

    def _touched(self, what: str) -> Value:
        """Where the element is; in debug mode this thread's access is noted, and compared with those of others.

        What is noted of an element is a number: `first + t` if thread t alone has touched it in this phase, and
        `first + threads` if several have. `first` is the phase times threads + 1, so that earlier phases are less.
        """
        at = typed(self.at, i32)
        if not self.array.block.debug:
            return at
        b, block = current().builder, self.array.block
        first = Expr(cells.read(b, block.phase)) * (block.threads + 1)
        own = first + Expr(block.thread)
        for rival in _RIVALS[what]:
            noted = Expr(cells.read(b, self.array.touched[rival], at))
            message = (
                f"Race on the {self.array.name} at element {{}}: thread {{}} of a block {what} it here, and another "
            )
            message += f"one {rival} it without a sync() between them"
            fine = (noted < first) | (noted == own)
            b.assert_(fine.value, message, at, block.thread)  # noqa: PT009 - the builder's
        noted = Expr(cells.read(b, self.array.touched[what], at))
        several = first + block.threads
        alone = b.or_((noted < first).value, (noted == own).value)
        cells.write(b, self.array.touched[what], b.select(alone, own.value, several.value), at)
        return at
