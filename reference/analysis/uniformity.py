"""Which values differ between the iterations that run side by side, and which are the same in all of them.

A `for` whose index counts up to a different number in each iteration, and which only asks how far it is from its end,
may begin where the longest begins, while the others wait: then all are equally far from their ends. Reverse mode makes
such loops, and what they ask for is a slot of an adstack, which should be the same one in all lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..ir.opdef import OpDef
from ..ir.ops import (
    ARRAY_ALLOC,
    ARRAY_LOAD,
    ATOMIC,
    FOR,
    IF,
    RANDOM,
    STACK_ALLOCA,
    STACK_GET,
    STACK_LOAD_TOP,
    STACK_LOAD_TOP_ADJ,
    WHILE,
)
from ..ir.scalar_ops import SUB
from ..ir.structure import Op, Region, Value
from .facts import integer

__all__ = ["distances", "varying_along", "varying_in_row", "varying_values"]

_ALWAYS = frozenset(
    {
        RANDOM,
        ATOMIC,
        ARRAY_ALLOC,
        ARRAY_LOAD,
        STACK_ALLOCA,
        STACK_GET,
        STACK_LOAD_TOP,
        STACK_LOAD_TOP_ADJ,
    }
)


def varying_values(body: Region) -> set[Value]:
    """The values of a `parallel_for` body that may differ between its iterations."""
    return _varying(body, body.args)


def varying_in_row(body: Region) -> set[Value]:
    """The values of a `parallel_for` body that may differ between iterations that differ in the last index alone."""
    return _varying(body, body.args[-1:])


def varying_along(body: Region, axis: int) -> set[Value]:
    """The values of a `parallel_for` body that may differ between iterations that differ in one index alone."""
    return _varying(body, body.args[axis : axis + 1])


def _varying(body: Region, indices: Sequence[Value]) -> set[Value]:
    """The values that may differ between iterations that differ in these indices.

    Everything starts as uniform; what depends on the indices, on memory private to an iteration, or on control flow
    that some iterations leave earlier than others, is added until nothing changes.
    """
    same = {op.result for loop in body.walk() if loop.opdef is FOR for op in distances(loop)}
    search = _Search(set(indices), same)
    size = -1
    while size != len(search.varying):
        size = len(search.varying)
        search.region(body)
    return search.varying


def distances(loop: Op) -> list[Op]:
    """The ops of a `for` that say how far its index is from its end, if it starts at 0 and is used for nothing else."""
    lo, hi, *_ = loop.operands
    index = loop.regions[0].args[0]
    counts_up = integer(lo) == 0 and index.dtype.is_signed
    only = all(op.opdef is SUB and list(op.operands) == [hi, index] for op in index.uses)
    return list(index.uses) if counts_up and only else []


@dataclass
class _Search:
    """The search for varying values.

    Attributes:
        varying: those that were found.
        same: the distances of indices from the ends of their loops, which are uniform.
    """

    varying: set[Value]
    same: set[Value]

    def region(self, region: Region) -> None:
        """Go through a region once."""
        for op in region.ops:
            rule = _RULES.get(op.opdef)
            if rule is not None:
                rule(self, op)
            elif op.opdef in _ALWAYS or any(v in self.varying for v in op.operands):
                self.varying.update(v for v in op.results if v not in self.same)

    def if_(self, op: Op) -> None:
        for region in op.regions:
            self.region(region)
        if op.operands[0] in self.varying:
            self.varying.update(op.results)
        for region in op.regions:
            incoming = zip(op.results, region.terminator.operands, strict=True)
            self.varying.update(result for result, v in incoming if v in self.varying)

    def for_(self, op: Op) -> None:
        lo, hi, *initial = op.operands
        (body,) = op.regions
        index, *carried = body.args
        if lo in self.varying:
            self.varying.add(index)
        self._carry(op, initial, carried, divergent=lo in self.varying or hi in self.varying)
        self.region(body)
        self._carry(op, body.terminator.operands, carried, divergent=False)

    def while_(self, op: Op) -> None:
        condition, body = op.regions
        self._carry(op, op.operands, condition.args, divergent=False)
        self.region(condition)
        wanted, *passed = condition.terminator.operands
        self._carry(op, passed, body.args, divergent=wanted in self.varying)
        self.region(body)
        self._carry(op, body.terminator.operands, condition.args, divergent=wanted in self.varying)

    def _carry(self, op: Op, values: Sequence[Value], args: Sequence[Value], *, divergent: bool) -> None:
        """Propagate along carried values: from a value to the argument that takes it, and to the result it becomes."""
        for value, arg, result in zip(values, args, op.results, strict=True):
            if divergent or value in self.varying or arg in self.varying:
                self.varying.update((arg, result))


_RULES: dict[OpDef, Callable[[_Search, Op], None]] = {IF: _Search.if_, FOR: _Search.for_, WHILE: _Search.while_}
