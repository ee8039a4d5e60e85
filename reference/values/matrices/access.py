"""Reaching elements: static and runtime indices, slices, fill."""

from __future__ import annotations

from ...errors import AdstackIndexError, AdstackTypeError
from ...ir.scalar_ops import CAST, SELECT
from ..calling import methods_take
from ..elements import Elements, as_elements, describe
from ..functions import elementwise
from ..kinds import Operand
from ..operations import WITHIN
from ..protocol import is_expr


def _static_axis(owner: Elements, axis: int, index: object) -> list[int]:
    """The positions along an axis that a static index or slice means."""
    extent = owner.shape[axis]
    if isinstance(index, slice):
        return list(range(*_plain_slice(index).indices(extent)))
    position = _as_int(index)
    if not -extent <= position < extent:
        raise AdstackIndexError(
            f"index {position} is out of range for axis {axis} of {describe(owner)}",
            do=f"use 0 to {extent - 1}, or -{extent} to -1 from the end",
        )
    return [position % extent]


def _as_int(index: Operand) -> int:
    if isinstance(index, bool) or not hasattr(type(index), "__index__"):
        raise AdstackTypeError(
            "an index of a vector or matrix must be an integer", note=f"got {describe(index)}", do="cast it to i32"
        )
    return int(index.__index__())


def _plain_slice(index: slice) -> slice:
    if any(is_expr(bound) for bound in (index.start, index.stop, index.step)):
        raise AdstackTypeError("bounds of slices must be compile-time constants", do="index in a loop instead")
    for bound in (index.start, index.stop, index.step):
        if bound is not None:
            _as_int(bound)
    if index.step is not None and index.step.__index__() == 0:
        raise AdstackTypeError("the step of a slice must not be 0", do="leave it out, or write another number")
    return index


def _check_count(owner: Elements, indices: tuple[Operand, ...]) -> None:
    if len(indices) != owner.ndim:
        example = "v[i]" if owner.is_vector else "m[i, j]; m[i, :] is a row"
        raise AdstackIndexError(
            f"{describe(owner)} takes {owner.ndim} indices, got {len(indices)}", do=f"write {example}"
        )


def _positions(owner: Elements, indices: tuple[Operand, ...]) -> tuple[list[int], tuple[int, ...]]:
    """Flat positions of a static selection, and its shape (without the axes that were indexed by a number)."""
    chosen = [_static_axis(owner, axis, index) for axis, index in enumerate(indices)]
    shape = tuple(len(c) for c, index in zip(chosen, indices, strict=True) if isinstance(index, slice))
    if 0 in shape:
        raise AdstackIndexError(f"the slice selects nothing of {describe(owner)}", do="widen it")
    if owner.is_vector:
        return chosen[0], shape
    return [i * owner.m + j for i in chosen[0] for j in chosen[1]], shape


def _normal(index: object) -> tuple[Operand, ...]:
    if isinstance(index, Elements):
        return tuple(index.entries)
    return tuple(index) if isinstance(index, tuple) else (index,)


def _flat_runtime_index(owner: Elements, indices: tuple[Operand, ...]) -> Operand:
    """Row-major position of runtime indices."""
    return indices[0] if owner.is_vector else indices[0] * owner.m + indices[1]


