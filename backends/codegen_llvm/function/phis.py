"""Values carried round a loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adstack.ir.structure import Value

if TYPE_CHECKING:
    from .region import RegionEmitter

__all__ = ["Phis"]


class Phis:
    """Phis whose second source is written once the body is there.

    Args:
        e: what writes them; the block that it is in when they are made is the one before the loop.
        args: the values that they stand for; of what the program does not know, the LLVM type.
        start: what these are in the first round.
    """

    def __init__(self, e: RegionEmitter, args: Sequence[Value | str], start: Sequence[str]) -> None:
        self.e, self.args, self.before = e, args, e.block
        self._start = start
        self._lines: list[int] = []
        self.names: list[str] = []

    @classmethod
    def of(cls, e: RegionEmitter, args: Sequence[Value], initial: Sequence[Value]) -> Phis:
        """Phis that start with values of the program."""
        return cls(e, args, [e.at(v, e.width(a)) for v, a in zip(initial, args, strict=True)])

    def open(self, label: str) -> None:
        """Go to the loop's head, where the phis stand."""
        self.e.jump(label)
        self.enter(label)

    def enter(self, label: str) -> None:
        """Write the phis, at the start of a block to which the code before leads already."""
        e = self.e
        e.enter(label)
        for arg in self.args:
            self.names.append(e.w.let(f"phi {arg if isinstance(arg, str) else e.form(arg)}"))
            self._lines.append(len(e.w.lines) - 1)
            if isinstance(arg, Value):
                e.bind(arg, self.names[-1])

    def close(self, names: Sequence[str]) -> list[str]:
        """Give what the next round starts with, at the end of the current block; from where the phis take what."""
        pairs = zip(self._start, names, strict=True)
        sources = [f"[ {start}, %{self.before} ], [ {name}, %{self.e.block} ]" for start, name in pairs]
        for line, source in zip(self._lines, sources, strict=True):
            self.e.w.lines[line] += f" {source}"
        return sources
