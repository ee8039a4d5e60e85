"""Functions that ops call: the library's names, and what a function computes, on numpy arrays.

The IR has no library of its own: a library is registered by `use_library`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from ..errors import InternalError
from .structure import Function, Op, Region, Value
from .table import TABLE
from .types import Array, DType

__all__ = ["builtin", "by_library", "evaluate", "use_library"]

Library = Callable[[str], "Function | None"]

_LIBRARIES: Final[list[Library]] = []


def use_library(find: Library) -> None:
    """Register a library.

    Args:
        find: gives the function of a name, or None if the library has none of that name.
    """
    _LIBRARIES.append(find)


def builtin(name: str) -> Function | None:
    """The library's function of this name."""
    return next((function for find in _LIBRARIES if (function := find(name)) is not None), None)


def by_library(name: str) -> Callable[..., Array]:
    """The meaning of a transcendental op: the library's function for the result type."""

    def meaning(to: DType, *args: Array) -> Array:
        function = builtin(f"{name}.{to.name}")
        if function is None:
            raise InternalError(f"the math library has no {name} for {to}")
        (result,) = evaluate(function, args)
        return result

    return meaning


def evaluate(function: Function, args: Sequence[Array]) -> list[Array]:
    """What a function gives, elementwise; arrays of one element stand for all."""
    shape = np.broadcast_shapes(*(np.shape(a) for a in args))
    values = {v: np.asarray(a).reshape(-1) for v, a in zip(function.body.args, args, strict=True)}
    with np.errstate(all="ignore"):
        return [np.broadcast_to(a, (int(np.prod(shape)),)).reshape(shape) for a in _run(function.body, values)]


def _run(region: Region, values: dict[Value, Array]) -> list[Array]:
    for op in region.ops[:-1]:
        if op.opdef is TABLE["const"]:
            values[op.result] = np.array([op.attrs["value"]], op.attrs["to"].numpy)
        elif op.regions:
            values.update(zip(op.results, _branch(op, values), strict=True))
        else:
            assert op.opdef.meaning is not None
            values[op.result] = op.opdef.meaning(op.result.dtype, *(values[v] for v in op.operands))
    return [values[v] for v in region.terminator.operands]


def _branch(op: Op, values: dict[Value, Array]) -> list[Array]:
    """An `if`: a side that no element takes does not run; where both run, each sees its own elements alone."""
    condition = values[op.operands[0]]
    if condition.all():
        return _run(op.regions[0], values)
    if not condition.any():
        return _run(op.regions[1], values)
    merged = [np.empty(condition.shape, v.dtype.numpy) for v in op.results]
    for side, region in ((condition, op.regions[0]), (~condition, op.regions[1])):
        inside = {v: a[side] if len(a) > 1 else a for v, a in values.items()}
        for result, part in zip(merged, _run(region, inside), strict=True):
            result[side] = part
    return merged
