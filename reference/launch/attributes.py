"""Attributes that were read while compiling: whether they still are what they were.

Of an object that changes in place - a list, a vector, a dictionary, an array - what it holds counts, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from ..runtime.protocol.shortcuts import SameAttribute, Still
from .contents import changes_in_place, watched
from .lifetimes import Life, Read

__all__ = ["Attribute", "Attributes", "attributes", "conditions"]


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


class _OfOwner(NamedTuple):
    """The attributes of one object that hold nothing that can change in place, to be compared all at once.

    Attributes:
        owner: gives the object.
        read: gives the attributes of an object, as a tuple.
        were: the identities of what they were, which live as long as they may be asked for.
    """

    owner: Callable[[], object]
    read: Callable[[Any], tuple[object, ...]]
    were: tuple[int, ...]

    def are_same(self) -> bool:
        """Whether they are the very objects that they were."""
        try:
            return tuple(map(id, self.read(self.owner()))) == self.were
        except AttributeError:
            return False


class Attributes:
    """Attributes that were baked in, of any objects: whether all are what they were.

    Args:
        captured: the attributes, while all that they were is there.
    """

    def __init__(self, captured: Sequence[Attribute]) -> None:
        plain: dict[int, list[Attribute]] = {}
        for one in captured:
            if one.holds is None:
                plain.setdefault(id(one.owner()), []).append(one)
        self._captured = captured
        self._objects = [_of_owner(several) for several in plain.values() if len(several) > 1]
        compared = {id(one) for several in plain.values() if len(several) > 1 for one in several}
        self._others = [one for one in captured if id(one) not in compared]

    def are_same(self) -> bool:
        """Whether each is what it was; one by one where some are not the very same objects."""
        for one in self._objects:
            if not one.are_same():
                return all(one.is_same() for one in self._captured)
        return all(one.is_same() for one in self._others) if self._others else True


def _of_owner(several: Sequence[Attribute]) -> _OfOwner:
    return _OfOwner(
        several[0].owner, attrgetter(*(one.name for one in several)), tuple(id(one.was()) for one in several)
    )


def attributes(captured: Sequence[Read], life: Life) -> tuple[Attribute, ...]:
    """The attributes among what the frontend has read."""
    return tuple(_attribute(read.args[0], read.args[1], was, life) for read, was in captured)


def _attribute(owner: object, name: str, was: object, life: Life) -> Attribute:
    words = watched(was)
    addresses, kept = (None, ()) if words is None else words
    return Attribute(life.refer(owner), name, life.refer(was), changes_in_place(was), addresses, kept)


def conditions(captured: Sequence[Attribute]) -> tuple[Still, ...] | None:
    """The conditions by which machine code sees that attributes hold what they held; None if only Python can."""
    words: list[Still] = []
    for one in captured:
        if one.words is None:
            return None
        words += one.words
    return tuple(dict.fromkeys(words))
