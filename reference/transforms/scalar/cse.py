"""Common subexpressions: `cse(body)`.

Requires: verified IR.
Ensures: of two pure ops of the same row, operands and attributes, one of which is visible where the other stands, the
second is gone. Constants are the same if their type and all their bits are: -0.0 is not 0.0. Memory is `forward`'s job.
An op that may be an error in debug mode may go: its twin raised before it.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable

from ...analysis.facts import draws_random, mod_ref
from ...analysis.manager import Analyses, Preserved
from ...ir.structure import Op, Region, Value
from ..rewriting.options import DEFAULT, Options
from ..rewriting.rewrite import CONST, Rewriter

__all__ = ["cse"]


def cse(body: Region, options: Options = DEFAULT, analyses: Analyses | None = None) -> Preserved:
    """Merge equal pure ops in place."""
    Merger().run(body)
    return draws_random, mod_ref


class Merger(Rewriter):
    """Keeps the pure ops that are visible, by what they compute."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[Hashable, list[Value]] = {}
        self.entered: list[Hashable] = []

    def run(self, region: Region) -> None:
        """See `Rewriter.run`."""
        outer, self.entered = self.entered, []
        super().run(region)
        for key in self.entered:
            del self.known[key]
        self.entered = outer

    def plain(self, op: Op) -> None:
        """See `Rewriter.plain`."""
        if not op.opdef.pure:
            self.append(op)
            return
        what = key(op)
        twin = self.known.get(what)
        if twin is not None:
            self.replace(op, twin)
            return
        self.known[what] = op.results
        self.entered.append(what)
        self.append(op)


def key(op: Op) -> Hashable:
    """Equal for two pure ops exactly if they compute the same."""
    if op.opdef is CONST:
        number = op.attrs["value"]
        return op.attrs["to"], struct.pack("d", number) if isinstance(number, float) else number
    operands = op.operands
    if op.opdef.commutative and id(operands[0]) > id(operands[1]):
        operands = operands[1], operands[0], *operands[2:]
    return op.opdef, *operands, *op.attrs.values()
