"""Variables from outside of a function: where Python keeps them."""

from __future__ import annotations

from types import CellType

from .kinds import PythonFunction
from .protocol import own

__all__ = ["Names", "variable_of"]


class Names:
    """The names of a module, or of what a function has instead of one, as attributes of an object: as they are now."""

    def __init__(self, names: dict[str, object]) -> None:
        self.__dict__ = names


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
