"""Races of a kernel that are certain for the arguments of a launch: `Racing`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from ..analysis.manager import Analyses
from ..analysis.may_access import Accesses, IntervalWalk
from ..autodiff.activities.racing import DISTINCT, Races
from ..errors import AdstackDataAccessError
from ..ir.ops import SHAPE
from ..ir.structure import Kernel, Op, Value
from .protocol.backend import Scalars

__all__ = ["DISTINCT", "Racing"]

MOST: Final = 256
"""For how many different arguments it is remembered."""


class Racing:
    """What is known of the races of a kernel on places that are differentiated.

    Args:
        kernel: as the frontend made it.
        names: of these places.
        aliases: see `Races`.
        analyses: what is known of the kernel's body.
    """

    def __init__(
        self,
        kernel: Kernel,
        names: Collection[str],
        aliases: Mapping[str, str] = DISTINCT,
        analyses: Analyses | None = None,
    ) -> None:
        self._kernel, self._races = kernel, Races(kernel, names, analyses or Analyses(), aliases)
        self._known: dict[object, AdstackDataAccessError | None] = {}

    def __bool__(self) -> bool:
        """Whether there are arguments for which some race may be certain."""
        return bool(self._races.pairs)

    @property
    def places(self) -> set[tuple[str, str]]:
        """(name, name) of the places of such a race: what is written, and what meets it."""
        return {(one.place.name, other.place.name) for one, other in self._races.pairs}

    def refuse(self, scalars: Scalars, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Raise AdstackDataAccessError if a launch with these scalars, and arrays of these shapes, certainly races."""
        if not self._races.pairs:
            return
        key = tuple(s if isinstance(s, int) else None for s in scalars), tuple(shapes.items())
        if key not in self._known:
            if len(self._known) == MOST:
                self._known.clear()
            self._known[key] = self._error(scalars, shapes)
        error = self._known[key]
        if error is not None:
            raise error.with_traceback(None)

    def _error(self, scalars: Scalars, shapes: Mapping[str, tuple[int, ...]]) -> AdstackDataAccessError | None:
        walk = _Numbers(shapes, Accesses())
        walk.launched(self._kernel.body, self._kernel.params, scalars)
        return self._races.error(walk.number)


class _Numbers(IntervalWalk):
    """Follows integers as far as they are one number."""

    def number(self, value: Value) -> int | None:
        """What a value is each time that it is computed."""
        lo, hi = self.known.get(value, (0, 1))
        return lo if lo == hi else None

    def _memory(self, op: Op) -> None:
        """Only extents matter."""
        if op.opdef is SHAPE:
            extent = self._extents(op.attrs["place"])[op.attrs["axis"]]
            self.know(op.result, (extent, extent))
