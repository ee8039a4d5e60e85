"""Loop-invariant code motion: `licm(body)`.

Requires: verified IR.
Ensures: what gives the same in every iteration stands before its loop, as far out as its operands allow:

- pure ops that can't be an error in debug mode, constants too, out of `for` and `while`. They may then run where they
  did not (a loop without iterations, a branch not taken), which has no effect. Costly ones stay in a branch;
- out of `parallel_for`, only costly ops and what they are made of. A value that a loop takes from outside is recomputed
  or loaded by every thread: cheaper than a division, dearer than an addition;
- loads of places that nothing in the loop may write: if they can't be out of bounds, or if the loop is known to run and
  the load comes first in it (before anything that may stop, raise or print). Never out of `parallel_for`: every thread
  would load it all the same. That an index is in bounds follows from constants and, unless accesses stay as they are
  (`keep_accesses`: what a kernel loads, its gradient adds to), from the bounds of loops.

Local arrays and adstacks stay: their ops are cheap, and their order matters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ...analysis.facts import ModRef, constant, draws_random, extents, in_bounds, may_raise, mod_ref
from ...analysis.manager import Analyses, Preserved
from ...analysis.ranges import Ranges
from ...ir.ops import FOR, IF, LOAD, PARALLEL_FOR, TABLE, WHILE
from ...ir.scalar_ops import DIV, FLOORDIV, IPOW, MOD, RAW_DIV, RAW_MOD, SQRT
from ...ir.structure import Op, Place, Region, Value
from ..rewriting.options import DEFAULT, Options
from ..rewriting.rewrite import Rewriter

__all__ = ["licm"]

COSTLY: Final = frozenset(
    {DIV, SQRT, FLOORDIV, MOD, RAW_DIV, RAW_MOD, IPOW}
    | {row for row in TABLE.values() if row.transcendental or "function" in row.attrs}
)


def licm(body: Region, options: Options = DEFAULT, analyses: Analyses | None = None) -> Preserved:
    """Move loop-invariant ops in place."""
    effects = (analyses or Analyses()).get(mod_ref, body)
    Mover(effects, None if options.keep_accesses else Ranges()).run(body)
    return (draws_random,)


@dataclass
class Loop:
    """A loop around the op at hand.

    Attributes:
        inside: what its regions touch.
        runs: it has at least one iteration for sure, if it is reached.
        straight: every op so far in it runs in its first iteration, and lets the next op be reached.
        branches: how many `if`s of it stand around.
        parallel: a `parallel_for`, which gives nothing out before it is complete.
        before: what goes in front of it.
    """

    inside: ModRef
    runs: bool
    parallel: bool = False
    straight: bool = True
    branches: int = 0
    before: list[Op] = field(default_factory=list)

    def writes_from_elsewhere(self, place: Place) -> bool:
        """Whether other iterations may write the place meanwhile."""
        return self.parallel and self.inside.may_write(place)


class Mover(Rewriter):
    """Walks with the loops around; `level` says inside how many of them a value is defined.

    Args:
        effects: what each loop touches.
        ranges: of what indices are whatever branches are taken; None if that is not to be asked.
    """

    def __init__(self, effects: Mapping[Op, ModRef], ranges: Ranges | None) -> None:
        super().__init__()
        self.effects, self.ranges = effects, ranges
        self.loops: list[Loop] = []
        self.level: dict[Value, int] = {}

    def run(self, region: Region) -> None:
        """See `Rewriter.run`."""
        self.level.update(dict.fromkeys(region.args, len(self.loops)))
        super().run(region)

    def plain(self, op: Op) -> None:
        """See `Rewriter.plain`."""
        level = self._target(op) if self.loops else len(self.loops)
        for value in op.results:
            self.level[value] = level
        if level == len(self.loops):
            self.out.append(op)
            self._note(op)
        else:
            self.loops[level].before.append(op)

    def _note(self, op: Op) -> None:
        """Past an op that may raise or has an effect, no load moves to the front of the loop."""
        if self.loops and (op.opdef.writes or may_raise(op)):
            self.loops[-1].straight = False

    def structured(self, op: Op) -> None:
        """See `Rewriter.structured`."""
        level = len(self.loops)
        self.level.update(dict.fromkeys(op.results, level))
        if op.opdef is IF:
            self._branch(op)
            return
        loop = self._loop(op)
        self.loops.append(loop)
        for region in op.regions:
            self.run(region)
            loop.straight = False
        self.loops.pop()
        self.out.extend(take_costly(op.regions[0]) if loop.parallel else loop.before)
        self.append(op)
        if self.loops:
            self.loops[-1].straight = False

    def _branch(self, op: Op) -> None:
        if self.loops:
            self.loops[-1].branches += 1
        for region in op.regions:
            self.run(region)
        self.append(op)
        if self.loops:
            self.loops[-1].branches -= 1
            self.loops[-1].straight = False

    def _loop(self, op: Op) -> Loop:
        inside = self.effects[op]
        if self.ranges is not None and op.opdef is not WHILE:
            bounds = op.operands[:2] if op.opdef is FOR else op.operands
            for arg, lo, hi in zip(op.regions[0].args, bounds[::2], bounds[1::2], strict=False):
                self.ranges.index(arg, lo, hi)
        if op.opdef is PARALLEL_FOR:
            return Loop(inside, runs=False, parallel=True)
        return Loop(inside, runs=op.opdef is WHILE or self._has_iterations(op))

    def _has_iterations(self, op: Op) -> bool:
        lo, hi = constant(op.operands[0]), constant(op.operands[1])
        return lo is not None and hi is not None and lo < hi

    # ---- where an op goes

    def _target(self, op: Op) -> int:
        """How many loops will stand around the op."""
        here = len(self.loops)
        if op.opdef is LOAD:
            return self._load_target(op)
        if not op.opdef.pure or may_raise(op):
            return here
        least = max((self.level.get(v, 0) for v in op.operands), default=0)
        while here > least and self._lets_out(self.loops[here - 1], op):
            here -= 1
        return here

    def _lets_out(self, loop: Loop, op: Op) -> bool:
        return not loop.parallel and not (loop.branches and op.opdef in COSTLY)

    def _load_target(self, op: Op) -> int:
        here, place = len(self.loops), op.attrs["place"]
        least = max((self.level.get(v, 0) for v in op.operands), default=0)
        if here == least:
            return here
        # a load that did not run before must not race with other iterations
        safe = not self.loops[0].writes_from_elsewhere(place) and (in_bounds(op) or self._is_inside(op))
        while here > least:
            loop = self.loops[here - 1]
            first = loop.runs and loop.straight and not loop.branches
            if loop.parallel or not (safe or first) or loop.inside.may_write(place):
                break
            here -= 1
        return here

    def _is_inside(self, op: Op) -> bool:
        """Whether a load is in bounds wherever its indices are known."""
        if self.ranges is None:
            return False
        axes = enumerate(zip(op.operands, extents(op), strict=True))
        return all(self.ranges.of(index).is_inside(extent, op, axis) for axis, (index, extent) in axes)


def take_costly(body: Region) -> list[Op]:
    """Take out of a parallel body the costly ops that don't depend on the iteration, and what they are made of."""
    varying: set[Value] = set(body.args)
    invariant: set[Op] = set()
    wanted: list[Op] = []
    for op in body.ops:
        if op.opdef.pure and varying.isdisjoint(op.operands) and not may_raise(op):
            invariant.add(op)
            if op.opdef in COSTLY:
                wanted.append(op)
        else:
            varying.update(op.results)
    chosen: set[Op] = set()
    while wanted:
        op = wanted.pop()
        if op not in chosen:
            chosen.add(op)
            wanted.extend(source for v in op.operands if (source := v.op) in invariant)
    taken = [op for op in body.ops if op in chosen]
    if taken:
        body.ops = [op for op in body.ops if op not in chosen]
    return taken
