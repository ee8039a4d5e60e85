"""What a loop may do before it knows that it should: how many turns at once, and where it must look.

Some numbers send a math function to its long side, where hardly any number goes. A quick turn computes as if there were
no such numbers, and notes whether one came. Until somebody looks, it may compute with numbers that mean nothing; so it
may not touch memory where such a number says, nor change what could not be done again. Adstacks may be written: the
turn that is done again writes the same slots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from adstack.ir.structure import Function, Op, Region, Value

if TYPE_CHECKING:
    from .region import RegionEmitter

__all__ = ["LONG", "Plan", "goes_far", "plan", "usual_side"]

LONG: Final = 40
"""Sides of a math function with more ops than this are long."""
_TURNS: Final = 4
_FEW: Final = 100
"""A body that counts for more ops than this is not repeated within a turn of the loop."""
_MANY: Final = 400
"""One that counts for more has no quick form."""
_CALL: Final = 25
"""What a call of a math function counts for."""
_READS: Final = ("load", "array.load")
_REPEATABLE: Final = (*_READS, "call", "shape", "stack.put", "stack.get", "if", "yield", "assert")
_LOOPS: Final = ("for", "while", "stack.alloca", "stack.claim", "array.alloc")
"""What a quick loop has not inside."""


@dataclass(frozen=True)
class Plan:
    """How a loop runs quickly.

    Attributes:
        turns: how many at once.
        look: the position, among the ops of the last of them, where it looks whether all went well; None if nothing can
            go wrong.
    """

    turns: int
    look: int | None


def plan(e: RegionEmitter, op: Op) -> Plan | None:
    """How a `for` runs quickly; None if it does not, or would not gain."""
    (body,) = op.regions
    ops = list(body.walk())
    size = len(ops) + _CALL * sum(o.name == "call" for o in ops)
    if size > _MANY or any(o.name in _LOOPS for o in ops):
        return None
    turns = _TURNS if size <= _FEW else 1
    if not any(_is_rare(o) for o in ops):
        return Plan(turns, None) if any(o.operands and o.operands[0] in e.kept for o in ops) else None
    first = _first_hazard(body, turns)
    if first is None:
        return Plan(turns, len(body.ops) - 1)
    last = max(k for k, o in enumerate(body.ops) if _has_rare(o))
    first = _first_hazard(body, 1)
    return Plan(1, last + 1) if first is None or last < first else None


def _is_rare(op: Op) -> bool:
    return op.name == "call" and goes_far(op.attrs["function"])


def _has_rare(op: Op) -> bool:
    return _is_rare(op) or any(_is_rare(o) for region in op.regions for o in region.walk())


@cache
def goes_far(function: Function) -> bool:
    """Whether a math function has a long side, or calls one that has."""
    return any(usual_side(op) is not None or _is_rare(op) for op in function.body.walk())


def usual_side(op: Op) -> int | None:
    """Which side of an `if` of a math function is the usual one: the short one, beside a long one."""
    if op.name != "if":
        return None
    short = [len(region.ops) <= LONG for region in op.regions]
    return None if short[0] == short[1] else short.index(True)


def _first_hazard(body: Region, turns: int) -> int | None:
    """The first op of a body that must not run before it is known that all went well, if there is one."""
    doubtful = _doubtful(body, turns)
    for k, op in enumerate(body.ops):
        if any(_is_hazard(o, doubtful) for o in _with_inner(op)):
            return k
        if op.regions and op.operands[0] in doubtful and any(o.name in _READS for o in _with_inner(op)):
            return k
    return None


def _is_hazard(op: Op, doubtful: set[Value]) -> bool:
    if op.opdef.pure:
        return False
    return op.name not in _REPEATABLE or (op.name in _READS and not doubtful.isdisjoint(op.operands))


def _with_inner(op: Op) -> Iterator[Op]:
    yield op
    for region in op.regions:
        yield from region.walk()


def _doubtful(body: Region, turns: int) -> set[Value]:
    """The values that may mean nothing while nobody has looked."""
    found: set[Value] = set()
    before = -1
    while len(found) > before:
        before = len(found)
        _spread(body, found)
        if turns > 1:
            pairs = zip(body.args[1:], body.terminator.operands, strict=True)
            found.update(arg for arg, value in pairs if value in found)
    return found


def _spread(region: Region, found: set[Value]) -> None:
    for op in region.ops:
        for inner in op.regions:
            _spread(inner, found)
        handed = (v for inner in op.regions for v in inner.terminator.operands)
        if _is_rare(op) or not found.isdisjoint(op.operands) or not found.isdisjoint(handed):
            found.update(op.results)
