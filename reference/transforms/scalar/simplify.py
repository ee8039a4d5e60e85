"""Algebraic simplification: `simplify(body)`.

Requires: verified IR.
Ensures: everything `fold` ensures; no op matches a row of `identities`; an `if` yields only what one of its regions
computes (the rest is a `select`, or the value itself), and in its regions a `select` by its condition is decided; no
loop carries a value that never changes. Not a bit changes.
"""

from __future__ import annotations

import numpy as np

from ...analysis.facts import constant, draws_random, mod_ref
from ...analysis.manager import Analyses, Preserved
from ...ir.opdef import OpDef
from ...ir.ops import IF
from ...ir.scalar_ops import SELECT
from ...ir.structure import Constant, Op, Region, Value
from ...ir.types import DType
from ..rewriting.carried import LOOPS, Carried, carried, keep, keep_carried, keep_operands
from ..rewriting.options import DEFAULT, Options
from ..rewriting.rewrite import constant_op
from .fold import Folder, keeps_loops
from .identities import INDEX

__all__ = ["simplify"]


def simplify(body: Region, options: Options = DEFAULT, analyses: Analyses | None = None) -> Preserved:
    """Simplify in place."""
    analyses = analyses or Analyses()
    preserved: Preserved = draws_random, mod_ref
    with np.errstate(all="ignore"):
        again = True
        while again:
            # a loop's constancy can show only after its body is simplified: then the body is worth another look
            simplifier = Simplifier(keeps_loops(body, options, analyses))
            simplifier.run(body)
            analyses.invalidate(simplifier.preserved)
            preserved = preserved if simplifier.preserved else ()
            again = simplifier.again
    return preserved


def _chosen(condition: Value, number: int) -> dict[Value, tuple[Op, int]]:
    """Which operand each `select` by a condition gives: its first value, or its second one.

    The operand itself is looked up once it is needed: that of a `select` inside of the region may be simplified before.
    """
    selects = (op for op in condition.uses if op.opdef is SELECT and op.operands[0] is condition)
    return {op.result: (op, number) for op in selects}


class Simplifier(Folder):
    """Applies the rows; is the `Maker` of their outcomes.

    Attributes:
        again: a second walk would find more.
        depth: how many regions stand around the ops visited.
        level: at what depth a value was defined, if not at 0.
        chosen: which operand a `select` gives in the region at hand, whose `if` has the same condition.
    """

    def __init__(self, keep_loops: bool) -> None:
        super().__init__(keep_loops)
        self.again = False
        self.depth = 0
        self.level: dict[Value, int] = {}
        self.chosen: dict[Value, tuple[Op, int]] = {}
        self.cause: Op | None = None

    def run(self, region: Region) -> None:
        """See `Folder.run`."""
        self.depth += 1
        self.level.update(dict.fromkeys(region.args, self.depth))
        super().run(region)
        self.depth -= 1

    def append(self, op: Op) -> None:
        """See `Folder.append`."""
        super().append(op)
        for value in op.results:
            self.level[value] = self.depth

    def plain(self, op: Op) -> None:
        """See `Folder.plain`."""
        self._choose(op)
        if not op.opdef.pure or len(op.results) != 1:
            self.append(op)
            return
        result = op.result
        result.replace_all_uses_with(self.simplified(op))

    def simplified(self, op: Op) -> Value:
        """The value of a pure op that is not yet appended: an older one, or its own result after it is appended."""
        folded = self.folded(op)
        value = self._by_rule(op) if folded is op and op.operands else None
        if value is None:
            self.append(folded)
            return folded.result
        op.erase()
        return value

    def _by_rule(self, op: Op) -> Value | None:
        outer, self.cause = self.cause, op
        try:
            for rule in INDEX.get((op.opdef, op.operands[-1].dtype), ()):
                matched = rule.pattern(self, op)
                value = None if matched is None else rule.outcome(self, op, matched)
                if value is not None:
                    return value
        finally:
            self.cause = outer
        return None

    # ---- what rules call

    def make(self, row: OpDef, *operands: Value, **attrs: object) -> Value:
        """The value of a new op, simplified in turn."""
        cause = self.cause
        assert cause is not None
        (to,) = row.signature.infer(row.name, [v.type for v in operands], attrs)
        named = cause.results[0].name if len(cause.results) == 1 else ""
        return self.simplified(Op(row, operands, attrs, [Value(to, named)], [], cause.loc))

    def number(self, number: Constant, to: DType) -> Value:
        """A constant."""
        assert self.cause is not None
        op = constant_op(number, Value(to), self.cause)
        self.append(op)
        return op.result

    # ---- ops with regions

    def structured(self, op: Op) -> None:
        """See `Folder.structured`."""
        self._choose(op)
        if op.opdef in LOOPS:
            self._drop_unchanging(op)
        if op.opdef is IF and constant(op.operands[0]) is None:
            outer = self.chosen
            for number, region in enumerate(op.regions, start=1):
                self.chosen = {**outer, **_chosen(op.operands[0], number)}
                self.run(region)
            self.chosen = outer
            self._settle_if(op)
            return
        super().structured(op)
        if op.opdef in LOOPS and self.out and self.out[-1] is op:
            self.again = self.again or any(self._is_unchanging(one) for one in carried(op))

    def _choose(self, op: Op) -> None:
        """Take the operands of a `select` whose condition is known here."""
        if not self.chosen.keys().isdisjoint(op.operands):
            chosen = (self.chosen.get(value) for value in op.operands)
            each = zip(op.operands, chosen, strict=True)
            op.set_operands([value if one is None else one[0].operands[one[1]] for value, one in each])

    def _drop_unchanging(self, op: Op) -> None:
        """A carried value that every iteration passes on unchanged is the value from before the loop."""
        wanted = []
        for one in carried(op):
            wanted.append(not self._is_unchanging(one))
            for value in () if wanted[-1] else (*one.args, one.result):
                value.replace_all_uses_with(one.init)
        if not all(wanted):
            keep_carried(op, wanted)

    def _is_unchanging(self, one: Carried) -> bool:
        return all(value is arg or value is one.init for arg, value in zip(one.args, one.yields, strict=True))

    def _settle_if(self, op: Op) -> None:
        """A pair of yields from outside of both sides becomes a `select` after the `if`."""
        then, orelse = (region.terminator for region in op.regions)
        outside = [
            self._is_outside(a) and self._is_outside(b) for a, b in zip(then.operands, orelse.operands, strict=True)
        ]
        each = zip(op.results, then.operands, orelse.operands, outside, strict=True)
        moved = [(result, a, b) for result, a, b, out in each if out]
        stays = [not out for out in outside]
        keep(op.results, stays)
        for end in (then, orelse):
            keep_operands(end, stays)
        condition, gone = op.operands[0], not op.results and all(len(region.ops) == 1 for region in op.regions)
        if not gone:
            self.append(op)
        outer, self.cause = self.cause, op
        for result, a, b in moved:
            result.replace_all_uses_with(self.make(SELECT, condition, self._outer(a), self._outer(b)))
        self.cause = outer
        if gone:
            op.erase()
            self.preserved = ()

    def _is_outside(self, value: Value) -> bool:
        return self.level.get(value, 0) <= self.depth or constant(value) is not None

    def _outer(self, value: Value) -> Value:
        """A value that may be used here: a constant of a closed region is repeated."""
        number = constant(value)
        if number is None or self.level.get(value, 0) <= self.depth:
            return value
        return self.number(number, value.dtype)
