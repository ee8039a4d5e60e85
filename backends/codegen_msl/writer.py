"""Lines of a function's text, and names that are free in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from adstack.ir.types import DType

from .prelude import RESERVED
from .spelling import symbol, type_name

__all__ = ["Writer"]


class Writer:
    """Collects the lines of one function.

    Attributes:
        lines: so far.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._taken: set[str] = set()
        self._depth = 1
        self._count = 0

    def line(self, text: str) -> None:
        """A line, as deep as the blocks around it."""
        self.lines.append("    " * self._depth + text if text else "")

    @contextmanager
    def block(self, head: str, tail: str = "}") -> Iterator[None]:
        """Lines in braces."""
        self.line(f"{head} {{" if head else "{")
        self._depth += 1
        yield
        self._depth -= 1
        self.line(tail)

    def instead(self) -> None:
        """What follows is the other side of the `if` whose block this is."""
        self._depth -= 1
        self.line("} else {")
        self._depth += 1

    def name(self, wish: str = "") -> str:
        """A name that no other value has, like the one wished for."""
        base = symbol(wish) if wish else ""
        while not base or base in self._taken or base in RESERVED:
            self._count += 1
            base = f"{symbol(wish)}_{self._count}" if wish else f"v{self._count}"
        self._taken.add(base)
        return base

    def let(self, dtype: DType, text: str, wish: str = "") -> str:
        """Name a value."""
        return self.typed(type_name(dtype), text, wish)

    def typed(self, kind: str, text: str, wish: str = "") -> str:
        """Name a value of a type that is spelled out, which may end with `const` itself, as that of a pointer does."""
        name = self.name(wish)
        self.line(f"{kind if kind.endswith('const') else f'const {kind}'} {name} = {text};")
        return name

    def variable(self, kind: str, text: str = "", wish: str = "") -> str:
        """A variable, with what it is at first."""
        name = self.name(wish)
        self.line(f"{kind} {name} = {text};" if text else f"{kind} {name};")
        return name
