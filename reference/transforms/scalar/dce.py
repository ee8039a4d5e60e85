"""Dead code: `dce(body)`.

Requires: verified IR.
Ensures: every op left has an effect, or gives something that such an op needs. A carried value that only feeds itself
is gone; so are results and yields nobody uses, arrays nobody reads, loops and branches without content. A `while`
stays, because it may not end; so do random draws, because they move the stream, and parallel loops where anything is
drawn, because a loop's number is part of the stream's name. With `options.debug`, ops that may raise stay as well;
without it, asserts go.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...analysis.facts import draws_random, may_raise
from ...analysis.manager import Analyses, Preserved
from ...ir.ops import ARRAY_LOAD, ARRAY_STORE, ASSERT, IF, PARALLEL_FOR, WHILE
from ...ir.structure import Op, Region, Value
from ..rewriting.carried import LOOPS, Carried, carried, keep, keep_carried, keep_operands
from ..rewriting.options import DEFAULT, Options
from .fold import keeps_loops

__all__ = ["Liveness", "dce"]


def dce(body: Region, options: Options = DEFAULT, analyses: Analyses | None = None) -> Preserved:
    """Remove dead code in place."""
    liveness = Liveness(body, options, analyses or Analyses())
    liveness.close()
    sweep(body, liveness)
    return (draws_random,)


class Liveness:
    """What is needed: found by following needs backwards from effects.

    Args:
        roots: the ops that are needed for what they do; all that have effects unless they are named.

    Attributes:
        ops: live ops.
        values: needed values. A carried value is needed as a whole, in all its places, or not at all.
    """

    def __init__(self, body: Region, options: Options, analyses: Analyses, roots: Iterable[Op] | None = None) -> None:
        self.ops: set[Op] = set()
        self.values: set[Value] = set()
        self.debug = options.debug
        self.keep_loops = keeps_loops(body, options, analyses)
        self._around: dict[Op, Op] = {}
        self._carried: dict[Value, Carried] = {}
        self._sides: dict[Value, tuple[Value, Value]] = {}
        self._read: set[Value] = set()
        self._pending: list[Value] = []
        self._roots: list[Op] = []
        self._collect(body, None)
        if roots is not None:
            self._roots = list(roots)

    def _collect(self, region: Region, around: Op | None) -> None:
        for op in region.ops:
            if around is not None:
                self._around[op] = around
            if op.regions:
                self._note_structure(op)
                for inner in op.regions:
                    self._collect(inner, op)
            if self._is_root(op, around):
                self._roots.append(op)

    def _note_structure(self, op: Op) -> None:
        if op.opdef in LOOPS:
            for one in carried(op):
                for value in (*one.args, one.result):
                    self._carried[value] = one
        elif op.opdef is IF:
            sides = zip(*(region.terminator.operands for region in op.regions), strict=True)
            self._sides.update(zip(op.results, sides, strict=True))

    def _is_root(self, op: Op, around: Op | None) -> bool:
        if op.opdef is ARRAY_STORE:
            return self.debug and may_raise(op)
        if op.opdef is ASSERT:
            return self.debug
        if op.opdef.writes or op.opdef is WHILE or (op.opdef.terminator and around is None):
            return True
        if op.opdef is PARALLEL_FOR:
            return self.keep_loops
        return self.debug and not op.regions and may_raise(op)

    def need_op(self, op: Op) -> None:
        """The op runs: so does all around it, and its operands are needed."""
        inner: Op | None = op
        while inner is not None and inner not in self.ops:
            self.ops.add(inner)
            self._need_operands(inner)
            inner = self._around.get(inner)

    def _need_operands(self, op: Op) -> None:
        layout = LOOPS.get(op.opdef)
        self.need(op.operands if layout is None else op.operands[: layout.operand])
        if op.opdef is WHILE:
            self.need(op.regions[0].terminator.operands[:1])
        if op.opdef is ARRAY_LOAD:
            self._need_stores(op.operands[0])

    def _need_stores(self, handle: Value) -> None:
        if handle not in self._read:
            self._read.add(handle)
            for user in handle.uses:
                if user.opdef is ARRAY_STORE:
                    self.need_op(user)

    def need(self, values: Iterable[Value]) -> None:
        """Something live uses these."""
        for value in values:
            if value not in self.values:
                self.values.add(value)
                self._pending.append(value)

    def close(self) -> None:
        """Follow every need to its end."""
        for op in self._roots:
            self.need_op(op)
        while self._pending:
            value = self._pending.pop()
            one = self._carried.get(value)
            if one is not None:
                self.need((one.init, *one.args, *one.yields, one.result))
            self.need(self._sides.get(value, ()))
            source = value.owner
            if isinstance(source, Op):
                self.need_op(source)


def sweep(region: Region, liveness: Liveness) -> None:
    """Keep what is live, in the region and all inside it."""
    region.keep(lambda op: op in liveness.ops or op.opdef.terminator)
    for op in region.ops:
        if op.regions:
            _prune(op, [value in liveness.values for value in op.results])
            for inner in op.regions:
                sweep(inner, liveness)


def _prune(op: Op, wanted: list[bool]) -> None:
    if all(wanted):
        return
    if op.opdef in LOOPS:
        keep_carried(op, wanted)
        return
    keep(op.results, wanted)
    for region in op.regions:
        keep_operands(region.terminator, wanted)
