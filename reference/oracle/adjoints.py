"""Adjoints: sums of contributions, that know which elements have got any."""

from __future__ import annotations

import numpy as np

from ..interpreter.lanes import Array
from ..ir.types import DType
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
        self.put(*self.connected(at, change.live, change.value))

    def put(self, at: Array, values: Array) -> None:
        """Add."""
        np.add.at(self.value, at, values.astype(self.dtype.numpy, copy=False))
        self.live[at] = True

    def connected(self, at: Array, live: Array | None, *numbers: Array) -> list[Array]:
        """The part of a change that is one: where, and what."""
        full = [part if part.shape == at.shape else np.broadcast_to(part, at.shape) for part in numbers]
        if live is None or live.all():
            return [at, *full]
        chosen = np.broadcast_to(live, at.shape)
        return [part[chosen] for part in (at, *full)]

    def clear(self, at: Array) -> None:
        """Set the adjoints of these elements to 0: the elements were overwritten, so the loss does not depend on what
        they held before.
        """
        self.value[at] = 0
        self.live[at] = False
