"""Placement: `root.dense(axes, n).dense(...).place(field)` gives fields their shapes; levels may be sparse."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final, TypeGuard

from ..absent import missing
from ..errors import AdstackArgumentError, AdstackRuntimeError, AdstackRuntimeTypeError
from ..runtime import state
from ..values.calling import methods_take, takes
from ..values.protocol import own
from .axes import Axes
from .field_options import offsets
from .fields import Field
from .giving_back import clear, give_back, vacate
from .hostvalues import countable, extents
from .levels import Cells, Level, ListAxis, Node
from .placement import Placement, placed
from .words import Words

__all__ = ["FieldsBuilder", "Leaf", "SNode", "SNodeTree", "root"]


@methods_take
class SNode(Node):
    """A level of a layout: axes with extents inside a parent. It gives shapes, and says what is active.

    It does not say where the elements stand in memory, which adstack decides.
    """

    COPY_WHAT = "a level of a layout"
    COPY_DO = "make another one, and place other fields there"

    def __init__(self, tree: _Tree, extent: dict[int, int], above: SNode | None = None) -> None:
        self.tree = tree
        self.extents = extent
        self.above = above
        self._level: Level | None = None
        self._children: list[SNode] = []
        self._fields: list[Field] = []
        self._things: list[object] = []

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes so far, each multiplied over the levels."""
        return tuple(n for _, n in sorted(self.extents.items()))

    @property
    def level(self) -> Level | None:
        """What a sparse level keeps; None for a dense one."""
        return self._level

    @property
    def things(self) -> tuple[object, ...]:
        """The fields and struct fields placed here, as they were given to `place`."""
        return tuple(self._things)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of its axes, in order."""
        return tuple(sorted(self.extents))

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields placed here."""
        return tuple(self._fields)

    def parent(self, n: int = 1) -> SNode | None:
        """The level above, or the one `n` levels above; None beyond the root.

        AdstackArgumentError if `n` is no integer, or negative.
        """
        if not hasattr(type(n), "__index__") or n < 0:
            raise AdstackArgumentError(f"parent() takes how many levels to go up, got {n!r}", do="give 1, 2, ...")
        node: SNode | None = self
        for _ in range(n):
            node = None if node is None else node.above
        return node

    @cached_property
    def cells(self) -> tuple[Cells, ...]:
        """The cells of sparse levels, this one included, in which its own cells lie, from the root down."""
        above = () if self.above is None else self.above.chain
        return tuple(self._within(node, level) for node in (*above, self) if (level := node.level) is not None)

    @property
    def chain(self) -> tuple[SNode, ...]:
        """The levels from the root to this one."""
        return (*(() if self.above is None else self.above.chain), self)

    def _within(self, node: SNode, level: Level) -> Cells:
        """In which cells of a sparse level above, or of this one, its own cells lie."""
        return Cells(level, tuple((self.numbers.index(a), self.extents[a] // node.extents[a]) for a in level.axes))

    # ---- levels below

    @takes("dense", axes="indices")
    def dense(self, indices: object, dimensions: object) -> SNode:
        """A level with these axes, such as `qd.ij`; `dimensions` is one extent for all of them, or one for each."""
        return self.child_level("dense", indices, dimensions)

    @takes("bitmasked", axes="indices")
    def bitmasked(self, indices: object, dimensions: object) -> SNode:
        """A level with the `indices` and `dimensions` of `dense`, each of whose cells is active or not."""
        return self._masked("bitmasked", indices, dimensions)

    @takes("pointer", axes="indices")
    def pointer(self, indices: object, dimensions: object) -> SNode:
        """A level with the arguments of `bitmasked`, for blocks of elements that are active together."""
        return self._masked("pointer", indices, dimensions)

    @takes("hash", axes="indices")
    def hash(self, indices: object, dimensions: object) -> SNode:
        """A level with the `indices` and `dimensions` of `pointer`: adstack keeps both in the same way."""
        return self._masked("hash", indices, dimensions)

    @takes("dynamic", axes="axis", index="axis")
    def dynamic(self, axis: object, dimension: object, chunk_size: int | None = None) -> SNode:
        """A level of lists: in each cell of this level there is one, of at most `dimension` elements along one axis.

        `chunk_size`, how many elements other libraries allocate at a time, is accepted for existing programs.
        """
        child = self.child_level("dynamic", axis, dimension)
        if not isinstance(axis, Axes) or len(axis) != 1:
            raise AdstackArgumentError("a dynamic level has one axis", do="write root.dense(...).dynamic(qd.j, n)")
        (number,) = axis
        position, above = sorted(child.extents).index(number), self.extents.get(number)
        capacity = child.extents[number] // (above or 1)
        child.make_sparse("length", self.shape, ListAxis(position, capacity, above is not None))
        return child

    def _masked(self, kind: str, axes: object, dimensions: object) -> SNode:
        child = self.child_level(kind, axes, dimensions)
        child.make_sparse("active", child.shape)
        return child

    def child_level(self, kind: str, axes: object, dimensions: object) -> SNode:
        """A level of some kind below this one; `axes` and `dimensions` as in `dense`.

        Raises AdstackRuntimeTypeError for axes that are none, AdstackArgumentError if the extents can't be used or this
        level is dynamic, and AdstackMemoryError if no memory holds so many elements.
        """
        if not isinstance(axes, Axes):
            raise AdstackRuntimeTypeError(f"{kind}() takes axes, got {axes!r}", do=f"write {kind}(qd.ij, (4, 8))")
        if self._level is not None and self._level.lists is not None:
            raise AdstackArgumentError("a dynamic level has no levels below", do="place the fields in it")
        sizes = extents(f"a {kind} level", dimensions, least=1)
        sizes = sizes * len(axes) if len(sizes) == 1 else sizes
        if len(sizes) != len(axes):
            raise AdstackArgumentError(f"{kind}() has {len(axes)} axes, got {len(sizes)} extents", do="give one each")
        extent = dict(self.extents)
        for axis, size in zip(axes, sizes, strict=True):
            extent[axis] = extent.get(axis, 1) * size
        countable(f"a {kind} level", tuple(extent.values()))
        self.tree.check_open()
        child = SNode(self.tree, extent, self)
        self._children.append(child)
        return child

    def make_sparse(self, what: str, shape: tuple[int, ...], along: ListAxis | None = None) -> None:
        """Make this level sparse: words of this shape say which cells are "active", or the "length" of lists."""
        words, before = Words(what), Words(f"{what}_before")
        for field in (words, before):
            field.put(self.tree.register(Placement(shape, (0,) * len(shape))))
            self.tree.words.append(field)
        self._level = Level(tuple(sorted(self.extents)), self.shape, words, before, along)

    # ---- fields

    @takes("place")
    def place(self, *things: object, offset: object = None) -> SNode:
        """Give `things`, fields of any kind, gradients included, this level's shape, and `offset` as least indices."""
        self.tree.check_open()
        for thing in things:
            for field in _fields_of(thing):
                placement = Placement(self.shape, offsets(offset, len(self.shape)), node=self)
                placement.leaf = Leaf(self, field)
                field.put(self.tree.register(placement))
                self._fields.append(field)
                self._name_words(field.name)
            self._things.append(thing)
        return self

    def _name_words(self, name: str) -> None:
        """Name the words of the sparse levels, for messages, after the first field that has a name."""
        for cells in self.cells if name else ():
            for words in (cells.level.words, cells.level.before):
                if isinstance(words, Field) and "." not in words.name:
                    words.name = f"{name}.{words.name}"

    def deactivate_all(self) -> None:
        """Make all cells of sparse levels from here down inactive: their elements and gradients are 0 afterwards."""
        levels = [node.level for node in self.nodes() if node.level is not None]
        for field in self.below():
            if field.role == "primal" and any(cells.level in levels for cells in field.cells):
                for each in (field, *field.companions()):
                    vacate(each)
        for level in levels:
            clear(level)

    def give_back(self) -> None:
        """Give back the memory of what is inactive from here down; no other thread may use the fields meanwhile."""
        give_back((node.level for node in self.nodes() if node.level is not None), self.below())

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
        """The fields placed at this level and at those below it."""
        for node in self.nodes():
            yield from node.fields

    def nodes(self) -> Iterator[SNode]:
        """This level and all levels below."""
        yield self
        for child in self._children:
            yield from child.nodes()


@methods_take
class Leaf(SNode):
    """What one field is in a layout, below the level where it was placed: `x.snode`.

    Where a level is needed it stands for that one: what it is asked to do to cells is done to those.
    """

    above: SNode

    def __init__(self, above: SNode, field: Field) -> None:
        super().__init__(above.tree, above.extents, above)
        self._fields.append(field)

    def child_level(self, kind: str, axes: object, dimensions: object) -> SNode:
        """See `SNode.child_level`."""
        return self.above.child_level(kind, axes, dimensions)

    def place(self, *things: object, offset: object = None) -> SNode:
        """See `SNode.place`."""
        return self.above.place(*things, offset=offset)

    def deactivate_all(self) -> None:
        """See `SNode.deactivate_all`."""
        self.above.deactivate_all()

    def give_back(self) -> None:
        """See `SNode.give_back`."""
        self.above.give_back()


def _fields_of(thing: object) -> list[Field]:
    """The fields in a field, a struct field, or a list of such."""
    if isinstance(thing, Field):
        return [thing]
    members = thing if isinstance(thing, (list, tuple)) else own(thing, "member_fields")
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
        self.words: list[Field] = []

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


@methods_take
class FieldsBuilder(SNode):
    """A layout of its own: its fields may be used after `finalize()`, and destroyed together."""

    @takes("FieldsBuilder")
    def __init__(self) -> None:
        self._builder = _BuilderTree(ready=False)
        super().__init__(self._builder, {})

    @takes("finalize")
    def finalize(self, raise_warning: bool = True) -> SNodeTree:
        """Make the fields usable; `raise_warning` is accepted, and there is nothing to warn of."""
        self._builder.check_open()
        self._builder.finalized = True
        for placement in self._builder.placements:
            placement.ready = True
        placed()
        return SNodeTree([*self.below(), *self._builder.words])


class SNodeTree:
    """The fields of a finalized builder."""

    def __init__(self, fields: list[Field]) -> None:
        self._fields = fields

    def destroy(self) -> None:
        """Give the memory of all its fields back; using one afterwards is an error."""
        for field in self._fields:
            for each in (field, *field.companions()):
                each.drop(destroyed=True)
        self._fields = []


@methods_take
class Root(SNode):
    """The layout that is always there, which fields made with their shape belong to; `reset()` empties it."""

    def __init__(self) -> None:
        super().__init__(_Tree(ready=True), {})
        self._epoch = 0

    def child_level(self, kind: str, axes: object, dimensions: object) -> SNode:
        """See `SNode.child_level`."""
        self._enter()
        return super().child_level(kind, axes, dimensions)

    @takes("place")
    def place(self, *things: object, offset: object = None) -> SNode:
        """See `SNode.place`."""
        self._enter()
        return super().place(*things, offset=offset)

    def deactivate_all(self) -> None:
        """See `SNode.deactivate_all`."""
        self._enter()
        super().deactivate_all()

    def below(self) -> Iterator[Field]:
        """All fields: those placed under the root, and those that were made with a shape of their own."""
        self._enter()
        yield from dict.fromkeys([*super().below(), *filter(_has_own_shape, state.current().residents())])

    def adopt(self, level: SNode) -> None:
        """Have a level among those below it, once."""
        self._enter()
        if level not in self._children:
            self._children.append(level)

    def _enter(self) -> None:
        """Forget what belongs to an earlier runtime."""
        epoch = state.current().epoch
        if epoch != self._epoch:
            self._epoch, self._children, self._fields, self._things = epoch, [], [], []
            self.tree.words.clear()


def _has_own_shape(resident: object) -> TypeGuard[Field]:
    """Whether it is a field, no gradient or dual of one, that was made with its shape."""
    if not isinstance(resident, Field) or resident.role != "primal":
        return False
    return resident.is_placed and resident.placement is not None and resident.placement.own


root: Final = Root()
