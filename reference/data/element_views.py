"""Live vectors and matrices: views of an element of an array of the host."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from . import hostvalues

if TYPE_CHECKING:
    from .hostarrays import HostArray

__all__ = ["ElementView"]


class ElementView:
    """Where the elements of a live vector or matrix lie: in one element of an array."""

    __slots__ = ("owner", "position")

    def __init__(self, owner: HostArray, position: tuple[int, ...]) -> None:
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
