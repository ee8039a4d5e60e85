"""Constant folding: `fold(body)`.

Requires: verified IR.
Ensures: pure ops of constants are constants, computed by the meaning of their row, so not a bit changes; an `if` of a
constant is the region it takes; a `for` or `parallel_for` over a constant empty range is gone, a `for` over a range of
one is its body; a `while` that is false at once is its condition region.

Transcendentals, whose meaning is the math library's function, fold like the rest, and so do calls with one result.

Left alone: ops that are an error in debug mode for these operands, bitcasts to a NaN (its payload would be lost), and
parallel loops where random numbers are drawn (a loop's number is part of the stream's name).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...analysis.facts import constant, draws_random, mod_ref
from ...analysis.manager import Analyses, Preserved
from ...ir.functions import evaluate
from ...ir.opdef import OpDef
from ...ir.ops import CALL, FOR, IF, PARALLEL_FOR, SHAPE, WHILE
from ...ir.scalar_ops import BITCAST
from ...ir.structure import Constant, Op, Region, Value
from ..rewriting.options import DEFAULT, Options
from ..rewriting.rewrite import Rewriter, constant_op

__all__ = ["Folder", "fold", "keeps_loops"]


def fold(body: Region, options: Options = DEFAULT, analyses: Analyses | None = None) -> Preserved:
    """Fold constants in place."""
    with np.errstate(all="ignore"):
        folder = Folder(keeps_loops(body, options, analyses or Analyses()))
        folder.run(body)
        return folder.preserved


def keeps_loops(body: Region, options: Options, analyses: Analyses) -> bool:
    """Whether parallel loops stay, whatever they do: somebody asks for that, or their numbers name random streams."""
    return options.keep_loops or analyses.get(draws_random, body)


class Folder(Rewriter):
    """Replaces what it can compute.

    Attributes:
        keep_loops: parallel loops without iterations stay.
        preserved: the analyses whose results stay what they are, while no op with regions has gone.
    """

    def __init__(self, keep_loops: bool) -> None:
        super().__init__()
        self.keep_loops = keep_loops
        self.preserved: Preserved = draws_random, mod_ref

    def plain(self, op: Op) -> None:
        """See `Rewriter.plain`."""
        self.append(self.folded(op))

    def folded(self, op: Op) -> Op:
        """`op`, or the constant that it gives, which takes its place."""
        number = self.evaluate(op)
        if number is None:
            return op
        op.erase()
        return constant_op(number, op.result, op)

    def structured(self, op: Op) -> None:
        """See `Rewriter.structured`."""
        rule = CONTROL.get(op.opdef)
        if rule is None or not rule(self, op):
            super().structured(op)
        elif not self.out or self.out[-1] is not op:
            self.preserved = ()

    def evaluate(self, op: Op) -> Constant | None:
        """The number that a pure op of constants gives; None if it can't be known, or should not be."""
        if not op.opdef.pure or len(op.results) != 1:
            return None
        if op.opdef.meaning is None and op.opdef is not CALL:
            return self._extent(op) if op.opdef is SHAPE else None
        numbers = []
        for value in op.operands:
            number = constant(value)
            if number is None:
                return None
            numbers.append(number)
        return compute(op, numbers)

    def _extent(self, op: Op) -> Constant | None:
        extent = op.attrs["place"].shape[op.attrs["axis"]]
        number: Constant | None = None if extent is None else op.attrs["to"](extent)
        return number

    def empty(self, lo: Value, hi: Value) -> bool:
        """Whether no index is in [lo, hi)."""
        first, end = constant(lo), constant(hi)
        return lo is hi or (first is not None and end is not None and first >= end)

    def single(self, lo: Value, hi: Value) -> bool:
        """Whether exactly one index is in [lo, hi)."""
        first, end = constant(lo), constant(hi)
        return first is not None and end is not None and first + 1 == end


def compute(op: Op, numbers: list[Constant]) -> Constant | None:
    """The meaning of a scalar op for these operands; None where it traps or makes a NaN whose payload may matter."""
    arrays = [np.array([n], v.dtype.numpy) for n, v in zip(numbers, op.operands, strict=True)]
    trap, meaning = op.opdef.trap, op.opdef.meaning
    if op.opdef is CALL:
        returned: Constant = evaluate(op.attrs["function"], arrays)[0].item()
        return returned
    assert meaning is not None
    if trap is not None and np.any(trap.when(*arrays)):
        return None
    number: Constant = meaning(op.result.dtype, *arrays).item()
    return None if number != number and op.opdef is BITCAST else number


def _if(folder: Folder, op: Op) -> bool:
    condition = constant(op.operands[0])
    if condition is None:
        return False
    folder.inline(op, op.regions[0 if condition else 1], ())
    return True


def _for(folder: Folder, op: Op) -> bool:
    lo, hi, *carried = op.operands
    if folder.empty(lo, hi):
        folder.replace(op, carried)
        return True
    if folder.single(lo, hi):
        folder.inline(op, op.regions[0], (lo, *carried))
        return True
    return False


def _while(folder: Folder, op: Op) -> bool:
    condition, body = op.regions
    folder.run(condition)
    if constant(condition.terminator.operands[0]) is False:
        folder.inline(op, condition, op.operands, results_from=1)
    else:
        folder.run(body)
        folder.append(op)
    return True


def _parallel_for(folder: Folder, op: Op) -> bool:
    bounds = zip(op.operands[::2], op.operands[1::2], strict=True)
    gone = not folder.keep_loops and any(folder.empty(lo, hi) for lo, hi in bounds)
    if gone:
        op.erase()
    return gone


CONTROL: dict[OpDef, Callable[[Folder, Op], bool]] = {
    IF: _if,
    FOR: _for,
    WHILE: _while,
    PARALLEL_FOR: _parallel_for,
}
"""How structured ops of constants go; each says whether it did."""
