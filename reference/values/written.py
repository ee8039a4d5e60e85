"""The text of decorated functions, as it was when they were decorated: it is compiled whatever becomes of the file."""

from __future__ import annotations

import functools
import inspect
import linecache
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Final
from weakref import ref

from ..errors import AdstackSyntaxError
from ..ir.location import Loc
from .kinds import PythonFunction

__all__ = ["Written", "keep", "written"]

_KNOWN: Final[dict[int, Written]] = {}
"""What is kept, by the identity of the code: code of two texts may be equal, as annotations of variables leave none."""


@dataclass(eq=False)
class Written:
    """The text around a function.

    Attributes:
        file: its name, as the code has it.
        lines: all of them; the list is shared with `linecache` and never changed.
        first: which of them the function begins in, with its decorators, counted from 1.
        name: the name that the code was compiled under.
        code: the code, which this goes with.
    """

    file: str
    lines: list[str]
    first: int
    name: str
    code: ref[CodeType]


def keep(function: object, decorator: str) -> None:
    """Keep the text of `function`, which is being decorated.

    AdstackSyntaxError if it is a wrapper that another decorator made, whose own code would be passed over.
    """
    if not isinstance(function, FunctionType):
        return
    if "__wrapped__" in vars(function):
        code = getattr(inspect.unwrap(function), "__code__", function.__code__)
        raise AdstackSyntaxError(
            f"@{decorator} stands above a decorator that wraps {function.__name__}: the wrapper would be passed over",
            loc=Loc(code.co_filename, code.co_firstlineno, 1),
            do=f"write @{decorator} below all other decorators, next to the def",
        )
    written(function)


def written(function: PythonFunction) -> Written:
    """The text of a Python function, as it was when its code was first decorated; as it is now if it has not been."""
    code = function.__code__
    known = _KNOWN.get(id(code))
    return _read(code, function) if known is None else known


def _read(code: CodeType, function: PythonFunction) -> Written:
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    ends = functools.partial(_KNOWN.pop, id(code))  # what it is called with, the reference, is the default of `pop`
    read = Written(code.co_filename, lines, code.co_firstlineno, code.co_name, ref(code, ends))
    _KNOWN[id(code)] = read
    return read
