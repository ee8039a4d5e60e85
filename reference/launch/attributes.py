"""Attributes that were read while compiling: whether they still are what they were.

Of an object that changes in place - a list, a vector, a dictionary, an array - what it holds counts, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ..runtime.protocol.shortcuts import SameAttribute, Still
from .contents import changes_in_place, watched
from .lifetimes import Life, Read

__all__ = ["Attribute", "attributes", "conditions"]


@dataclass(frozen=True)
class Attribute:
    """An attribute that was baked in: of which object, what it was, and what that held.

    `words` are what machine code looks at for the latter; None if only Python can. `kept` is what they are about.
    """

    owner: Callable[[], object]
    name: str
    was: Callable[[], object]
    holds: object = None
    words: tuple[Still, ...] | None = ()
    kept: tuple[object, ...] = field(default=(), repr=False)

    def is_same(self) -> bool:
        """Whether it still is that; numbers and texts are compared by value."""
        now, was = getattr(self.owner(), self.name, None), self.was()
        if now is was:
            return self.holds is None or changes_in_place(now) == self.holds
        return type(now) is type(was) and isinstance(now, (bool, int, float, str)) and repr(now) == repr(was)

    def described(self, life: Life) -> SameAttribute:
        """The same for machine code, which finds the objects by their addresses."""
        objects = self.owner(), self.was()
        keep = tuple(one for one in objects if not life.knows(one))
        return SameAttribute(id(objects[0]), self.name, id(objects[1]), (*keep, *self.kept))


def attributes(captured: Sequence[Read], life: Life) -> tuple[Attribute, ...]:
    """The attributes among what the frontend has read."""
    return tuple(_attribute(read.args[0], read.args[1], was, life) for read, was in captured)


def _attribute(owner: object, name: str, was: object, life: Life) -> Attribute:
    words = watched(was)
    known, kept = (None, ()) if words is None else words
    return Attribute(life.refer(owner), name, life.refer(was), changes_in_place(was), known, kept)


def conditions(captured: Sequence[Attribute]) -> tuple[Still, ...] | None:
    """What machine code looks at, for what attributes hold; None if it can't tell."""
    words: list[Still] = []
    for one in captured:
        if one.words is None:
            return None
        words += one.words
    return tuple(dict.fromkeys(words))
