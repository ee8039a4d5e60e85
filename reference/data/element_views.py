"""Live vectors and matrices: views of an element of an array of the host."""

from __future__ import annotations

import math
from typing import Any, Protocol

from . import hostvalues

__all__ = ["ElementView"]


class Owner(hostvalues.Domain, Protocol):
    """An array of vectors or matrices."""

    def number_at(self, position: tuple[int, ...]) -> Any:
        """The number at a `position` in memory, counted from 0."""

    def store_at(self, position: tuple[int, ...], value: object, written: object) -> None:
        """Write one; `written` is what the host wanted to write."""


class ElementView:
    """Where the elements of a live vector or matrix lie: in one element of an array."""

    __slots__ = ("owner", "position")

    def __init__(self, owner: Owner, position: tuple[int, ...]) -> None:
        self.owner = owner
        self.position = position

    def __len__(self) -> int:
        return math.prod(self.owner.element_shape)

    def __getitem__(self, flat: int) -> Any:
        return self.owner.number_at(self._at(flat))

    def __setitem__(self, flat: int, value: object) -> None:
        self.owner.store_at(self._at(flat), hostvalues.scalar(self.owner, value), value)

    def _at(self, flat: int) -> tuple[int, ...]:
        """Where the `flat`-th number of the element lies."""
        if not 0 <= flat < len(self):
            raise hostvalues.outside(self.owner, (*self.position, flat))
        if len(self.owner.element_shape) == 1:
            return (*self.position, flat)
        return (*self.position, *divmod(flat, self.owner.element_shape[1]))
