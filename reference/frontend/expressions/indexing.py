"""Subscripts: elements of fields, array arguments, vectors, and objects known at compile time."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ...data.components import ComponentField
from ...data.fields import Field
from ...data.struct_fields import StructField
from ...errors import AdstackIndexError, AdstackSyntaxError, AdstackTypeError
from ...ir.structure import Place
from ...values.elements import Elements
from ...values.functions import max_, min_
from ...values.kinds import KernelObject
from ...values.matrices.access import line
from ..emission.arrays import ArrayArgument, is_field, touch
from ..emission.context import Context
from ..emission.expr import Expr
from ..emission.literals import describe, is_number, plain
from ..emission.references import PlaceRef, ScalarRef, is_live, place_matrix, references_of
from ..emission.references import live as live_matrix
from ..emission.shared import SharedArray
from ..emission.sparse import Element, has_lists, list_at, sparse_reference
from ..emission.structs import live_struct
from .dicts import VariableDict
from .dispatch import dereferenced, evaluate, expression, lookup
from .foreign import guarded
from .lists import VariableList

__all__ = ["element", "flat", "indexable"]


@expression(ast.Subscript)
def _subscript(context: Context, node: ast.Subscript) -> KernelObject:
    base = lookup(context, node.value)
    if _has_slice(node.slice) and not isinstance(base, (Elements, list, tuple, str)):
        context.fail(AdstackSyntaxError, "Slicing is not supported here", at=node.slice, do="index elements in a loop")
    index = _index(context, node.slice)
    return element(context, base, index)


def _has_slice(node: ast.expr) -> bool:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(isinstance(part, ast.Slice) for part in parts)


def _index(context: Context, node: ast.expr) -> KernelObject:
    if isinstance(node, ast.Slice):
        return slice(
            *(None if part is None else evaluate(context, part) for part in (node.lower, node.upper, node.step))
        )
    if isinstance(node, ast.Tuple):
        return _tuple_index(context, node)
    return evaluate(context, node)


def _tuple_index(context: Context, node: ast.Tuple) -> tuple[KernelObject, ...]:
    items: list[KernelObject] = []
    for part in node.elts:
        if isinstance(part, ast.Starred):
            spread = evaluate(context, part.value)
            items.extend(guarded(context, lambda spread=spread: list(spread)))  # type: ignore[misc]
        else:
            items.append(_index(context, part))
    return tuple(items)


def indexable(base: object) -> bool:
    """Whether `base` lives in memory that kernels index."""
    return isinstance(base, ArrayArgument) or is_field(base)


def element(context: Context, base: KernelObject, index: KernelObject) -> KernelObject:
    """`base[index]`: a reference, if it can be assigned to."""
    if isinstance(base, ScalarRef):
        base = base.get()
    if isinstance(base, (StructField, Field)) and has_lists(base):
        index = tuple(flat(index))
        if (members := list_at(base, index)) is not None:
            return members
    if indexable(base):
        return _of_array(context, base, index)
    if isinstance(base, SharedArray):
        return base.element(flat(index))
    if isinstance(base, Elements):
        return _of_matrix(base, index)
    if isinstance(base, (ComponentField, StructField)):
        return _of_fields(context, base, index)
    return _of_object(context, base, index)


def _of_fields(context: Context, base: ComponentField | StructField, index: KernelObject) -> KernelObject:
    if isinstance(base, ComponentField):
        return _of_matrix(element(context, base.field, index), base.at)
    return live_struct({name: element(context, f, index) for name, f in base.field_dict.items()}, base.type)


def _of_object(context: Context, base: KernelObject, index: KernelObject) -> KernelObject:
    """An element of what is known while compiling, as a list is."""
    _check_indexed(context, base)
    if _is_runtime(index):
        context.fail(
            AdstackTypeError,
            f"indices of {describe(base)} must be compile-time constants",
            do="keep data that is indexed at run time in a field, an ndarray or a vector: write qd.Vector([...])",
        )
    if isinstance(base, VariableDict) or (isinstance(base, VariableList) and not isinstance(index, slice)):
        return plain(guarded(context, lambda: base.reference(index)))
    return plain(guarded(context, lambda: base[index]))


def _check_indexed(context: Context, base: object) -> None:
    if base is None:
        context.fail(
            AdstackTypeError,
            "None can't be indexed",
            note="no gradient or dual storage?",
            do="needs_grad=True gives a field or ndarray a gradient, needs_dual=True a dual",
        )
    if isinstance(base, Expr) or is_number(base):
        context.fail(
            AdstackTypeError, "a scalar can't be indexed", note=f"this is {describe(base)}", do="use it as it is"
        )


def _is_runtime(index: object) -> bool:
    return any(isinstance(i, Expr) for i in (index if isinstance(index, tuple) else (index,)))


def _of_matrix(base: KernelObject, index: KernelObject) -> KernelObject:
    if not is_live(base):
        return base[index]
    parts = tuple(index.entries) if isinstance(index, Elements) else index if isinstance(index, tuple) else (index,)
    if any(isinstance(p, Expr) for p in parts) and len(parts) == base.ndim:
        if not any(isinstance(p, slice) for p in parts):
            return base.storage.find(parts, base.shape)
        points, length = line(base, parts)
        return live_matrix(Elements.over([base.storage.find(point, base.shape) for point in points], (length,)))
    picked = references_of(base)[index]
    return live_matrix(picked) if isinstance(picked, Elements) else picked


def flat(index: object) -> list[KernelObject]:
    """The index's components; vectors and tuples are spread."""
    if isinstance(index, (tuple, list)):
        return [part for item in index for part in flat(item)]
    if isinstance(index, Elements):
        return list(dereferenced(index).entries)
    return [index]


