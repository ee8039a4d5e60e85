"""Where fields are placed, and how others learn of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ..runtime.threads.guards import invalidate, rewired
from .levels import Node

__all__ = ["LEVELS", "PLACED", "Of", "Placement", "Spot", "placed"]


@dataclass
class Placement:
    """Where a field's index axes come from.

    Attributes:
        shape: extents of the index axes.
        offset: the least index of each.
        ready: False until the builder that made it is finalized.
        own: whether the field was made with its shape, instead of being placed somewhere.
        node: the level where it was placed; None if it was made with its shape.
        leaf: the field itself as a level below that one, once it was asked for.
    """

    shape: tuple[int, ...]
    offset: tuple[int, ...]
    ready: bool = True
    own: bool = False
    node: Node | None = None
    leaf: Node | None = None


@dataclass
class Spot:
    """Where a field was placed, if it was: its companions look here, too."""

    placement: Placement | None = None


@dataclass(frozen=True)
class Of:
    """What a gradient or dual knows of its field: a weak reference, so that the field can be collected."""

    unique: str
    name: str
    label: str
    spot: Spot


LEVELS: Final[list[Callable[[Any], Node]]] = []
"""What makes the level of a field with a shape of its own, as `Placement.leaf`: `snode.py`, which builds on fields."""
PLACED: Final = [0]
"""Grows whenever some field gets its memory, or loses it."""


def placed(role: str = "primal") -> None:
    """Say that some field, or its gradient or dual, as the `role` tells, has its memory now, or has none any more."""
    PLACED[0] += 1
    rewired()
    if role == "grad":
        invalidate()  # launches leave records from now on
