"""What the host may put where: indices, numbers, elements and whole arrays, checked."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Final, Protocol, cast

import numpy as np

from ..errors import (
    AdstackArgumentError,
    AdstackError,
    AdstackIndexError,
    AdstackMemoryError,
    AdstackOutOfBoundsError,
    AdstackRuntimeTypeError,
)
from ..ir.types import FLOATS, DType, cast_number
from ..runtime.memory.buffers import Array
from ..values.elements import Elements, is_array
from ..values.protocol import own

__all__ = [
    "Domain",
    "as_array",
    "bulk",
    "columns",
    "countable",
    "element",
    "extents",
    "in_words",
    "number",
    "outside",
    "position",
    "scalar",
    "storable",
]

_LIMITS: Final = {dtype: float(np.finfo(dtype.numpy).max) for dtype in FLOATS}
_EXACT: Final = 1 << 11
MOST: Final = 2**56 - 1
"""Elements that an array may have: their bytes, and those of what stands beside, are counted in 63 bits."""
MOST_AXES: Final = 30
"""Axes that an array may have: numpy had at most 32 before its version 2, and two may be those of a matrix."""


class Domain(Protocol):
    """What is asked of an array here: where its elements are, what they are, and what messages call it.

    Attributes:
        WHAT: the kind of array, in words.
        dtype: of the scalars.
        element_shape: of each element; () of scalars.
        bounds: (least index, extent) of each axis, None if they have to be asked for.
    """

    WHAT: str
    dtype: DType
    element_shape: tuple[int, ...]
    bounds: tuple[tuple[int, int], ...] | None

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the index axes."""

    @property
    def offset(self) -> tuple[int, ...]:
        """The least index of each axis."""

    @property
    def label(self) -> str:
        """What messages call it."""


def position(array: Domain, key: object) -> tuple[int, ...]:
    """The position in memory, counted from 0, that a key of the host means.

    Raises:
        AdstackIndexError: if the key has not one index for each axis.
        AdstackOutOfBoundsError: if an index lies outside of the array's domain.
    """
    keys = key if key.__class__ is tuple else _keys(key)
    bounds = array.bounds
    if bounds is None:
        bounds = tuple(zip(array.offset, array.shape, strict=True))
    if len(keys) != len(bounds):
        raise AdstackIndexError(
            f"Slicing is not supported on a {array.WHAT}: {array.label} has {len(bounds)} axes, "
            f"got {len(keys)} indices",
            do="give one index per axis ([None] if there is none), or use to_numpy()",
        )
    position = []
    for k, (least, extent) in zip(keys, bounds, strict=True):
        at = (k if k.__class__ is int else _index(array, k)) - least
        if not 0 <= at < extent:
            raise outside(array, keys)
        position.append(at)
    return tuple(position)


