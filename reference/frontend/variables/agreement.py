"""Agreement: whether all threads of a block come to where they wait for each other.

Conservative: a value agrees if it is computed from constants, arguments, the number of the block, indices of loops on
whose bounds the threads agree, and elements that the loop does not write, at indices on which they agree.
"""

from __future__ import annotations

from ...errors import AdstackSyntaxError
from ...ir.ops import FOR, IF, LOAD, PLACE_WRITES, SHAPE, WHILE
from ...ir.structure import Op, Region, Value
from . import cells
from .blocks import WAIT, Block
from .cells import Cell

__all__ = ["check_agreement"]


def check_agreement(block: Block, body: Region) -> None:
    """Raise AdstackSyntaxError for a wait to which not all threads may come; `body` is what a thread does."""
    agreement = _Agreement(block, body)
    while agreement.grows(body):
        pass
    agreement.is_final = True
    agreement.grows(body)


class _Agreement:
    """Which values and cells may differ from thread to thread, as far as that is seen."""

    def __init__(self, block: Block, body: Region) -> None:
        self.values: set[Value] = {block.thread}
        self.cells = _written_by_others(body)
        self.written = {op.attrs["place"].name for op in body.walk() if op.opdef in PLACE_WRITES}
        self.is_final = False

    def grows(self, body: Region) -> bool:
        """Go through the body once; whether more may differ than before."""
        before = len(self.values) + len(self.cells)
        self._region(body, None)
        return len(self.values) + len(self.cells) > before

    def _region(self, region: Region, branch: Op | None) -> None:
        """`branch` is what some threads may leave out, and what stands around the region."""
        for op in region.ops:
            if op.regions:
                self._structured(op, branch)
            elif op.opdef is WAIT and branch is not None and self.is_final:
                raise _parted(op, branch)
            elif "cell" in op.attrs:
                self._cell(op, op.attrs["cell"], branch)
            elif self._differs(op):
                self.values.update(op.results)

    def _structured(self, op: Op, branch: Op | None) -> None:
        deciding = op.operands
        if op.opdef is WHILE:
            deciding = op.regions[0].terminator.operands[:1]
        parts = any(value in self.values for value in deciding)
        inside = op if parts and branch is None else branch
        for region in op.regions:
            if op.opdef is not IF and parts:
                self.values.update(region.args)
            self._region(region, inside)
            if op.opdef is not FOR and op.opdef is not WHILE:
                ends = zip(op.results, region.terminator.operands, strict=False)
                self.values.update(result for result, end in ends if parts or end in self.values)

    def _cell(self, op: Op, cell: Cell, branch: Op | None) -> None:
        differs = any(value in self.values for value in op.operands)
        if op.opdef is not cells.READ and (differs or branch is not None):
            self.cells.add(cell)
        if differs or cell in self.cells:
            self.values.update(op.results)

    def _differs(self, op: Op) -> bool:
        if op.opdef is SHAPE:
            return False
        if not op.opdef.pure and (op.opdef is not LOAD or op.attrs["place"].name in self.written):
            return True
        return any(value in self.values for value in op.operands)


def _written_by_others(body: Region) -> set[Cell]:
    """The cells from outside of a thread's body that it changes: arrays that the block shares, locals of the kernel."""
    uses = [(op.opdef, op.attrs["cell"]) for op in body.walk() if "cell" in op.attrs]
    own = {cell for row, cell in uses if row is cells.ALLOC}
    return {cell for row, cell in uses if row is not cells.READ and cell not in own}


def _parted(op: Op, branch: Op) -> AdstackSyntaxError:
    return AdstackSyntaxError(
        f"threads of a block may part before {op.attrs['what']}, at which they wait for each other",
        loc=op.loc,
        note=f"the condition or the bounds at {branch.loc} may differ from thread to thread",
        do="write it where every thread of the block comes: outside of that branch or loop, and before any continue",
    )
