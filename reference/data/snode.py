"""Placement: `root.dense(axes, n).dense(...).place(field)` gives fields their shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeGuard

from ..absent import missing
from ..errors import AdstackArgumentError, AdstackRuntimeError, AdstackRuntimeTypeError
from ..runtime import state
from ..runtime.memory.copying import Uncopied
from .fields import Field, Placement, offsets, placed
from .hostvalues import countable, extents

__all__ = [
    "FieldsBuilder",
    "SNode",
    "SNodeTree",
    "axes",
    "i",
    "ij",
    "ijk",
    "ijkl",
    "ijl",
    "ik",
    "ikl",
    "il",
    "j",
    "jk",
    "jkl",
    "jl",
    "k",
    "kl",
    "l",
    "root",
]


class Axes(tuple[int, ...]):
    """Names of index axes: `i` is the first, `j` the second, `ij` both."""

    __slots__ = ()


def axes(*numbers: int) -> Axes:
    """Index axes by number: `axes(0, 1)` is `ij`."""
    if not all(isinstance(n, int) and n >= 0 for n in numbers) or len(set(numbers)) != len(numbers):
        raise AdstackArgumentError(f"axes are distinct numbers >= 0, got {numbers}")
    return Axes(numbers)


i: Final = axes(0)
j: Final = axes(1)
k: Final = axes(2)
l: Final = axes(3)  # noqa: E741 - the name programs use
ij: Final = axes(0, 1)
ik: Final = axes(0, 2)
il: Final = axes(0, 3)
jk: Final = axes(1, 2)
jl: Final = axes(1, 3)
kl: Final = axes(2, 3)
ijk: Final = axes(0, 1, 2)
ijl: Final = axes(0, 1, 3)
ikl: Final = axes(0, 2, 3)
jkl: Final = axes(1, 2, 3)
ijkl: Final = axes(0, 1, 2, 3)


class SNode(Uncopied):
    """A level of a layout: axes with extents inside a parent. It gives shapes; memory is adstack's own business."""

    COPY_WHAT = "a level of a layout"
    COPY_DO = "make another one, and place other fields there"

    def __init__(self, tree: _Tree, extent: dict[int, int]) -> None:
        self._tree = tree
        self._extent = extent
        self._children: list[SNode] = []
        self._fields: list[Field] = []

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes so far, each multiplied over the levels."""
        return tuple(n for _, n in sorted(self._extent.items()))

    def dense(self, axes: object, dimensions: object) -> SNode:
        """A level with these axes; `dimensions` is one extent for all of them, or one for each."""
        if not isinstance(axes, Axes):
            raise AdstackRuntimeTypeError(f"dense() takes axes such as qd.i or qd.ij, got {axes!r}")
        sizes = extents("a dense level", dimensions, least=1)
        sizes = sizes * len(axes) if len(sizes) == 1 else sizes
        if len(sizes) != len(axes):
            raise AdstackArgumentError(f"dense() has {len(axes)} axes, got {len(sizes)} extents")
        extent = dict(self._extent)
        for axis, size in zip(axes, sizes, strict=True):
            extent[axis] = extent.get(axis, 1) * size
        countable("a dense level", tuple(extent.values()))
        self._tree.check_open()
        child = SNode(self._tree, extent)
        self._children.append(child)
        return child

    def place(self, *things: object, offset: object = None) -> SNode:
        """Give fields (of any kind, gradients included) this level's shape."""
        self._tree.check_open()
        for thing in things:
            for field in _fields_of(thing):
                field.put(self._tree.register(Placement(self.shape, offsets(offset, len(self.shape)))))
                self._fields.append(field)
        return self

    def __getattr__(self, name: str) -> object:
        raise missing("a level of a layout", name, dir(SNode))

    def lazy_grad(self) -> None:
        """Place the gradient of every real field below this level that has none."""
        self._complete("grad")

    def lazy_dual(self) -> None:
        """Place the dual of every real field below this level that has none."""
        self._complete("dual")

    def _complete(self, role: str) -> None:
        for field in self.below():
            companion = getattr(field, role)
            if companion is not None and companion.placement is None:
                companion.follows = True
                placed(role)

    def below(self) -> Iterator[Field]:
        yield from self._fields
        for child in self._children:
            yield from child.below()


def _fields_of(thing: object) -> list[Field]:
    """The fields in a field, a struct field, or a list of such."""
    if isinstance(thing, Field):
        return [thing]
    members = thing if isinstance(thing, (list, tuple)) else getattr(thing, "member_fields", None)
    if members is None:
        raise AdstackRuntimeTypeError(
            f"place() takes fields, got {type(thing).__name__}",
            do="an integer field has no gradient to place" if thing is None else "make it with qd.field(dtype)",
        )
    return [field for member in members for field in _fields_of(member)]


class _Tree:
    """What the levels of one layout have in common."""

    def __init__(self, ready: bool) -> None:
        self.ready = ready
        self.placements: list[Placement] = []

    def register(self, placement: Placement) -> Placement:
        placement.ready = self.ready
        self.placements.append(placement)
        return placement

    def check_open(self) -> None:
        """An error once a builder is finalized."""


class _BuilderTree(_Tree):
    finalized = False

    def check_open(self) -> None:
        if self.finalized:
            raise AdstackRuntimeError("this FieldsBuilder is finalized", do="use a new one for more fields")


class FieldsBuilder(SNode):
    """A layout of its own: its fields may be used after `finalize()`, and destroyed together."""

    def __init__(self) -> None:
        self._builder = _BuilderTree(ready=False)
        super().__init__(self._builder, {})

    def finalize(self) -> SNodeTree:
        """Make the fields usable."""
        self._builder.check_open()
        self._builder.finalized = True
        for placement in self._builder.placements:
            placement.ready = True
        placed()
        return SNodeTree(list(self.below()))


class SNodeTree:
    """The fields of a finalized builder."""

    def __init__(self, fields: list[Field]) -> None:
        self._fields = fields

    def destroy(self) -> None:
        """Give the memory of all its fields back; using one afterwards is an error."""
        for field in self._fields:
            for each in (field, *field.companions()):
                each.drop()
        self._fields = []


class Root(SNode):
    """The layout that is always there, which fields made with their shape belong to; `reset()` empties it."""

    def __init__(self) -> None:
        super().__init__(_Tree(ready=True), {})
        self._epoch = 0

    def dense(self, axes: object, dimensions: object) -> SNode:
        self._enter()
        return super().dense(axes, dimensions)

    def place(self, *things: object, offset: object = None) -> SNode:
        self._enter()
        return super().place(*things, offset=offset)

    def below(self) -> Iterator[Field]:
        self._enter()
        yield from super().below()
        yield from filter(_has_own_shape, state.current().residents())

    def _enter(self) -> None:
        """Forget what belongs to an earlier runtime."""
        epoch = state.current().epoch
        if epoch != self._epoch:
            self._epoch, self._children, self._fields = epoch, [], []


def _has_own_shape(resident: object) -> TypeGuard[Field]:
    """Whether it is a field, no gradient or dual of one, that was made with its shape."""
    if not isinstance(resident, Field) or resident.role != "primal":
        return False
    return resident.is_placed and resident.placement is not None and resident.placement.own


root: Final = Root()
