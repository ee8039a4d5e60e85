"""What a translation knows while it goes: names, arrays, functions; and the lines that come out."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ...case import Data
from .kinds import ABSENT, Kind, kind_of_value
from .memory import Memory

__all__ = ["ARRAYS", "PASSED", "Host", "Index", "Lines", "Program", "Scope", "Value", "assigned"]

ARRAYS: Final = "@ARRAYS@"
"""Stands for the parameters of a function that are arrays, until all are known."""
PASSED: Final = "@PASSED@"
"""Stands for these arguments of a call."""


@dataclass(frozen=True)
class Value:
    """A number in a kernel.

    Attributes:
        code: the expression.
        kind: its type.
        literal: the number, if it is one that takes the type of what it meets.
    """

    code: str
    kind: Kind
    literal: float | None = None

    def to(self, kind: Kind) -> str:
        """The expression in a type."""
        if self.literal is not None:
            number = float(self.literal) if kind.is_float else int(self.literal)
            return f"{kind.constructor}({number!r})"
        return self.code if self.kind == kind else f"{kind.constructor}({self.code})"


@dataclass(frozen=True)
class Host:
    """Something of the host's: a field, a function, a number, a tuple."""

    object: Data

    def number(self) -> Value:
        """As a number of the kernel. MissingError if it is none."""
        kind = kind_of_value(self.object)
        if kind.name == "u1":
            return Value(str(bool(self.object)), kind)
        return Value("", kind, self.object)


@dataclass(frozen=True)
class Index:
    """Several numbers that make an index."""

    parts: tuple[Value, ...]


class Lines:
    """Source that is being written."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1

    def add(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)


@dataclass
class Program:
    """All kernels and functions that a call takes.

    Attributes:
        arrays: what they use, by the names of their parameters.
        functions: the source of each.
        known: by what they are made of, the name of a function and the type that it returns.
    """

    arrays: dict[str, Memory] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    known: dict[tuple[Data, ...], tuple[str, Kind | None]] = field(default_factory=dict)

    def name_of(self, memory: Memory) -> str:
        """The parameter that an array is."""
        for name, one in self.arrays.items():
            if one is memory:
                return name
        name = f"array_{len(self.arrays)}"
        self.arrays[name] = memory
        return name

    def source(self) -> str:
        """The module."""
        typed = ", ".join(
            f"{name}: wp.array(dtype={memory.dtype.constructor}, ndim={len(memory.shape) or 1})"
            for name, memory in self.arrays.items()
        )
        return "\n\n".join(self.functions).replace(ARRAYS, typed).replace(PASSED, ", ".join(self.arrays))


@dataclass
class Scope:
    """One function or task.

    Attributes:
        program: what it belongs to.
        host: the names of the host's that it sees, and those that are known while it is translated.
        lines: its source.
        locals: its variables, in the blocks that are open.
        used: the names that variables have had in the source.
        indices: its variables that are indices.
        returns: the type that it returns, once that is known.
        returned: the types of what it returns, one after the other.
        fresh: how many names were made.
    """

    program: Program
    host: dict[str, Data]
    lines: Lines = field(default_factory=Lines)
    locals: dict[str, Value] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    indices: dict[str, Index] = field(default_factory=dict)
    returns: Kind | None = None
    returned: list[Kind] = field(default_factory=list)
    fresh: int = 0

    def new(self, stem: str) -> str:
        """A name that no program has."""
        self.fresh += 1
        return f"{stem}_{self.fresh}_"

    def declare(self, name: str, kind: Kind) -> Value:
        """A new variable: one of the same name in a block that has ended may have had another type."""
        code = self.new(name) if name in self.used else name
        self.used.add(name)
        self.host.pop(name, None)
        self.locals[name] = Value(code, kind)
        return self.locals[name]

    def known(self, node: ast.expr) -> Data:
        """What an expression is on the host. MissingError if it depends on what a kernel computes."""
        try:
            return eval(compile(ast.Expression(node), "<static>", "eval"), dict(self.host))
        except NameError as error:
            raise ABSENT(f"what is static depends on the kernel: {error}") from error


def assigned(nodes: Sequence[ast.stmt]) -> Mapping[str, None]:
    """The names that statements give values to, in order."""
    found = (name for node in nodes for name in ast.walk(node))
    return {name.id: None for name in found if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