def _within(owner: Elements, indices: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """The indices; debug mode checks those that are runtime values."""
    pairs = zip(indices, owner.shape, strict=True)
    return tuple(i.__adstack_emit__(WITHIN, (i, extent)) if is_expr(i) else i for i, extent in pairs)


@methods_take
class Access(Elements):
    """Reading and writing elements."""

    __slots__ = ()

    def __getitem__(self, index: object) -> Operand:
        if index.__class__ is int and len(self.shape) == 1 and 0 <= index < self.shape[0]:  # by far the most frequent
            return self.storage[index]
        indices = _normal(index)
        _check_count(self, indices)
        if any(is_expr(i) for i in indices):
            return self._runtime_get(indices)
        positions, shape = _positions(self, indices)
        return self.over([self.storage[k] for k in positions], shape) if shape else self.storage[positions[0]]

    def __setitem__(self, index: object, value: object) -> None:
        indices = _normal(index)
        _check_count(self, indices)
        if any(is_expr(i) for i in indices):
            self._runtime_set(indices, value)
            return
        positions, shape = _positions(self, indices)
        self._assign(positions, shape, value)

    def _assign(self, positions: list[int], shape: tuple[int, ...], value: object) -> None:
        """Write a scalar to all positions, or a vector or matrix of that shape to them one by one."""
        value = as_elements(value)
        if isinstance(value, Elements) and value.shape != shape:
            wanted = describe(Elements.over([0] * len(positions), shape)) if shape else "a scalar"
            raise AdstackTypeError(f"{describe(value)} can't be assigned to {wanted}", do="make the shapes equal")
        values = value.entries if isinstance(value, Elements) else [value] * len(positions)
        for position, element in zip(positions, values, strict=True):
            self.storage[position] = self._admit(element)

    def _admit(self, element: object) -> Operand:
        """What is stored for `element`: converted, if the elements have a declared type; views convert themselves."""
        own = isinstance(self.storage, list)
        return elementwise(CAST, element, to=self._dtype) if own and self._dtype is not None else element

    def fill(self, val: object) -> None:
        """Set every element to `val`."""
        self._assign(list(range(len(self.storage))), self.shape, val)

    def assign(self, value: object) -> None:
        """Set the elements to those of a vector or matrix of the same shape, or all to one scalar."""
        self.fill(value)

    def _runtime_get(self, indices: tuple[Operand, ...]) -> Operand:
        """The element, row or column at runtime indices."""
        if any(isinstance(index, slice) for index in indices):
            points, length = line(self, indices)
            return self.over([self._runtime_get(point) for point in points], (length,))
        _check_runtime(indices)
        reach = getattr(self.storage, "get_at", None)
        return reach(indices, self.shape) if reach is not None else self._select_get(indices)

    def _runtime_set(self, indices: tuple[Operand, ...], value: object) -> None:
        """Set the element, row or column at runtime indices."""
        if any(isinstance(index, slice) for index in indices):
            points, length = line(self, indices)
            values = self.over([0] * length, (length,))
            values.fill(value)
            for point, element in zip(points, values.entries, strict=True):
                self._runtime_set(point, element)
            return
        _check_runtime(indices)
        reach = getattr(self.storage, "set_at", None)
        if reach is not None:
            reach(indices, self.shape, value)
        else:
            self._select_set(indices, value)

    def _select_get(self, indices: tuple[Operand, ...]) -> Operand:
        """The element at runtime indices, by a chain of selects; the first element if they are out of range."""
        indices = _within(self, indices)
        position = _flat_runtime_index(self, indices)
        entries = self.entries
        selected = entries[0]
        for k, element in enumerate(entries[1:], 1):
            selected = elementwise(SELECT, position == k, element, selected)
        return selected

    def _select_set(self, indices: tuple[Operand, ...], value: object) -> None:
        """Set the element at runtime indices, by a select for each element; none if they are out of range."""
        indices = _within(self, indices)
        position = _flat_runtime_index(self, indices)
        for k, element in enumerate(self.entries):
            self.storage[k] = elementwise(SELECT, position == k, self._admit(value), element)


def line(owner: Elements, indices: tuple[Operand, ...]) -> tuple[list[tuple[Operand, ...]], int]:
    """The points of a matrix that a runtime index and a static slice select together, and how many they are."""
    runtime = 0 if is_expr(indices[0]) else 1
    others = _static_axis(owner, 1 - runtime, indices[1 - runtime])
    fixed = indices[runtime]
    return [(k, fixed) if runtime else (fixed, k) for k in others], len(others)


def _check_runtime(indices: tuple[Operand, ...]) -> None:
    for index in indices:
        if not is_expr(index):
            _as_int(index)
        elif not index.dtype.is_integer:
            raise AdstackTypeError(
                "an index of a vector or matrix must be an integer", note=f"got {index.dtype}", do="cast it to i32"
            )
