"""Which values differ between the iterations that run side by side, and which are the same in all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir.structure import Op, Region, Value

__all__ = ["varying_in_row", "varying_values"]

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


def varying_values(body: Region) -> set[Value]:
    """The values of a `parallel_for` body that may differ between its iterations."""
    return _varying(body, body.args)


def varying_in_row(body: Region) -> set[Value]:
    """The values of a `parallel_for` body that may differ between iterations that differ in the last index alone."""
    return _varying(body, body.args[-1:])


def _varying(body: Region, indices: Sequence[Value]) -> set[Value]:
    """The values that may differ between iterations that differ in these indices.

    Everything starts as uniform; what depends on the indices, on memory private to an iteration, or on control flow
    that some iterations leave earlier than others, is added until nothing changes.
    """
    varying = set(indices)
    size = -1
    while size != len(varying):
        size = len(varying)
        _region(body, varying)
    return varying


def _region(region: Region, varying: set[Value]) -> None:
    for op in region.ops:
        rule = _RULES.get(op.name)
        if rule is not None:
            rule(op, varying)
        elif op.name in _ALWAYS or any(v in varying for v in op.operands):
            varying.update(op.results)


def _if(op: Op, varying: set[Value]) -> None:
    for region in op.regions:
        _region(region, varying)
    if op.operands[0] in varying:
        varying.update(op.results)
    for region in op.regions:
        varying.update(r for r, v in zip(op.results, region.terminator.operands, strict=True) if v in varying)


def _for(op: Op, varying: set[Value]) -> None:
    lo, hi, *initial = op.operands
    (body,) = op.regions
    index, *carried = body.args
    if lo in varying:
        varying.add(index)
    _carry(op, initial, carried, varying, divergent=lo in varying or hi in varying)
    _region(body, varying)
    _carry(op, body.terminator.operands, carried, varying, divergent=False)


def _while(op: Op, varying: set[Value]) -> None:
    condition, body = op.regions
    _carry(op, op.operands, condition.args, varying, divergent=False)
    _region(condition, varying)
    wanted, *passed = condition.terminator.operands
    _carry(op, passed, body.args, varying, divergent=wanted in varying)
    _region(body, varying)
    _carry(op, body.terminator.operands, condition.args, varying, divergent=wanted in varying)


def _carry(op: Op, values: Sequence[Value], args: Sequence[Value], varying: set[Value], *, divergent: bool) -> None:
    """Propagate along carried values: from a value to the argument that takes it, and to the result that it becomes."""
    for value, arg, result in zip(values, args, op.results, strict=True):
        if divergent or value in varying or arg in varying:
            varying.update((arg, result))


_RULES: dict[str, Callable[[Op, set[Value]], None]] = {"if": _if, "for": _for, "while": _while}
