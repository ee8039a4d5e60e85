"""Elements of sparse fields in kernels: what is written is activated, what is inactive is read as 0.

Both are ops on the words that the levels keep (data/levels.py), so that backends and differentiation know nothing of
sparse fields. A real number that is inactive is a constant: no derivative flows into the element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...data.levels import Cells, Level, Node
from ...ir.structure import Place, Value
from ...ir.types import i32
from ...values.functions import select
from ...values.kinds import KernelObject
from .active_cells import Key
from .arrays import touch
from .context import Context
from .current import current
from .expr import Expr
from .references import PlaceRef
from .type_promotion import typed

__all__ = ["Element", "ListRef", "has_lists", "is_active", "list_at", "serial_loops", "sparse_reference", "word_of"]


class Element:
    """An element of a sparse field.

    Args:
        cells: in which it lies, from the root on.
        index: of the element, counted from 0.
        name: what the program calls it: (offset of the field, one index per axis).
    """

    def __init__(self, cells: Sequence[Cells], index: Sequence[KernelObject], name: Sequence[KernelObject]) -> None:
        self._cells = cells
        self._index = index
        self._name = name

    @property
    def key(self) -> Key:
        """By which it is known to be active."""
        parts = (part.value if isinstance(part, Expr) else part for part in self._name)
        last = self._cells[-1]
        return (last.level.words.place.name, last.steps, *parts)

    def is_known(self, context: Context) -> bool:
        """Whether it is active for sure."""
        return context.active.holds(self.key, context.builder.region, serial_loops(context))

    def activate(self) -> None:
        """Emit what makes it active, and the cells that it lies in."""
        context = current()
        if not self.is_known(context):
            for cells in self._cells:
                _activate(context, cells.level, cells.cell(self._index))
            context.active.note(self.key, context.builder.region)

    def read(self, value: Expr) -> Expr:
        """The value that was loaded of it; a constant 0, as far as derivatives are asked for, if it is inactive."""
        if not value.dtype.is_float or self.is_known(current()):
            return value
        last = self._cells[-1]
        result: Expr = select(is_active(last.level, last.cell(self._index)), value, 0)
        return result


def serial_loops(context: Context) -> list[int]:
    """The serial loops, of all functions being lowered, around the current statement."""
    return [id(loop.region) for frame in context.frames for loop in frame.loops if loop.kind in ("serial", "while")]


def word_of(context: Context, level: Level, at: Sequence[KernelObject]) -> PlaceRef:
    """A reference to the word of a level at its index."""
    return PlaceRef(touch(context, level.words), at)


def is_active(level: Level, cell: Sequence[KernelObject]) -> Expr:
    """Emit whether a cell of a level is active."""
    word = word_of(current(), level, level.word(cell)).get()
    active: Expr = word != 0 if level.lists is None else level.rank(cell) < word
    return active


def _activate(context: Context, level: Level, cell: Sequence[KernelObject]) -> None:
    word = word_of(context, level, level.word(cell))
    if level.lists is None:
        word.combine("or", [context.builder.const(1, i32)])
        return
    word.combine("max", [_length_for(level, cell)])


def _length_for(level: Level, cell: Sequence[KernelObject]) -> Value:
    """How long a list must be for an element; 0 for one that no list has."""
    assert level.lists is not None
    rank = level.rank(cell)
    if isinstance(rank, Expr) and not level.lists.shared:
        return typed(select((rank >= 0) & (rank < level.lists.capacity), rank + 1, 0), i32)
    return typed(rank + 1, i32)


class _SparseRef(PlaceRef):
    """A number of an element of a sparse field."""

    __slots__ = ("element",)

    def __init__(self, place: Place, indices: Sequence[KernelObject], element: Element) -> None:
        super().__init__(place, indices)
        self.element = element

    def get(self) -> Expr:
        return self.element.read(super().get())

    def set(self, value: object) -> None:
        super().set(value)
        self.element.activate()

    def combine(self, kind: str, values: list[Value]) -> Value:
        old = super().combine(kind, values)
        self.element.activate()
        return old


def sparse_reference(element: Element) -> Callable[[Place, Sequence[KernelObject]], PlaceRef]:
    """How the numbers of an element are referred to, given a place and indices."""
    return lambda place, indices: _SparseRef(place, indices, element)


class ListRef:
    """A list of a field that was placed in a `dynamic` level: `x[i]` where an element is `x[i, k]`.

    Calls of its methods are lowered by visitors/sparse.py.

    Attributes:
        at: the index of the list's word.
    """

    def __init__(self, node: Node, at: Sequence[KernelObject]) -> None:
        self._node = node
        self.at = tuple(at)

    def __adstack_described__(self) -> str:
        return "a list, whose elements have one index more"

    def parent(self) -> Node:
        """The level of lists."""
        return self._node

    def append(self, value: KernelObject) -> KernelObject:
        """Add an element; its position in the list."""

    def length(self) -> KernelObject:
        """How many elements it has."""

    def deactivate(self) -> None:
        """Make it empty."""


def has_lists(base: KernelObject) -> bool:
    """Whether a field, or field of structs, was placed in a `dynamic` level."""
    cells: tuple[Cells, ...] = getattr(_first_of(base), "cells", ())
    return bool(cells) and cells[-1].level.lists is not None


def _first_of(base: KernelObject) -> KernelObject:
    members: tuple[KernelObject, ...] = getattr(base, "member_fields", ())
    return members[0] if members else base


def list_at(base: KernelObject, indices: Sequence[KernelObject]) -> ListRef | None:
    """The list, of a field that has lists, at indices that are one fewer than it has axes; None if they are not."""
    placed = _first_of(base)
    lists = placed.cells[-1].level.lists
    if lists.shared or len(indices) != len(placed.shape) - 1:
        return None
    offset = [o for k, o in enumerate(placed.offset) if k != lists.position]
    return ListRef(placed.parent(), [i - o if o else i for i, o in zip(indices, offset, strict=True)])
