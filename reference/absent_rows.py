"""A row of the tables of names; see `absent.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["INTERNAL", "PROFILE", "Row", "row"]

INTERNAL: Final = "this is internal in other libraries"
PROFILE: Final = "the profiler is a context"


@dataclass(frozen=True)
class Row:
    """Names that adstack leaves out for one reason, or that do something else in one way.

    Attributes:
        names: of the module or class.
        why: what is not there, and the reason, or what is not the same; a clause without a full stop.
        do: what to write instead; an imperative without a full stop, "" if nothing is to be done.
    """

    names: tuple[str, ...]
    why: str
    do: str


def row(names: str, why: str, do: str = "") -> Row:
    """The row of the names in a text, between spaces."""
    return Row(tuple(names.split()), why, do)
