"""How the types of values reach the data model: `Vector.field(...)` makes a field, and fields are built on values.

The data model registers its factories when it is imported, so that the arrow between the two points one way.
"""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["Factories", "factories", "register"]


class Factories(Protocol):
    """What makes data of elements of a type; `data/factories.py` documents the arguments."""

    def field(self, dtype: Any, *args: Any, **options: Any) -> Any:
        """A field of scalars, vectors, matrices or structs."""

    def ndarray(self, dtype: Any, *args: Any, **options: Any) -> Any:
        """An ndarray of scalars, vectors or matrices."""

    def tensor(self, dtype: Any, *args: Any, **options: Any) -> Any:
        """A field or an ndarray."""


_REGISTERED: list[Factories] = []


def register(model: Factories) -> None:
    """Have `model` make data from now on."""
    _REGISTERED[:] = [model]


def factories() -> Factories:
    """The factories of the data model."""
    return _REGISTERED[0]
