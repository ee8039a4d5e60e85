"""Fields and arrays of numbers, in memory of Warp's."""

from __future__ import annotations

import weakref
from typing import Final

import numpy as np
import numpy.typing as npt

from ...case import Data
from .device import DEVICE, WP
from .kinds import ABSENT, Kind

__all__ = ["Memory", "clear_gradients", "field", "ndarray"]

Array = npt.NDArray[Data]
_ALL: Final[weakref.WeakSet[Memory]] = weakref.WeakSet()


class Part:
    """The gradient of a field, or the field itself, as the host reads and writes it.

    Args:
        array: an array of Warp's; what has no axes has one, of one element.
        kind: the type of its elements.
        shape: of the field.
    """

    def __init__(self, array: Data, kind: Kind, shape: tuple[int, ...]) -> None:
        self.array, self.dtype, self.shape = array, kind, shape
        self.element_shape: tuple[int, ...] = ()

    @property
    def dual(self) -> Part:
        raise ABSENT("Warp has no forward mode")

    def to_numpy(self) -> Array:
        copy: Array = self.array.numpy().reshape(self.shape).copy()
        return copy

    def from_numpy(self, contents: Array) -> None:
        contents = np.asarray(contents).astype(self.dtype.numpy).reshape(self.shape or (1,))
        self.array.assign(contents)

    def fill(self, value: float) -> None:
        self.from_numpy(np.full(self.shape, value))

    def __getitem__(self, index: Data) -> Data:
        return self.to_numpy()[() if index is None else index].item()

    def __setitem__(self, index: Data, value: float) -> None:
        contents = self.to_numpy()
        contents[() if index is None else index] = value
        self.from_numpy(contents)


class Memory(Part):
    """A field or an array, with a gradient if it was asked for; it has no dual."""

    def __init__(self, kind: Kind, shape: tuple[int, ...], needs_grad: bool) -> None:
        if not 0 <= len(shape) <= 4 or 0 in shape:
            raise ABSENT(f"arrays of Warp have one to four axes, and elements: the shape is {shape}")
        array = WP.zeros(shape or (1,), dtype=kind.dtype, device=DEVICE, requires_grad=needs_grad)
        super().__init__(array, kind, shape)
        self.grad = Part(array.grad, kind, shape) if needs_grad else None
        _ALL.add(self)


def field(
    dtype: Data, shape: Data = None, needs_grad: bool = False, needs_dual: bool = False, **others: Data
) -> Memory:
    """See `adstack.field`. MissingError: it has no shape, or is of no type of numbers."""
    if shape is None or others:
        raise ABSENT("Warp has no fields that are placed in a tree")
    if not isinstance(dtype, Kind):
        raise ABSENT(f"fields of {type(dtype).__name__} are not translated")
    return Memory(dtype, (shape,) if isinstance(shape, int) else tuple(shape), needs_grad)


def ndarray(dtype: Data, shape: Data, needs_grad: bool = False, needs_dual: bool = False, **others: Data) -> Memory:
    """See `adstack.ndarray`: the same as a field here."""
    return field(dtype, shape, needs_grad, needs_dual, **others)


def clear_gradients() -> None:
    """Set all gradients to zero."""
    for memory in list(_ALL):
        if memory.grad is not None:
            memory.grad.array.zero_()
