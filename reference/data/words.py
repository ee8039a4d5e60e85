"""The words that say which cells of a sparse level are active, as a field."""

from __future__ import annotations

from dataclasses import replace

from ..ir.structure import Place
from ..ir.types import i32
from .fields import ScalarField

__all__ = ["Words"]


class Words(ScalarField):
    """The words of a sparse level: iterations may look whether elements are active while others activate some."""

    def __init__(self, name: str) -> None:
        super().__init__(i32, (), name)

    @property
    def is_sparse(self) -> bool:
        """Most of the cells may never be active."""
        return True

    @property
    def place(self) -> Place:
        """Its place in the IR, where it is no race that iterations read what others update."""
        return replace(super().place, relaxed=True)
