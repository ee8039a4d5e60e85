"""Sparse levels in kernels: `is_active`, `activate`, `deactivate`, `append`, `length`, and the lists of fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from ...data import sparse
from ...data.fields import Field
from ...data.levels import Level, ListAxis
from ...data.snode import SNode
from ...data.struct_fields import StructField
from ...errors import AdstackIndexError, AdstackSyntaxError, AdstackTypeError
from ...ir.structure import Region, Value
from ...ir.types import i32
from ...values.functions import min_, select
from ...values.kinds import KernelObject, PythonFunction
from ...values.matrices.matrix import Matrix
from ...values.protocol import own
from ..emission.arrays import touch
from ..emission.context import Context
from ..emission.current import current
from ..emission.expr import Expr
from ..emission.references import PlaceRef, index_value
from ..emission.sparse import Element, ListRef, has_lists, is_active, serial_loops, word_of
from ..expressions.indexing import element, flat
from .assignment import store

__all__ = ["TABLE", "of_list"]


def _index(context: Context, what: str, rank: int, indices: tuple[KernelObject, ...]) -> list[KernelObject]:
    """The indices of a call: one by one, or in a list, tuple or vector; [] or None where there are none."""
    at = [part for part in flat(indices) if part is not None]
    if len(at) != rank:
        context.fail(AdstackIndexError, f"{what} takes {rank} indices here, got {len(at)}", do="give one for each axis")
    for part in at:
        index_value(part)  # raises if it is no integer
    return at


# ---- cells


def _is_active(context: Context, node: object, indices: KernelObject = None, *more: KernelObject) -> KernelObject:
    level = sparse.node_of(node)
    index = _index(context, "is_active", len(level.shape), (indices, *more))
    if not level.cells:
        return True
    return is_active(level.cells[-1].level, level.cells[-1].cell(index))


def _activate(context: Context, node: object, indices: KernelObject = None, *more: KernelObject) -> None:
    level, _ = _sparse(context, "activate", node)
    index = _index(context, "activate", len(level.shape), (indices, *more))
    Element(level.cells, index, ((0,) * len(index), *index)).activate()


def _sparse(context: Context, what: str, snode: object) -> tuple[SNode, Level]:
    node = sparse.node_of(snode)
    if node.level is None:
        context.fail(
            AdstackTypeError,
            f"the cells of a dense level are always there: {what} takes a sparse one",
            do="name a level made with pointer, bitmasked, hash or dynamic",
        )
    return node, node.level


def _deactivate(context: Context, node: object, indices: KernelObject = None, *more: KernelObject) -> None:
    top, level = _sparse(context, "deactivate", node)
    _check_relied_on(context)
    if level.lists is None:
        at = _index(context, "deactivate", len(level.shape), (indices, *more))
        box = [(k, 1) for k in at]
    else:
        at = _index(context, "deactivate", len(level.words.place.shape), (indices, *more))
        box = [(k, 1) for k in level.cell(at, 0)]
        box[level.lists.position] = (box[level.lists.position][0], level.lists.capacity)
    word_of(context, level, at).set(0)
    for below in top.nodes():
        _clear(context, below, _scaled(top, below, box), below is top)


def _check_relied_on(context: Context) -> None:
    if context.active.forget(serial_loops(context)):
        context.fail(
            AdstackSyntaxError,
            "a loop over what is active uses its element and deactivates inside of one inner loop",
            do="deactivate after the inner loop, or in another kernel",
        )


Box = list[tuple[KernelObject, int]]
"""(first cell, how many) along each axis."""


def _scaled(node: SNode, below: SNode, box: Box) -> Box:
    """The cells of a level below that lie in cells of a level."""
    numbers, inner = node.numbers, below.numbers
    result: Box = []
    for number, extent in zip(inner, below.shape, strict=True):
        if number in numbers:
            k = numbers.index(number)
            (first, count), factor = box[k], extent // node.shape[k]
            result.append((first if factor == 1 else first * factor, count * factor))
        else:
            result.append((0, extent))
    return result


def _clear(context: Context, node: SNode, box: Box, is_top: bool) -> None:
    """Emit loops that set the elements in a box of cells to 0, and what levels below the top one keep."""
    level = None if is_top else node.level
    fields = [field for field in node.fields if field.role == "primal"]
    if level is not None and level.lists is not None:
        _over(context, _lists_in(level.lists, box), [], lambda at: word_of(context, level, at).set(0))
    cells = None if level is None or level.lists is not None else level
    if cells is not None or fields:
        _over(context, box, [], lambda at: _set_zero(context, cells, fields, at))


def _lists_in(along: ListAxis, box: Box) -> Box:
    """The lists whose elements are in a box of cells."""
    if not along.shared:
        return [*box[: along.position], *box[along.position + 1 :]]
    first, count = box[along.position]
    own = first // along.capacity, count // along.capacity
    return [*box[: along.position], own, *box[along.position + 1 :]]


def _set_zero(context: Context, level: Level | None, fields: Sequence[Field], at: Sequence[KernelObject]) -> None:
    """Emit stores of 0 into the word of a level and into the elements of fields, all at one index."""
    if level is not None:
        word_of(context, level, at).set(0)
    for field in fields:
        place = touch(context, field)
        for inner in _components(field.element_shape):
            PlaceRef(place, [*at, *inner]).set(0)


def _components(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    points: list[tuple[int, ...]] = [()]
    for extent in shape:
        points = [(*point, k) for point in points for k in range(extent)]
    return points


def _over(context: Context, box: Box, at: list[KernelObject], lower: Callable[[list[KernelObject]], None]) -> None:
    """Emit serial loops over a box; `lower` emits what is done at a point."""
    if len(at) == len(box):
        lower(at)
        return
    first, count = box[len(at)]
    if count == 1:
        _over(context, box, [*at, first], lower)
        return
    builder, body = context.builder, Region([Value(i32)])
    with builder.into(body):
        _over(context, box, [*at, Expr(body.args[0]) + first], lower)
        builder.yield_()
    builder.for_(builder.const(0, i32), builder.const(count, i32), [], body)


# ---- lists


def _length(context: Context, node: object, indices: KernelObject = None, *more: KernelObject) -> KernelObject:
    _, level = sparse.list_level(node)
    return _length_of(context, level, _index(context, "length", len(level.words.place.shape), (indices, *more)))


def _length_of(context: Context, level: Level, at: Sequence[KernelObject]) -> KernelObject:
    assert level.lists is not None
    return min_(word_of(context, level, at).get(), level.lists.capacity)


def _append(
    context: Context, node: object, *rest: KernelObject, indices: KernelObject = None, val: KernelObject = None
) -> KernelObject:
    top, level = sparse.list_level(node)
    assert level.lists is not None
    given = (*rest, *(part for part in (indices, val) if part is not None))
    if not given:
        context.fail(AdstackTypeError, "append takes the element to add", do="write x.append(value)")
    at = _index(context, "append", len(level.words.place.shape), given[:-1])
    things = [thing for thing in top.things if getattr(thing, "role", "primal") == "primal"]
    if len(things) != 1:
        context.fail(
            AdstackTypeError,
            f"append needs one field in the list, there are {len(things)}",
            do="place a field of structs, which are appended as a whole",
        )
    above = top.parent()
    if above is not None and above.cells:
        Element(above.cells, at, ((0,) * len(at), *at)).activate()
    return _put(context, level, at, things[0], given[-1])


def _put(
    context: Context, level: Level, at: Sequence[KernelObject], thing: KernelObject, value: KernelObject
) -> KernelObject:
    """Emit an append; the position of the new element, which is beyond the list's capacity if that is full."""
    assert level.lists is not None
    rank = Expr(word_of(context, level, at).combine("add", [context.builder.const(1, i32)]))
    cell: list[KernelObject] = level.cell(at, rank)
    if level.lists.shared:
        k = level.lists.position
        cell[k] = select(rank < level.lists.capacity, cell[k], -1)
    index = tuple(i + o if o else i for i, o in zip(cell, thing.offset, strict=True))
    first = thing.member_fields[0] if isinstance(thing, StructField) else thing
    with context.active.within(Element(first.cells, cell, (first.offset, *index)).key):
        store(context, element(context, thing, index), value, "an element of the list")
    return rank


