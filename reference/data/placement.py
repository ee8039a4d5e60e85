"""Where fields are placed, and how others learn of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ..errors import AdstackRuntimeError
from ..runtime.threads.guards import invalidate, rewired
from .levels import Node

__all__ = ["LEVELS", "PLACED", "Of", "Placement", "Spot", "check_beside", "placed"]


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


def check_beside(label: str, companion: Placement | None, primal_label: str, primal: Placement | None) -> None:
    """Check that a gradient or dual has an element for each one of its field, and an active one for each active one.

    What differentiation writes activates nothing, so what lay in a cell of its own would be lost without a word.

    Args:
        label: names the gradient or dual in messages.
        companion: where that was placed; None if it was not.
        primal_label: names its field.
        primal: where the field was placed; None if it was not.

    Raises:
        AdstackRuntimeError: the extents differ, or the companion is in sparse levels that its field is not in.
    """
    if companion is None or primal is None:
        return
    if companion.shape != primal.shape:
        raise AdstackRuntimeError(
            f"{label} can't have the shape {companion.shape}: {primal_label} has the shape {primal.shape}",
            do=f"place both at levels with the same extents, or {primal_label} alone: needs_grad=True does the rest",
        )
    above = () if primal.node is None else primal.node.cells
    own = () if companion.node is None else companion.node.cells
    if any(all(cells.level is not one.level for one in above) for cells in own):
        raise AdstackRuntimeError(
            f"{label} can't be in sparse levels that {primal_label} is not in: its cells would stay inactive",
            do=f"place it beside {primal_label}, with place(x, x.grad), or at a dense level",
        )
