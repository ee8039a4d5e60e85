"""Adjoints: sums of contributions, that know which elements have got any."""

from __future__ import annotations

import numpy as np

from ..ir.types import DType
from .frame import Array
from .numbers import Num

__all__ = ["Adjoint"]


class Adjoint:
    """The adjoints of an array of numbers.

    An element that nothing was added to is not connected: what it would be multiplied by does not matter.

    Attributes:
        dtype: what sums are rounded to.
        value: the sums.
        live: which elements are connected.
    """

    def __init__(self, dtype: DType, size: int) -> None:
        self.dtype = dtype
        self.value = np.zeros(size, dtype.numpy)
        self.live = np.zeros(size, np.bool_)

    def load(self, values: Array) -> None:
        """What the caller gives; it is connected everywhere."""
        self.value[:] = values
        self.live[:] = True

    def read(self, at: Array) -> Num:
        """The elements at these positions."""
        return Num(self.dtype, self.value[at], live=self.live[at])

    def add(self, at: Array, change: Num) -> None:
        """Add where the change is connected."""
        at, values = self.connected(at, change)
        np.add.at(self.value, at, values.astype(self.dtype.numpy))
        self.live[at] = True

    def connected(self, at: Array, change: Num) -> tuple[Array, Array]:
        """The part of a change that is one: where, and what."""
        values = np.broadcast_to(change.value, at.shape)
        if change.live is None:
            return at, values
        live = np.broadcast_to(change.live, at.shape)
        return at[live], values[live]

    def clear(self, at: Array) -> None:
        """These elements were overwritten: what they were before is worth nothing."""
        self.value[at] = 0
        self.live[at] = False
