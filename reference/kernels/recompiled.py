"""A warning where a kernel is compiled again and again, as what it reads while compiling changes each time."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from types import CellType
from typing import Final

from ..launch.attributes import Attribute
from ..launch.specialisation import Specialisation
from ..values.names import Names

__all__ = ["warn_of_changes"]

MANY: Final = 8
"""With so many specialisations that differ in nothing else it is worth a word."""


def warn_of_changes(function: Callable[..., object], specialisations: Sequence[Specialisation]) -> None:
    """Warn, once for each kernel, that it has been compiled as often as is worth a word.

    Args:
        function: the kernel's.
        specialisations: for arguments of one kind, in the order in which they were compiled.
    """
    if len(specialisations) != MANY:
        return
    last, new = specialisations[-2:]
    changed = ", ".join(dict.fromkeys(_changed(function, last.captured, new.captured)))
    code = function.__code__
    names = function.__globals__
    message = (
        f"{code.co_filename}:{code.co_firstlineno}: kernel {function.__name__} has been compiled {MANY} times, as what "
        f"it reads from outside changes between calls: {changed}\n"
        "  do: pass what changes as an argument, or keep it in a field: then it is compiled once"
    )
    registry = names.setdefault("__warningregistry__", {})
    module = names.get("__name__", code.co_filename)
    warnings.warn_explicit(message, UserWarning, code.co_filename, code.co_firstlineno, module, registry)


def _changed(function: Callable[..., object], last: Sequence[Attribute], new: Sequence[Attribute]) -> Iterator[str]:
    """The names of what is something else in the newer one."""
    before = {(_identity(one.owner()), one.name): one for one in last}
    free = dict(zip(map(id, function.__closure__ or ()), function.__code__.co_freevars, strict=True))
    for one in new:
        owner = one.owner()
        other = before.get((_identity(owner), one.name))
        if other is not None and not one.equals(other):
            yield free.get(id(owner), "a variable") if isinstance(owner, CellType) else one.name


def _identity(owner: object) -> int:
    """What tells owners apart."""
    return id(vars(owner) if isinstance(owner, Names) else owner)
