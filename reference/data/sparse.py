"""What programs ask of sparse levels by name: `is_active`, `activate`, `deactivate`, `append`, `length`.

In kernels the frontend emits what they do (frontend/visitors/sparse.py). On the host `is_active` and `length` look, and
the others are errors: a host write activates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ..errors import AdstackArgumentError, AdstackOutOfBoundsError, AdstackSyntaxError
from ..values.calling import takes
from . import activation, own_levels  # noqa: F401 - fields with a shape of their own have levels from here on
from .fields import Field
from .hostvalues import extents
from .levels import Level
from .snode import Leaf, SNode, root
from .struct_fields import StructField

__all__ = [
    "activate",
    "append",
    "deactivate",
    "deactivate_all_snodes",
    "is_active",
    "length",
    "list_level",
    "node_of",
    "rescale_index",
]


def node_of(snode: object) -> SNode:
    """A level, or that of a field; AdstackArgumentError for anything else."""
    if isinstance(snode, StructField):
        return node_of(snode.member_fields[0])
    node = snode.parent() if isinstance(snode, (Field, Leaf)) else snode
    if not isinstance(node, SNode):
        raise AdstackArgumentError(
            f"a level of a layout is needed here, got a {type(snode).__name__}", do="name it, or write x.parent()"
        )
    return node


def list_level(snode: object) -> tuple[SNode, Level]:
    """A `dynamic` level, and what it keeps; AdstackArgumentError for others."""
    node = node_of(snode)
    level = node.level
    if level is None or level.lists is None:
        raise AdstackArgumentError("only a dynamic level has lists", do="place the field in root.dynamic(qd.i, n)")
    return node, level


@takes("is_active")
def is_active(node: object, indices: object = None, *more: object) -> bool:
    """Whether a cell of a level is active.

    Args:
        node: the level, or a field that is placed at it.
        indices: the cell's indices among those of the level, counted from 0: all in a list or a
            vector, or the first of them.
        more: the other ones.

    Raises:
        AdstackArgumentError: if `node` is neither a level nor a field placed at one.
        AdstackOutOfBoundsError: on the host, if the level has no such cell.
    """
    level = node_of(node)
    return activation.is_active(level.cells, _within("is_active", level.shape, (indices, *more)))


@takes("length")
def length(node: object, indices: object = None, *more: object) -> int:
    """How many elements a list of a dynamic level has.

    Args:
        node: the level, or a field that is placed at it.
        indices: the indices of the list's cell in the level above: all in a list or a vector, or the first of them.
        more: the other ones.

    Raises:
        AdstackArgumentError: if the level is not dynamic.
        AdstackOutOfBoundsError: on the host, if there is no such list.
    """
    _, level = list_level(node)
    words, least = level.words.place.shape, level.lists
    number: int = level.words.number_at(_within("length", [n or 0 for n in words], (indices, *more)))
    assert least is not None
    return min(number, least.capacity)


@takes("activate")
def activate(node: object, indices: object = None, *more: object) -> None:
    """Make a cell of a sparse level active, and the cells of the levels above that it lies in. For kernels only.

    Args:
        node: the level, or a field that is placed at it.
        indices: the cell's indices among those of the level, counted from 0: all in a list or a vector, or the first.
        more: the other ones.

    Raises:
        AdstackSyntaxError: on the host, where `x[i] = value` activates.
    """
    _refuse("activate")


@takes("deactivate")
def deactivate(node: object, indices: object = None, *more: object) -> None:
    """Make a cell of a sparse level inactive, with everything in it: its elements are 0 afterwards. For kernels only.

    Args:
        node: the level, or a field that is placed at it.
        indices: the cell's indices among those of the level, counted from 0: all in a list or a vector, or the first.
        more: the other ones.

    Raises:
        AdstackSyntaxError: on the host, where `level.deactivate_all()` deactivates.
    """
    _refuse("deactivate")


@takes("append")
def append(node: object, indices: object, val: object) -> Any:
    """Add an element to a list of a dynamic level. For kernels only.

    Args:
        node: the level, or a field that is placed at it.
        indices: the indices of the list's cell in the level above.
        val: the element.

    Returns:
        its position in the list, counted from 0.

    Raises:
        AdstackSyntaxError: on the host.
    """
    _refuse("append")


@takes("rescale_index")
def rescale_index(a: object, b: object, I: object) -> Any:  # noqa: E741, N803 - the name that programs use
    """The index, in the level or field `b`, of the element or cell that has an index in `a`. For kernels only.

    It is a vector: along each axis the index is scaled by how many cells the two have. On the host this raises
    AdstackSyntaxError.
    """
    _refuse("rescale_index")


@takes("deactivate_all_snodes")
def deactivate_all_snodes() -> None:
    """Make everything below `root` inactive."""
    root.deactivate_all()


def _within(what: str, shape: Sequence[int], indices: tuple[object, ...]) -> tuple[int, ...]:
    """Indices as the host gives them: one each, or all in a list."""
    numbers = indices[0] if len(indices) == 1 and not hasattr(indices[0], "__index__") else indices
    at = () if numbers is None else extents(f"an index of {what}", numbers, least=-1)
    if len(at) != len(shape) or not all(0 <= i < n for i, n in zip(at, shape, strict=True)):
        raise AdstackOutOfBoundsError(f"{what} at {at}: out of the bounds {tuple(shape)} of the level")
    return at


def _refuse(name: str) -> NoReturn:
    raise AdstackSyntaxError(
        f"{name} has a meaning only in a kernel",
        do="on the host x[i] = value activates, and level.deactivate_all() deactivates",
    )
