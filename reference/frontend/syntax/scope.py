"""Names: one scope per block, then the function's closure, its module and Python's builtins."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CellType

from ...ir.location import Loc
from ...ir.structure import Region
from ...values.kinds import KernelObject, PythonFunction

__all__ = ["Binding", "Scopes", "outer_names"]


@dataclass
class Binding:
    """What a name stands for.

    Attributes:
        value: a reference (mutable local) or any object.
        kind: "local", "loop" (a loop variable), "argument" (of a kernel) or "static" (a compile-time object).
        loc: where it was bound.
        region: the region of IR that was written then.
    """

    value: KernelObject
    kind: str
    loc: Loc
    region: Region | None = None


class Scopes:
    """The scopes of one function, innermost last."""

    def __init__(self, outer: dict[str, KernelObject]) -> None:
        self.outer = outer
        self.stack: list[dict[str, Binding]] = [{}]
        self.ended: dict[str, tuple[Loc, Loc]] = {}
        """Names of scopes that have ended: where each was bound, and in which block."""

    @contextmanager
    def block(self, loc: Loc) -> Iterator[None]:
        """A scope for the statements of a block that begins at `loc`."""
        self.stack.append({})
        try:
            yield
        finally:
            for name, binding in self.stack.pop().items():
                self.ended[name] = (binding.loc, loc)

    def find(self, name: str) -> Binding | None:
        """The innermost binding of a local name."""
        for scope in reversed(self.stack):
            if name in scope:
                return scope[name]
        return None

    def locals(self) -> set[str]:
        """The names of mutable locals."""
        return {name for scope in self.stack for name, binding in scope.items() if binding.kind == "local"}

    def bind(self, name: str, value: object, kind: str, loc: Loc, region: Region | None = None) -> None:
        """Bind a name in the innermost scope."""
        self.stack[-1][name] = Binding(value, kind, loc, region)

    @property
    def depth(self) -> int:
        """How many scopes are open."""
        return len(self.stack)

    @contextmanager
    def outside(self, depth: int) -> Iterator[None]:
        """Leave all but the outermost `depth` scopes for a while."""
        inner, self.stack = self.stack[depth:], self.stack[:depth]
        try:
            yield
        finally:
            self.stack += inner


def outer_names(function: PythonFunction) -> dict[str, KernelObject]:
    """Everything a function sees from outside: builtins, its module's globals, its closure as it is now."""
    names = dict(vars(builtins))
    names.update(getattr(function, "__globals__", {}))
    code = getattr(function, "__code__", None)
    closure = zip(code.co_freevars if code else (), getattr(function, "__closure__", None) or (), strict=False)
    names.update({name: cell.cell_contents for name, cell in closure if not _is_empty(cell)})
    return names


def _is_empty(cell: object) -> bool:
    """Whether a variable of an enclosing function has no value yet."""
    return bool(cell == CellType())
