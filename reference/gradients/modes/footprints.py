"""The elements that a launch and its reverse mode may touch, as boxes of indices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ...analysis.boxes import Box
from ...launch.arguments import Call
from ...launch.specialisation import Specialisation
from .differentiated import Differentiated

__all__ = ["Footprint", "FootprintKey", "Region", "Shapes", "footprint_of"]

Region = tuple[str, str, list[Box]]
"""The name of a place, what the user calls it, and boxes of its elements."""

Shapes = Mapping[str, tuple[int, ...]]
"""The extents of array arguments, by the name of the place."""


@dataclass(frozen=True)
class Footprint:
    """The elements that matter to a launch.

    Attributes:
        written, read: by the launch, at most.
        before, after: by its reverse pass, as they were before the launch, and after.
        mode: that reverse pass; it lives as long as a key names it.
    """

    written: tuple[Region, ...]
    read: tuple[Region, ...]
    before: tuple[Region, ...]
    after: tuple[Region, ...]
    mode: Differentiated | None


class FootprintKey(NamedTuple):
    """What footprints depend on.

    Attributes:
        mode: the identity of the reverse mode.
        numbers: the integers among the scalar arguments.
        shapes: the extents of the array arguments.
    """

    mode: int
    numbers: tuple[int | None, ...]
    shapes: tuple[tuple[str, tuple[int, ...]], ...]

    @staticmethod
    def of(call: Call, mode: Differentiated | None, shapes: Shapes) -> FootprintKey:
        """The key of a call."""
        numbers = tuple(scalar if isinstance(scalar, int) else None for scalar in call.scalars)
        return FootprintKey(id(mode), numbers, tuple(shapes.items()))


def footprint_of(specialisation: Specialisation, call: Call, mode: Differentiated | None, shapes: Shapes) -> Footprint:
    """The footprint of a call with array arguments of such shapes, and of its reverse mode."""
    own = specialisation.plan.compiled.reach(call.scalars, shapes)
    before: dict[str, list[Box]] = {}
    after: dict[str, list[Box]] = {}
    if mode is not None:
        buffers = {**specialisation.plan.buffers, **call.arrays}
        more = {alias: buffers[name].shape for alias, name in mode.beside.items()}
        reverse = mode.plan.compiled.reach(mode.scalars(call), {**shapes, **more}).read
        for alias, name in mode.beside.items():
            before.setdefault(name, []).extend(reverse.get(alias, ()))
        grads = {place.name for place in mode.companions.values()}
        after = {name: boxes for name, boxes in reverse.items() if name not in grads}
    written, read = _regions(specialisation, own.written), _regions(specialisation, own.read)
    return Footprint(written, read, _regions(specialisation, before), _regions(specialisation, after), mode)


def _regions(specialisation: Specialisation, boxes: Mapping[str, list[Box]]) -> tuple[Region, ...]:
    """The boxes that are in places of the kernel."""
    places = specialisation.kernel.places
    compiled = specialisation.plan.compiled.program.places
    return tuple((n, (compiled.get(n) or places[n]).label or n, inside) for n, inside in boxes.items() if n in places)
