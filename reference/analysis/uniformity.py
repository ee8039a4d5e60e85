"""Which values differ between the iterations that run side by side, and which are the same in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..ir.structure import Op, Region, Value

__all__ = ["varying_values"]

_ALWAYS = frozenset(
    {
        "random",
        "atomic",
        "array.alloc",
        "array.load",
        "stack.alloca",
        "stack.get",
        "stack.load_top",
        "stack.load_top_adj",
    }
)


def varying_values(body: Region, indices: Iterable[Value] | None = None) -> set[Value]:
    """The values of a `parallel_for` body that may differ between iterations that differ in these indices (or in any).

    Everything starts as uniform; what depends on the indices, on memory private to an iteration, or on control flow
    that some iterations leave earlier than others, is added until nothing changes.
    """
    found = set(body.args if indices is None else indices)
    size = -1
    while size != len(found):
        size = len(found)
        _region(body, found)
    return found


def _region(region: Region, found: set[Value]) -> None:
    for op in region.ops:
        rule = _RULES.get(op.name)
        if rule is not None:
            rule(op, found)
        elif op.name in _ALWAYS or any(v in found for v in op.operands):
            found.update(op.results)


def _if(op: Op, found: set[Value]) -> None:
    for region in op.regions:
        _region(region, found)
    if op.operands[0] in found:
        found.update(op.results)
    for region in op.regions:
        found.update(r for r, v in zip(op.results, region.terminator.operands, strict=True) if v in found)


def _for(op: Op, found: set[Value]) -> None:
    lo, hi, *initial = op.operands
    (body,) = op.regions
    index, *carried = body.args
    if lo in found:
        found.add(index)
    _carry(op, initial, carried, found, divergent=lo in found or hi in found)
    _region(body, found)
    _carry(op, body.terminator.operands, carried, found, divergent=False)


def _while(op: Op, found: set[Value]) -> None:
    condition, body = op.regions
    _carry(op, op.operands, condition.args, found, divergent=False)
    _region(condition, found)
    wanted, *passed = condition.terminator.operands
    _carry(op, passed, body.args, found, divergent=wanted in found)
    _region(body, found)
    _carry(op, body.terminator.operands, condition.args, found, divergent=wanted in found)


def _carry(op: Op, values: list[Value], args: list[Value], found: set[Value], *, divergent: bool) -> None:
    """Values handed to region arguments, which come out as the op's results in the end."""
    for value, arg, result in zip(values, args, op.results, strict=True):
        if divergent or value in found or arg in found:
            found.update((arg, result))


_RULES: dict[str, Callable[[Op, set[Value]], None]] = {"if": _if, "for": _for, "while": _while}