def inside(key: object, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The position in memory of plain integers, or of `[None]`, where axes start at 0; None where that takes care."""
    if key.__class__ is not tuple:
        return () if key is None and not shape else None
    if len(key) != len(shape):
        return None
    for k, extent in zip(key, shape, strict=True):
        if k.__class__ is not int or not 0 <= k < extent:
            return None
    return key


def in_words(what: str, element_shape: tuple[int, ...], dtype: DType) -> str:
    """What an array is, for messages."""
    of = "numbers" if not element_shape else "vectors" if len(element_shape) == 1 else "matrices"
    return f"{'a' if what == 'field' else 'an'} {what} of {of} ({dtype})"


def columns(array: Any, element_shape: tuple[int, ...], keep: bool) -> Any:
    """Numbers of vectors and matrices for the host: whether those of one column `keep` an axis for it."""
    if keep:
        return array[..., None] if len(element_shape) == 1 else array
    return array[..., 0] if len(element_shape) == 2 and element_shape[1] == 1 else array


def _keys(key: object) -> tuple[Any, ...]:
    if key is None:
        return ()
    return tuple(key) if isinstance(key, (list, Elements)) else (key,)


def _index(array: Domain, index: Any) -> int:
    if isinstance(index, slice):
        raise AdstackIndexError(f"Slicing is not supported on a {array.WHAT}", do="use to_numpy()")
    try:
        return operator.index(index)
    except TypeError:
        raise AdstackRuntimeTypeError(
            f"an index of {array.label} must be an integer, got {index!r}", do="convert it with int()"
        ) from None


def outside(array: Domain, keys: tuple[Any, ...]) -> AdstackOutOfBoundsError:
    """The error for an access beyond the array's domain; one key more than it has axes counts numbers of an element."""
    bounds = [(o, o + n) for o, n in zip(array.offset, array.shape, strict=True)]
    if len(keys) > len(bounds):
        bounds.append((0, math.prod(array.element_shape)))
    domain = " x ".join(f"[{least}, {end})" for least, end in bounds)
    pairs = enumerate(zip(keys, bounds, strict=True))
    axis, least, end = next((i, a, b) for i, (key, (a, b)) in pairs if not a <= operator.index(key) < b)
    do = f"use {least} to {end - 1} for axis {axis}" if end > least else "give the array an extent of 1 or more"
    if operator.index(keys[axis]) < 0 and not any(array.offset):
        do = "count from 0; the last element of an axis of n is at n - 1"
    return AdstackOutOfBoundsError(f"Accessing {array.label} at {keys}: out of its bounds {domain}", do=do)


def scalar(array: Domain, value: object) -> Any:
    """A number of the host as an element of `array`; in an integer array a float loses its fraction, as in int()."""
    if isinstance(value, int) or array.dtype.is_float:
        return number(value, array.dtype, array.label)
    return number(_whole(array, value), array.dtype, array.label)


def _whole(array: Domain, value: object) -> int | bool:
    """A number for an array of integers, without its fraction; of booleans, whether it is not 0."""
    plain = value if isinstance(value, float) else _plain(value, array.label)
    if array.dtype.is_bool:
        return plain != 0
    if not math.isfinite(plain):
        message = f"{plain} can't be stored into {array.label} of type {array.dtype}"
        raise AdstackArgumentError(message, do="store a finite number, or use a field of floats")
    return int(plain)


def storable(dtype: DType) -> tuple[Any, float, float]:
    """(kind, least, greatest) of the Python numbers that can be stored as `dtype` without a closer look."""
    if dtype.is_float:
        return float, -_LIMITS[dtype], _LIMITS[dtype]
    return (bool, 0, 1) if dtype.is_bool else (int, dtype.min, dtype.max)


def number(value: Any, dtype: DType, where: str) -> Any:
    """A number of the host as a Python number that `dtype` holds; `where` is what messages call its place.

    Raises:
        AdstackRuntimeTypeError: for a float where an integer belongs.
        AdstackArgumentError: for an integer that is out of the type's range.
    """
    if not isinstance(value, (bool, int, float)):
        value = _plain(value, where)
    if dtype.is_float:
        # numpy rounds what is within range as `cast` does; only beyond it would it warn, or round an integer twice
        limit = _LIMITS[dtype] if isinstance(value, float) else _EXACT
        return value if -limit <= value <= limit else cast_number(value, dtype)
    if isinstance(value, float):
        raise AdstackRuntimeTypeError(
            f"a float ({value!r}) can't be stored into {where} of type {dtype}", do="convert it with int() first"
        )
    if dtype.is_bool:
        return bool(value)
    if not dtype.min <= value <= dtype.max:
        raise AdstackArgumentError(
            f"{value} is out of range for {where} of type {dtype}",
            do=f"{dtype} holds {dtype.min} to {dtype.max}: use another number, or a wider type",
        )
    return int(value)


def _plain(value: Any, where: str) -> Any:
    """The Python number in a numpy scalar, a 0-d array or a one-element tensor."""
    if isinstance(value, (np.generic, np.ndarray)) or hasattr(type(value), "item"):
        number = value.item() if own(value, "shape") == () else value
        if isinstance(number, (bool, int, float)):
            return number
    raise AdstackRuntimeTypeError(
        f"{where} takes a number, got {type(value).__name__}: {value!r}",
        do="store one number; from_numpy() stores a whole array, and Vector.field() makes a field of vectors",
    )


def element(array: Domain, value: Any) -> Array:
    """A vector, matrix, list or numpy array of the host as an element of `array`; a number stands for all of it.

    Returns an array of the shape `array.element_shape`; AdstackArgumentError if the value has another shape.
    """
    if isinstance(value, (bool, int, float)):
        return np.full(array.element_shape, scalar(array, value), array.dtype.numpy)
    entries, shape = _entries(value)
    if shape != array.element_shape:
        raise AdstackArgumentError(
            f"an element of {array.label} has shape {array.element_shape}, got a value of shape {shape}",
            do="give as many numbers as an element has, or one for all of them",
        )
    contents = np.empty(len(entries), array.dtype.numpy)
    contents[:] = [scalar(array, e) for e in entries]
    return contents.reshape(array.element_shape)


def _entries(value: Any) -> tuple[list[Any], tuple[int, ...]]:
    """The scalars of a vector, matrix, list or array, row by row, and its shape; one of shape () of anything else."""
    if isinstance(value, Elements):
        return value.entries, tuple(value.shape)
    if not (isinstance(value, (list, tuple)) or is_array(value)):
        return [value], ()
    array = as_array(value)
    return array.reshape(-1).tolist(), array.shape


def as_array(value: object, convert: Callable[[Any], Array] = np.asarray) -> Array:
    """Lists of numbers, or an array of any library, as an array of numpy.

    AdstackArgumentError if numpy can't have it: rows that are not equally long; tensors of torch in bfloat16, sparse
    ones, or such as require a gradient.
    """
    try:
        return convert(value)
    except AdstackError:
        raise
    except (TypeError, ValueError, RuntimeError) as error:
        if isinstance(value, (list, tuple)):
            message, do = (
                "the rows of a list must be equally long",
                "give lists of numbers, each row as long as the next",
            )
        else:
            message = f"numpy can't have this {type(value).__name__}"
            do = "convert it first, as by .detach(), .float() or .to_dense()"
        raise AdstackArgumentError(message, note=str(error), do=do) from error


def bulk(array: Domain, values: Array) -> Array:
    """A numpy array of any layout as the whole contents of `array`: the shape must match, and the numbers fit.

    Floats lose their fractions in an array of integers, as in int(). A vector may stand in a column, and a column in a
    vector: shapes that differ by a last axis of length 1 match.
    """
    values, dtype = _shaped(array, values), array.dtype
    if values.dtype.kind not in "biuf":
        do = "convert it with astype; of complex numbers store .real and .imag"
        raise AdstackRuntimeTypeError(f"{array.label} takes numbers, got an array of {values.dtype}", do=do)
    if dtype.is_float or dtype.is_bool or not values.size:
        return values
    if values.dtype.kind == "f":
        values = np.trunc(values)
    least, greatest = values.min().item(), values.max().item()
    if not (dtype.min <= least <= greatest <= dtype.max):  # as Python compares numbers: exactly, and false for NaN
        raise AdstackArgumentError(f"the array has values out of range for {array.label} of type {dtype}")
    return values.astype(dtype.numpy)


def _shaped(array: Domain, values: Array) -> Array:
    wanted = array.shape + array.element_shape
    if values.shape == wanted:
        return values
    if array.element_shape and values.shape in (wanted[:-1] if wanted[-1] == 1 else wanted, (*wanted, 1)):
        return values.reshape(wanted)
    raise AdstackArgumentError(
        f"the shape {wanted} of {array.label} does not match the shape {values.shape} of the array given",
        do="pass an array of its shape, or make the field with the array's shape",
    )


def extents(what: str, shape: object, *, least: int) -> tuple[int, ...]:
    """A shape as programs write it, an integer, a tuple, a list or a vector of integers, as a tuple.

    Args:
        what: what messages call the thing that has the shape.
        shape: the shape as the program wrote it.
        least: the shortest that an axis may be.

    Raises:
        AdstackRuntimeTypeError: if something is no integer.
        AdstackArgumentError: if an axis is too short, or there are too many axes.
        AdstackMemoryError: if no memory holds so many elements.
    """
    several = isinstance(shape, (tuple, list, Elements)) or (isinstance(shape, np.ndarray) and shape.ndim > 0)
    axes: tuple[Any, ...] = tuple(cast(Any, shape)) if several else (shape,)
    try:
        lengths = tuple(operator.index(n) for n in axes)
    except TypeError:
        raise AdstackRuntimeTypeError(
            f"the shape of {what} must be of integers, got {shape!r}", do="write n // 2 or int(n)"
        ) from None
    if any(n < least for n in lengths):
        message = f"every axis of {what} must be at least {least} long, got the shape {lengths}"
        raise AdstackArgumentError(message, do=f"give extents of {least} or more")
    return countable(what, lengths)


def countable(what: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape; AdstackMemoryError if there can't be so many elements, AdstackArgumentError for too many axes."""
    if len(shape) > MOST_AXES:
        raise AdstackArgumentError(f"{what} has at most {MOST_AXES} axes, got {len(shape)}", do="use fewer axes")
    if math.prod(shape) > MOST:
        raise AdstackMemoryError(
            f"{what} of shape {shape} has more than 2**{MOST.bit_length()} elements, which no memory holds",
            do="use a smaller shape",
        )
    return shape
