"""Places in a program where running code may report something."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adstack.ir.location import Loc
from adstack.ir.structure import Place, Value
from adstack.ir.texts import Part
from adstack.ir.types import DType

__all__ = ["Site", "local_site", "record_words"]


@dataclass(frozen=True)
class Site:
    """A place in a program where something may be reported: a failed check, or text printed.

    Attributes:
        kind: "bounds", "local", "trap", "assert", "print", "stack", "memory", "slots" or "loops".
        message: the trap's or assert's message; the length of a local array and, after a space, its name if it has one;
            the slots of a thread's adstack; the variable that a stack keeps.
        loc: where it stands.
        types: of the arguments that the record holds; of a place's access, its indices, then the extents if they differ
            from launch to launch.
        parts: the text of a print.
        place: what a bounds check is about.
        indices: types of the indices of the iteration, which the record holds before the arguments.
        task: name of the task that it is in.
    """

    kind: str
    message: str
    loc: Loc
    types: tuple[DType, ...] = ()
    parts: tuple[Part, ...] = ()
    place: Place | None = None
    indices: tuple[DType, ...] = ()
    task: str = ""


def local_site(array: Value, length: int, loc: Loc, types: tuple[DType, ...]) -> Site:
    """The place, at `loc`, of an access to an array of a thread: its length, and the types of what is reported."""
    return Site("local", f"{length} {array.name}".rstrip(), loc, types)


def record_words(sites: Sequence[Site]) -> int:
    """The size of an error record in words of 64 bits: a flag, the number of a site, indices, arguments."""
    return 2 + max((len(site.indices) + len(site.types) for site in sites), default=0)
