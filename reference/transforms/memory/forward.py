"""Memory inside a thread: `forward(body)`.

Requires: verified IR; best after `simplify` and `cse`, which make equal indices one value.
Ensures: a load of an element that this thread has stored or loaded before, with nothing in between that may have
changed it, is gone: its value is known. A store that is overwritten before anything may look at it is gone, and so is
one of the value that stands there already (not with `options.debug`: it may be a race worth reporting).

Other iterations of a parallel loop can't come in between: they would race. Serial code and parallel loops know nothing
of each other: a value handed from task to task costs as much as a load. Branches and loops forget what they may have
changed. With `options.keep_accesses`, of the accesses to places only loads go, after loads of the same element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ...analysis.facts import Memory, ModRef, draws_random, memory_of, mod_ref
from ...analysis.manager import Analyses, Preserved
from ...ir.opdef import OpDef
from ...ir.ops import ARRAY_LOAD, ARRAY_STORE, ATOMIC, FOR, LOAD, PARALLEL_FOR, STORE, WHILE
from ...ir.structure import Op, Place, Region, Value
from ..rewriting.options import DEFAULT, Options
from ..rewriting.rewrite import Rewriter
from .memo import Element, Memo, element

__all__ = ["forward"]

LOOPS_LIKE: Final = frozenset({FOR, WHILE})

WALKS: Final = 4
"""The most walks: without its dead stores a loop changes less memory, and the next walk knows more in it."""


def forward(body: Region, options: Options = DEFAULT, analyses: Analyses | None = None) -> Preserved:
    """Forward and drop accesses in place."""
    analyses = analyses or Analyses()
    preserved: Preserved = ()
    for _ in range(WALKS):
        forwarder = Forwarder(analyses.get(mod_ref, body), options)
        forwarder.run(body)
        remove(body, forwarder.dead)
        preserved = (draws_random,) if forwarder.changed else (draws_random, mod_ref)
        if not forwarder.again:
            break
        analyses.invalidate(preserved)
    return preserved


class Forwarder(Rewriter):
    """Walks with what is known.

    Attributes:
        values: what stands in an element.
        unseen: the last store to an element, while nothing has looked at it.
        dead: stores to remove.
        read: what the loads that stay, in the region at hand and inside it, look at.
        again: a store inside a loop or branch has gone.
        changed: an access has gone.
    """

    def __init__(self, effects: Mapping[Op, ModRef], options: Options) -> None:
        super().__init__()
        self.options = options
        self.effects = effects
        self.values: Memo[Value] = Memo()
        self.unseen: Memo[Op] = Memo()
        self.dead: set[Op] = set()
        self.read: set[Memory] = set()
        self.depth = 0
        self.again = False
        self.changed = False

    def plain(self, op: Op) -> None:
        """See `Rewriter.plain`."""
        access = memory_of(op)
        if access is None:
            self.append(op)
            return
        memory, start = access
        rank = memory.rank if isinstance(memory, Place) else 1
        at = element(op.operands[start : start + rank])
        handlers = KEPT if self.options.keep_accesses and isinstance(memory, Place) else ACCESS
        handlers[op.opdef](self, op, memory, at)

    def load(self, op: Op, memory: Memory, at: Element) -> None:
        """A load: replaced by the value that is known; else its result is the known value from here on."""
        value = self.values.get(memory, at)
        if value is not None:
            self.replace(op, (value,))
            self.changed = True
            return
        self.read.add(memory)
        self.unseen.drop(memory, at)
        self.values.put(memory, at, op.result)
        self.append(op)

    def store(self, op: Op, memory: Memory, at: Element) -> None:
        """A store: its value is known from here on, and an unseen store to the same element is dead."""
        value = op.operands[-1]
        if self.values.get(memory, at) is value and not self.options.debug:
            self.again = self.again or self.depth > 0
            self.changed = True
            op.erase()
            return
        before = self.unseen.get(memory, at)
        if before is not None:
            self.dead.add(before)
            self.changed = True
            self.again = self.again or self.depth > 0
        self.unseen.put(memory, at, op)
        self.values.drop(memory, at)
        self.values.put(memory, at, value)
        self.append(op)

    def atomic(self, op: Op, memory: Memory, at: Element) -> None:
        """An atomic: it reads the element, and the value that it leaves is not known."""
        self.read.add(memory)
        self.unseen.drop(memory, at)
        self.values.drop(memory, at)
        self.append(op)

    def kept(self, op: Op, memory: Memory, at: Element) -> None:
        """An access that stays; the value that it leaves is not known."""
        self.values.drop(memory, at)
        self.append(op)

    # ---- control

    def structured(self, op: Op) -> None:
        """See `Rewriter.structured`."""
        written = self.effects[op].written
        if op.opdef is PARALLEL_FOR:
            self.values.forget()
            self.unseen.forget()
        elif op.opdef in LOOPS_LIKE:
            self._changed(written)
        outer, self.read = self.read, set()
        self.depth += 1
        for region in op.regions:
            self._inside(region)
        self.depth -= 1
        self._changed(written)
        for memory in self.read:
            self.unseen.drop_all(memory)
        self.read |= outer
        self.append(op)

    def _inside(self, region: Region) -> None:
        with self.values.scope(), self.unseen.scope():
            self.unseen.forget()
            self.run(region)

    def _changed(self, written: set[Memory]) -> None:
        for memory in written:
            self.values.drop_all(memory)


ACCESS: Final[dict[OpDef, Callable[[Forwarder, Op, Memory, Element], None]]] = {
    LOAD: Forwarder.load,
    STORE: Forwarder.store,
    ATOMIC: Forwarder.atomic,
    ARRAY_LOAD: Forwarder.load,
    ARRAY_STORE: Forwarder.store,
}
KEPT: Final[dict[OpDef, Callable[[Forwarder, Op, Memory, Element], None]]] = {
    LOAD: Forwarder.load,
    STORE: Forwarder.kept,
    ATOMIC: Forwarder.kept,
}


def remove(region: Region, dead: set[Op]) -> None:
    """Drop these ops, wherever they stand."""
    if not dead:
        return
    region.keep(lambda op: op not in dead)
    for op in region.ops:
        for inner in op.regions:
            remove(inner, dead)
