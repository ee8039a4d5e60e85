"""Phis: the values that a loop carries from iteration to iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adstack.ir.structure import Value

if TYPE_CHECKING:
    from .region import RegionEmitter

__all__ = ["Phis"]


class Phis:
    """The phis at the head of a loop; what they take from the end of the body is written when the body is there.

    Args:
        e: writes the function; its present block is the one in front of the loop.
        args: the values that they stand for; for a value that is not one of the program, its LLVM type.
        start: what these are in the first iteration.
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
        """Jump to the head of the loop, and write the phis there."""
        self.e.jump(label)
        self.enter(label)

    def enter(self, label: str) -> None:
        """Write the phis at the start of a block, to which the block before the loop jumps already."""
        e = self.e
        e.enter(label)
        for arg in self.args:
            self.names.append(e.w.let(f"phi {arg if isinstance(arg, str) else e.form(arg)}"))
            self._lines.append(len(e.w.lines) - 1)
            if isinstance(arg, Value):
                e.bind(arg, self.names[-1])

    def close(self, names: Sequence[str]) -> list[str]:
        """End the iteration in the current block: the next one starts with `names`. Gives the sources of the phis."""
        pairs = zip(self._start, names, strict=True)
        sources = [f"[ {start}, %{self.before} ], [ {name}, %{self.e.block} ]" for start, name in pairs]
        for line, source in zip(self._lines, sources, strict=True):
            self.e.w.lines[line] += f" {source}"
        return sources
