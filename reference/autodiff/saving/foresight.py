"""Which branches inside loops are counted: how often they are taken is known without running what the loops compute.

What a branch saves has a slot for each iteration that takes it, instead of one for each iteration, if a formula or a
pass over integers tells how many these are, or if the pass that counts iterations anyway computes the condition, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from ...analysis.loop_nests import contains_loop
from ...ir.ops import (
    ARRAY_ALLOC,
    ARRAY_LOAD,
    ARRAY_STORE,
    ATOMIC,
    FOR,
    IF,
    LOAD,
    PARALLEL_FOR,
    PLACE_WRITES,
    RANDOM,
    SERIAL_LOOPS,
    WHILE,
)
from ...ir.scalar_ops import AND, CONST, EQ, MOD, NE, NOT
from ...ir.structure import Op, Region, Value
from ...ir.types import DType

__all__ = ["ALWAYS", "Foresight"]

ALWAYS: Final = 256
"""The weight of a branch that every iteration takes; other weights are in proportion."""

_RARE: Final = ALWAYS // 64
_HIDDEN = frozenset({RANDOM, ATOMIC, ARRAY_LOAD, ARRAY_ALLOC})


class Foresight:
    """What conditions depend on.

    Args:
        body: of the kernel.
        written: names of the places that it writes.
    """

    def __init__(self, body: Region, written: Collection[str]) -> None:
        self._written = written
        self._from: dict[Value, Sequence[Value]] = {}
        self._stored: dict[Value | str, list[Value]] = {}
        self._carried: set[Value] = set()
        self._lanes: set[Value] = set()
        self._plain: set[Value] = set()
        self._deciding: dict[Op, set[Value]] = {}
        for op in body.walk():
            self._note(op)

    def _note(self, op: Op) -> None:
        if op.opdef is IF:
            sides = zip(*(region.terminator.operands for region in op.regions), strict=True)
            self._from.update((r, [op.operands[0], *v]) for r, v in zip(op.results, sides, strict=True))
        elif op.opdef is FOR:
            lo, hi, *initial = op.operands
            body = op.regions[0]
            self._from[body.args[0]] = [lo]
            flow = zip(op.results, body.args[1:], initial, body.terminator.operands, strict=True)
            for result, arg, first, after in flow:
                self._from[arg], self._from[result] = [first, after], [lo, hi, first, after]
                self._carried |= {arg, result}
        elif op.opdef is WHILE:
            self._note_while(op)
        elif op.opdef is PARALLEL_FOR:
            self._lanes.update(op.regions[0].args)
        else:
            self._from.update((v, op.operands) for v in op.results)
            if op.opdef in PLACE_WRITES:
                self._stored.setdefault(op.attrs["place"].name, []).extend(op.operands)
            elif op.opdef is ARRAY_STORE:
                self._stored.setdefault(op.operands[0], []).extend(op.operands[1:])

    def _note_while(self, op: Op) -> None:
        head, body = op.regions
        wanted, *passed = head.terminator.operands
        args = zip(op.results, head.args, body.args, op.operands, body.terminator.operands, passed, strict=False)
        for result, early, arg, first, after, handed in args:
            self._from[early], self._from[arg] = [first, after], [handed]
            self._from[result] = [wanted, handed]
            self._carried |= {result, early, arg}

    # ---- questions

    def knows(self, condition: Value, nest: Op) -> bool:
        """Whether integers, and what decides trip counts, are all it takes to count how often a condition holds.

        `nest` is the outermost loop around it, or an op that this is in.
        """
        deciding = self._decides(nest)
        seen, work = set[Value](), [condition]
        while work:
            value = work.pop()
            if value in seen or value in self._plain or value in deciding:
                continue
            if self._hides(value):
                return False
            seen.add(value)
            work += self._from.get(value, ())
        if seen.isdisjoint(deciding) and not any(v in deciding for s in seen for v in self._from.get(s, ())):
            self._plain |= seen
        return True

    def _hides(self, value: Value) -> bool:
        """Whether a value takes more to know than a formula or integers that are carried."""
        if not isinstance(value.type, DType) or (value in self._carried and value.type.is_float):
            return True
        maker = value.op
        if maker is None:
            return False
        return maker.opdef in _HIDDEN or (maker.opdef is LOAD and maker.attrs["place"].name in self._written)

    def _decides(self, nest: Op) -> set[Value]:
        """What decides how often the loops of a nest run, and all that this depends on."""
        if nest not in self._deciding:
            branches = (op for op in Region(ops=[nest]).walk() if op.opdef is IF)
            work = [op.operands[0] for op in branches if any(map(contains_loop, op.regions))]
            for op in Region(ops=[nest]).walk():
                if op.opdef in SERIAL_LOOPS:
                    work += op.operands[:2] if op.opdef is FOR else op.regions[0].terminator.operands[:1]
            self._deciding[nest] = self.behind(work)
        return self._deciding[nest]

    def behind(self, values: Iterable[Value]) -> set[Value]:
        """These values and all that they depend on, also through memory and local arrays."""
        work = list(values)
        sources: set[Value] = set()
        while work:
            value = work.pop()
            if value not in sources:
                sources.add(value)
                work += self._from.get(value, ())
                work += self._stored.get(value, ())
                maker = value.op
                if maker is not None and maker.opdef in (LOAD, ATOMIC):
                    work += self._stored.get(maker.attrs["place"].name, ())
        return sources

    def is_uniform(self, condition: Value) -> bool:
        """Whether a condition is the same in all iterations of a parallel loop."""
        return self._lanes.isdisjoint(self.behind([condition]))

    def frequency(self, condition: Value) -> int:
        """In about how many of `ALWAYS` iterations a condition holds."""
        maker = condition.op
        if maker is None:
            return ALWAYS // 2
        if maker.opdef is NOT:
            return ALWAYS - self.frequency(maker.operands[0])
        if maker.opdef is AND:
            one, other = (self.frequency(v) for v in maker.operands)
            return max(1, one * other // ALWAYS)
        if maker.opdef in (EQ, NE):
            equal = self._equal(*maker.operands)
            return equal if maker.opdef is EQ else ALWAYS - equal
        return ALWAYS // 2

    def _equal(self, a: Value, b: Value) -> int:
        """How often two values are the same: one in c if one is a remainder of division by c."""
        for value, other in ((a, b), (b, a)):
            maker, constant = value.op, other.op
            if constant is None or constant.opdef is not CONST or maker is None or value.dtype.is_bool:
                continue
            divisor = maker.operands[1].op if maker.opdef is MOD else None
            if divisor is not None and divisor.opdef is CONST:
                return max(1, ALWAYS // max(1, abs(int(divisor.attrs["value"]))))
            return _RARE
        return ALWAYS // 2
