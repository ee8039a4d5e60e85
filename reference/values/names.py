"""Variables from outside of a function: where Python keeps them."""

from __future__ import annotations

from types import CellType
from typing import Final

from .kinds import PythonFunction
from .protocol import own

__all__ = ["MISSING", "OUTLINE", "Names", "Outline", "variable_of"]

OUTLINE: Final = ("shape", "ndim", "size", "dtype")
"""The attributes of an array that say nothing of its elements."""

MISSING: Final = object()
"""Stands for the value of a variable or attribute that is not there."""


class Names:
    """The names of a module, or of what a function has instead of one, as attributes of an object: as they are now."""

    def __init__(self, names: dict[str, object]) -> None:
        self.__dict__ = names


class Outline:
    """The shape and the type of an array of numpy's that an attribute is, as they are now.

    Args:
        owner: has the attribute.
        name: of the attribute.
    """

    __slots__ = ("_last", "_name", "_owner")

    def __init__(self, owner: object, name: str) -> None:
        self._owner, self._name = owner, name
        self._last: tuple[object, ...] = ()

    @property
    def outline(self) -> tuple[object, ...]:
        """The very tuple of before, as long as it is equal, which is what machine code compares."""
        array = getattr(self._owner, self._name, MISSING)
        outline = (type(array), *(getattr(array, name, MISSING) for name in OUTLINE))
        if outline != self._last:
            self._last = outline
        return self._last


def variable_of(function: PythonFunction, name: str) -> tuple[CellType | dict[str, object], str] | None:
    """What holds the variable from outside that a function's name stands for, and its name there.

    That is the cell of a variable of an enclosing function, or the dictionary of a module's globals; None for builtins.
    """
    plain = own(function, "__func__", function)
    free = getattr(plain, "__code__", None)
    if free is not None and name in free.co_freevars:
        return plain.__closure__[free.co_freevars.index(name)], "cell_contents"
    names = getattr(plain, "__globals__", {})
    return (names, name) if name in names else None
