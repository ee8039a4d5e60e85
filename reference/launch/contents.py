"""What is inside of a compile-time object, for those that can change in place: lists, vectors, dictionaries, arrays.

`template_key` tells values apart that the frontend treats differently; `watched` tells machine code where to look. A
list of CPython's stands in memory as (reference count, type, length, address of the items), and a vector of the host
has its elements in a list. A cell, which holds the variable of an
enclosing function, stands there as (reference count, type, address of the value).
"""

from __future__ import annotations

import array
import ctypes
from collections import UserList, deque
from collections.abc import Hashable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from types import CellType
from typing import Any, Final, cast

import numpy as np

from ..ir.types import DType
from ..runtime.protocol.shortcuts import Still
from ..values.elements import Elements
from ..values.matrices.struct import Struct, members_of
from .lifetimes import Same

__all__ = ["CONTAINERS", "NUMBERS", "by_value", "changes_in_place", "points_to", "template_key", "watched"]

_ROWS: Final = (tuple, list, set, frozenset, deque, bytearray, array.array, UserList)
_BYTES: Final = (np.ndarray, memoryview, ctypes.Array)
_VIEWS: Final = (KeysView, ValuesView, ItemsView)
CONTAINERS: Final = (*_ROWS, Elements, Struct, Mapping, *_VIEWS)
"""The classes of what may hold something else while it stays the same object, or hold what does."""

NUMBERS: Final = (bool, int, float, str)
"""What is compared by value: numbers, and texts."""

MOST: Final = 64
"""How many items machine code looks at; Python looks at more."""

_WORD: Final = ctypes.sizeof(ctypes.c_int64)
_LENGTH, _ITEMS = 2 * _WORD, 3 * _WORD
_CONTENTS = 2 * _WORD


def by_value(value: bool | int | float | str) -> Hashable:
    """Equal for the same numbers and texts of one class, whatever these of the program's own say of themselves."""
    kind = type(value)
    base = kind if kind in NUMBERS else next(one for one in NUMBERS if isinstance(value, one))
    return kind, base.__repr__(value)


def template_key(value: object, around: tuple[int, ...] = ()) -> Hashable:
    """Equal for values that the frontend treats alike: numbers by value, everything else by identity.

    `around` are the identities of what the value stands in: of a list that holds itself, only that counts.
    """
    if isinstance(value, NUMBERS):
        return by_value(value)
    if value is None or isinstance(value, DType):
        return value
    if id(value) in around:
        return Same(value)
    inner = (*around, id(value))
    return _key_of_parts(value, inner, around)


def _key_of_parts(value: object, inner: tuple[int, ...], around: tuple[int, ...]) -> Hashable:
    """The key of what holds other values, or of an object: see `template_key`, of which `inner` counts the value in."""
    if isinstance(value, _BYTES) and not _has_objects(value):
        return changes_in_place(value)
    if isinstance(value, np.ndarray):
        return np.ndarray, value.shape, tuple(template_key(one, inner) for one in value.ravel().tolist())
    if isinstance(value, Struct):
        return Struct, template_key(value.__adstack_type__()), template_key(members_of(value), inner)
    if isinstance(value, (*_ROWS, *_VIEWS)):
        return type(value), tuple(template_key(one, inner) for one in value)
    if isinstance(value, Elements):
        return value.shape, value.dtype, tuple(template_key(e, around) for e in value.entries)
    if isinstance(value, Mapping):
        return type(value), tuple((template_key(name, inner), template_key(one, inner)) for name, one in value.items())
    return Same(value)


def _has_objects(value: object) -> bool:
    """Whether it is an array of numpy's that holds Python's objects."""
    return isinstance(value, np.ndarray) and value.dtype.hasobject


def changes_in_place(value: object, around: tuple[int, ...] = ()) -> Hashable:
    """A key of what an object holds, if that may change while it stays the same object; else None.

    Every number of an array is part of its key, so the cost is that of copying it. `around` is as in `template_key`.
    """
    if isinstance(value, CONTAINERS) and not isinstance(value, Mapping):
        return template_key(value, around)
    if isinstance(value, Mapping):
        if id(value) in around:
            return Same(value)
        inner = (*around, id(value))
        return tuple(
            (template_key(name), changes_in_place(one, inner), template_key(one, inner)) for name, one in value.items()
        )
    if isinstance(value, (np.ndarray, np.generic)):
        return template_key(value, around) if _has_objects(value) else (value.shape, value.dtype.str, value.tobytes())
    if isinstance(value, memoryview):
        return value.shape, value.format, value.tobytes()
    return bytes(value) if isinstance(value, ctypes.Array) else None


def watched(value: object) -> tuple[tuple[Still, ...], tuple[object, ...]] | None:
    """The words of memory that stay the same while nothing changes in place, and what must be kept for that.

    None if that is more than words can tell.
    """
    if changes_in_place(value) is None:
        return (), ()
    lists = list(_lists(value))
    if None in lists or sum(len(one) for one in lists if one is not None) > MOST:
        return None
    words = [word for one in lists if one is not None for word in _words(one)]
    return tuple(words), tuple(item for one in lists if one is not None for item in (one, *one))


def points_to(cell: CellType, value: object) -> Still:
    """The word that stays the same while a cell has that value."""
    return Still(id(cell) + _CONTENTS, id(value))


def _lists(value: object, around: tuple[int, ...] = ()) -> Iterator[list[Any] | None]:
    """The lists in which something stands; None for what is no list, and for a list in itself."""
    if isinstance(value, Elements):
        value = value.storage
    if changes_in_place(value) is None:
        return
    if id(value) in around or type(value) not in (list, tuple):
        yield None
        return
    if type(value) is list:
        yield value
    for item in cast(Iterable[object], value):
        yield from _lists(item, (*around, id(value)))


def _words(value: list[Any]) -> Iterator[Still]:
    """The length, where the items are, and the items."""
    items = ctypes.c_int64.from_address(id(value) + _ITEMS).value
    yield Still(id(value) + _LENGTH, len(value))
    yield Still(id(value) + _ITEMS, items)
    for number, item in enumerate(value):
        yield Still(items + _WORD * number, id(item))
