"""Attributes and variables that were read while compiling: whether they still are what they were.

Of an object that changes in place - a list, a vector, a dictionary, an array - what it holds counts, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import CellType

from ..runtime.protocol.shortcuts import SameAttribute, Still
from ..values.names import MISSING, Names
from .contents import NUMBERS, by_value, changes_in_place, points_to, watched
from .lifetimes import Life, Read

__all__ = ["Attribute", "Attributes", "attributes", "conditions"]


@dataclass(frozen=True)
class Attribute:
    """An attribute that was baked in: of which object, what it was, and what that held.

    `words` are what machine code looks at for the latter; None if only Python can. `kept` is what they are about.
    `in_words` says that they tell of the attribute itself, too: it is the variable in a cell.
    """

    owner: Callable[[], object]
    name: str
    was: Callable[[], object]
    holds: object = None
    words: tuple[Still, ...] | None = ()
    kept: tuple[object, ...] = field(default=(), repr=False)
    in_words: bool = False

    def is_same(self) -> bool:
        """Whether it still is that; numbers and texts are compared by value."""
        now, was = getattr(self.owner(), self.name, MISSING), self.was()
        if now is was or (self.holds is not None and type(now) is type(was)):
            return self.holds is None or changes_in_place(now) == self.holds
        return _equal(now, was)

    def equals(self, other: Attribute) -> bool:
        """Whether another one was the same."""
        one, its = self.was(), other.was()
        return self.holds == other.holds if one is its else _equal(one, its)

    def described(self, life: Life) -> SameAttribute:
        """The same for machine code, which finds the objects by their addresses."""
        owner, was = self.owner(), self.was()
        keep = tuple(one for one in (owner, was) if not life.knows(one))
        names = vars(owner) if isinstance(owner, Names) else None
        is_key = type(names) is dict  # less than half the cost of asking an object for an attribute
        return SameAttribute(id(names if is_key else owner), self.name, id(was), (*keep, *self.kept), is_key)


def _equal(one: object, other: object) -> bool:
    """Whether both are the same number or text."""
    return isinstance(one, NUMBERS) and isinstance(other, NUMBERS) and by_value(one) == by_value(other)


class Attributes:
    """Attributes that were baked in, of any objects: whether all are what they were.

    Args:
        captured: the attributes, while all that they were is there.
    """

    def __init__(self, captured: Sequence[Attribute]) -> None:
        self._captured = captured
        self._plain = [(one.owner, one.name, id(one.was())) for one in captured if one.holds is None]
        self._holding = [one for one in captured if one.holds is not None]

    def are_same(self) -> bool:
        """Whether each is what it was: those that hold nothing that changes in place by their identities first."""
        try:
            for owner, name, was in self._plain:
                if id(getattr(owner(), name, MISSING)) != was:
                    return all(one.is_same() for one in self._captured)
            return all(one.is_same() for one in self._holding) if self._holding else True
        except Exception:  # noqa: BLE001 - a cell is empty, or a property fails: who compiles the kernel again says so
            return False


def attributes(captured: Sequence[Read], life: Life) -> tuple[Attribute, ...]:
    """The attributes among what the frontend has read."""
    return tuple(_attribute(read.args[0], read.args[1], was, life) for read, was in captured)


def _attribute(owner: object, name: str, was: object, life: Life) -> Attribute:
    words = watched(was)
    addresses, kept = (None, ()) if words is None else words
    in_words = isinstance(owner, CellType)
    if isinstance(owner, CellType) and addresses is not None:
        addresses = (points_to(owner, was), *addresses)
    return Attribute(life.refer(owner), name, life.refer(was), changes_in_place(was), addresses, kept, in_words)


def conditions(captured: Sequence[Attribute]) -> tuple[Still, ...] | None:
    """The conditions by which machine code sees that attributes hold what they held; None if only Python can."""
    words: list[Still] = []
    for one in captured:
        if one.words is None:
            return None
        words += one.words
    return tuple(dict.fromkeys(words))