def of_list(function: object) -> KernelObject:
    """What a method of a list means in a kernel, `x[i].append(v)` or that of a field which is one list; None if it is
    none of these.
    """
    owner: Any = own(function, "__self__")
    name = getattr(function, "__name__", "")
    if not isinstance(owner, (Field, StructField, ListRef)) or name not in _METHODS:
        return None
    context, at = current(), owner.at if isinstance(owner, ListRef) else ()
    if not isinstance(owner, ListRef) and not has_lists(owner):
        context.fail(
            AdstackTypeError,
            f"{_label(owner)} has no lists: {name}() is for a field in a dynamic level",
            do="place it in root.dynamic(qd.i, n)",
        )
    return partial(
        _METHODS[name], context, sparse.list_level(owner.parent() if isinstance(owner, ListRef) else owner)[0], *at
    )


def _label(field: Field | StructField) -> str:
    """What messages call a field, one of whose members may have the name of anything that it has."""
    return field.label if isinstance(field, Field) else "the field of structs"


_METHODS: Final[dict[str, PythonFunction]] = {"append": _append, "length": _length, "deactivate": _deactivate}


def _rescale(context: Context, a: KernelObject, b: KernelObject, I: KernelObject) -> KernelObject:  # noqa: E741, N803
    """Indices scale as the numbers of cells do."""
    there, here = (tuple(thing.shape) for thing in (a, b))
    parts = _index(context, "rescale_index", len(there), (I,))
    return Matrix([_times(part, n, m) for part, n, m in zip(parts, there, here, strict=False)])


def _times(index: KernelObject, there: int, here: int) -> KernelObject:
    if there == here:
        return index
    return index // (there // here) if there > here else index * (here // there)


TABLE: Final[dict[KernelObject, PythonFunction]] = {
    sparse.is_active: _is_active,
    sparse.activate: _activate,
    sparse.deactivate: _deactivate,
    sparse.append: _append,
    sparse.length: _length,
    sparse.rescale_index: _rescale,
}
"""What each function of sparse levels emits."""
