"""Words of messages: places, indices and locations as a user writes them."""

from __future__ import annotations

from collections.abc import Iterable

from ..ir.location import Loc


def located(loc: Loc) -> Loc | None:
    """A location worth showing."""
    return loc if loc.line else None


def listed(numbers: Iterable[object]) -> str:
    """`(1, 2)`: numbers as an index is written."""
    return "(" + ", ".join(str(number) for number in numbers) + ")"
