"""Scalar replacement of aggregates: `replace_arrays(body)` turns local arrays into values.

Requires: verified IR; best after `simplify`, which finds the numbers of indices.
Ensures: a local array whose every index is a number in bounds is gone: its elements are SSA values, yielded by `if`s
and carried by loops that change them. An array that a parallel loop writes from outside stays.
"""

from __future__ import annotations

from ...analysis.facts import constant, draws_random, in_bounds, mod_ref
from ...analysis.manager import Analyses, Preserved
from ...ir.ops import ARRAY_ALLOC, ARRAY_LOAD, ARRAY_STORE, PARALLEL_FOR
from ...ir.structure import Op, Region, Value
from ..rewriting.carried import LOOPS, add_carried
from ..rewriting.options import DEFAULT, Options
from ..rewriting.rewrite import Rewriter, constant_op

__all__ = ["replace_arrays"]


Cell = tuple[Value, int]
"""An element: the handle of its array, and its index."""


def replace_arrays(body: Region, options: Options = DEFAULT, analyses: Analyses | None = None) -> Preserved:
    """Replace the arrays of a body by values, in place."""
    survey = Survey(body)
    if not survey.arrays:
        return draws_random, mod_ref
    Replacer(survey).run(body)
    return (draws_random,)


class Survey:
    """Which arrays can be replaced by values, and which of their cells the regions of each op store to.

    Attributes:
        arrays: handles of the arrays to replace.
        stored: for an op with regions, the cells stored to inside it, in the order of their first store.
    """

    def __init__(self, body: Region) -> None:
        self.arrays: set[Value] = set()
        self.stored: dict[Op, dict[Cell, None]] = {}
        self._parallel: dict[Value, bool] = {}
        self._visit(body, {}, parallel=False)

    def _visit(self, region: Region, stored: dict[Cell, None], parallel: bool) -> None:
        for op in region.ops:
            if op.opdef is ARRAY_ALLOC:
                self.arrays.add(op.result)
                self._parallel[op.result] = parallel
            elif op.opdef in (ARRAY_LOAD, ARRAY_STORE):
                self._access(op, stored, parallel)
            elif op.regions:
                inside: dict[Cell, None] = {}
                self.stored[op] = inside
                for inner in op.regions:
                    self._visit(inner, inside, parallel or op.opdef is PARALLEL_FOR)
                stored.update(inside)

    def _access(self, op: Op, stored: dict[Cell, None], parallel: bool) -> None:
        handle, number = op.operands[0], constant(op.operands[1])
        foreign = parallel and not self._parallel.get(handle, True)
        if number is None or not in_bounds(op) or (op.opdef is ARRAY_STORE and foreign):
            self.arrays.discard(handle)
        elif op.opdef is ARRAY_STORE:
            stored[handle, int(number)] = None


class Replacer(Rewriter):
    """Walks with the value that each cell has now."""

    def __init__(self, survey: Survey) -> None:
        super().__init__()
        self.survey = survey
        self.cells: dict[Cell, Value] = {}
        self.zeros: dict[Value, Op] = {}

    def plain(self, op: Op) -> None:
        """See `Rewriter.plain`."""
        if op.opdef is ARRAY_ALLOC and op.result in self.survey.arrays:
            self._alloc(op)
        elif op.opdef in (ARRAY_LOAD, ARRAY_STORE) and op.operands[0] in self.survey.arrays:
            number = constant(op.operands[1])
            assert number is not None
            cell = op.operands[0], int(number)
            if op.opdef is ARRAY_STORE:
                self.cells[cell] = op.operands[2]
                op.erase()
            else:
                self.replace(op, (self.now_in(cell),))
        else:
            self.append(op)

    def _alloc(self, op: Op) -> None:
        """All cells are zero from here on."""
        zero = constant_op(op.attrs["dtype"](0), Value(op.attrs["dtype"]), op)
        self.zeros[op.result] = zero
        self.append(zero)
        op.erase()

    def now_in(self, cell: Cell) -> Value:
        """The value of a cell."""
        value = self.cells.get(cell)
        return self.zeros[cell[0]].result if value is None else value

    def structured(self, op: Op) -> None:
        """See `Rewriter.structured`."""
        changed = [cell for cell in self.survey.stored[op] if cell[0] in self.zeros]
        results = [Value(self.zeros[handle].result.type) for handle, _ in changed]
        if op.opdef in LOOPS:
            self._loop(op, changed, results)
        else:
            self._branches(op, changed)
            op.define(results)
        self.append(op)
        self.cells.update(zip(changed, results, strict=True))

    def _branches(self, op: Op, changed: list[Cell]) -> None:
        """Each region starts from the values before, and yields those after it."""
        before = {cell: self.now_in(cell) for cell in changed}
        for region in op.regions:
            self.cells.update(before)
            self._region(region, changed)

    def _loop(self, op: Op, changed: list[Cell], results: list[Value]) -> None:
        """Each region takes the values as arguments, and yields those after it."""
        taken = [[Value(result.type) for _ in op.regions] for result in results]
        for cell, args, result in zip(changed, taken, results, strict=True):
            add_carried(op, self.now_in(cell), args, result)
        for position, region in enumerate(op.regions):
            self.cells.update((cell, args[position]) for cell, args in zip(changed, taken, strict=True))
            self._region(region, changed)

    def _region(self, region: Region, changed: list[Cell]) -> None:
        self.run(region)
        region.terminator.append_operands(self.now_in(cell) for cell in changed)