def _of_array(context: Context, base: KernelObject, index: KernelObject) -> KernelObject:
    shape = (
        base.place.shape[: base.place.rank - len(base.element_shape)] if isinstance(base, ArrayArgument) else base.shape
    )
    indices = [] if index is None and not shape else flat(index)
    if len(indices) != len(shape) and not (not shape and indices == [0]):
        context.fail(
            AdstackIndexError,
            f"{_name(base)} takes {len(shape)} {'index' if len(shape) == 1 else 'indices'}, got {len(indices)}",
            do="write x[None] for rank 0" if not shape else "give one integer per axis",
        )
    place = touch(context, base)
    if isinstance(base, ArrayArgument) and base.clamped:
        indices = [_clamped(context, i, n) for i, n in zip(indices, base.shape, strict=False)]
    at = [_shifted(context, base, axis, i, n) for axis, (i, n) in enumerate(zip(indices, shape, strict=False))]
    reference: Callable[[Place, Sequence[KernelObject]], PlaceRef] = PlaceRef
    if getattr(base, "cells", ()):
        reference = sparse_reference(Element(base.cells, at, (base.offset, *indices)))
    if base.element_shape:
        return place_matrix(place, at, base.element_shape, reference)
    return reference(place, at)


def _clamped(context: Context, index: KernelObject, extent: KernelObject) -> KernelObject:
    """The nearest index inside of an axis of this extent; what is no integer is left for its error."""
    index = plain(index)
    is_integer = index.dtype.is_integer if isinstance(index, Expr) else isinstance(index, int)
    return max_(0, min_(index, extent - 1)) if is_integer else index


def _name(base: KernelObject) -> str:
    return getattr(base, "name", "") or getattr(base.place, "label", "") or base.place.name


def _shifted(context: Context, base: KernelObject, axis: int, index: KernelObject, extent: int | None) -> KernelObject:
    """An index relative to the domain's least one."""
    offset = base.offset[axis] if base.offset else 0
    index = plain(index)
    if isinstance(index, Expr):
        if index.dtype.is_float:
            context.fail(
                AdstackIndexError, "an index must be an integer", note=f"this is {index.dtype}", do="cast it: i32(...)"
            )
        return index - offset if offset else index
    if isinstance(index, bool) or not isinstance(index, int):
        note, do = f"got {describe(index)}", "give an integer for each axis"
        context.fail(AdstackIndexError, "an index must be an integer", note=note, do=do)
    at = index - offset
    if extent is not None and not 0 <= at < extent:
        context.fail(
            AdstackIndexError,
            f"Accessing field {_name(base)} out of bounds: index {index} of axis {axis}",
            do=f"use {offset} to {offset + extent - 1}",
        )
    return at
