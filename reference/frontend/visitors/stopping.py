"""`stop_grad`: what a loop loads from a field counts as constant; or a value does.

A call of a function that gives back what it gets follows the load, or takes the value: nothing passes through a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...errors import AdstackTypeError
from ...ir.ops import CALL, LOAD, YIELD
from ...ir.structure import Function, Op, Region, Value
from ...ir.types import FLOATS, DType
from ...values.elements import Elements
from ...values.kinds import KernelObject, Operand
from ..emission.context import Context
from ..emission.current import current
from ..emission.expr import Expr
from ..emission.literals import describe, is_number
from ..expressions.dispatch import dereferenced

__all__ = ["detach", "stop"]


def _identity(dtype: DType) -> Function:
    x = Value(dtype, "x")
    return Function(f"detached.{dtype.name}", Region([x], [Op(YIELD, [x])]))


_TAKES: Final = "stop_grad takes fields and ndarrays, or one number, vector or matrix"
_DETACHED: Final = {dtype: _identity(dtype) for dtype in FLOATS}


def stop(context: Context, *args: KernelObject) -> KernelObject:
    """One number, vector or matrix as a constant; or None, with fields noted for the loop around or the next one."""
    value = dereferenced(args[0]) if len(args) == 1 else None
    if isinstance(value, Elements):
        return value.map(_constant)
    return _constant(value) if isinstance(value, Expr) or is_number(value) else _note(context, args)


def _constant(number: Operand) -> Operand:
    """A number from which no derivative is taken; those that are known while compiling have none."""
    if not isinstance(number, Expr) or number.dtype not in FLOATS:
        return number
    of = number.value
    return Expr(current().builder.append(CALL, [of], [of.type], {"function": _DETACHED[of.dtype]}).result)


def _note(context: Context, fields: Sequence[object]) -> None:
    """At the top of a kernel the fields are those of the next loop, in a loop those of that."""
    loops = [loop for frame in context.frames for loop in frame.loops if loop.kind != "static"]
    stopped = loops[-1].stopped if loops else context.stopped
    for field in fields:
        parts = getattr(field, "member_fields", None) or [field]
        for part in parts:
            place = getattr(part, "place", None)
            if place is None:
                context.fail(AdstackTypeError, _TAKES, note=f"got {describe(part)}")
            stopped.add(place.name)


def detach(region: Region, names: set[str]) -> None:
    """Make what is loaded from these places, in the region and all inside it, constants."""
    _Detaching(names).region(region)


class _Detaching:
    def __init__(self, names: set[str]) -> None:
        self.names = names

    def region(self, region: Region) -> None:
        ops, region.ops = region.ops, []
        for op in ops:
            for inner in op.regions:
                self.region(inner)
            region.ops.append(op)
            if op.opdef is LOAD and op.attrs["place"].name in self.names and op.result.type in FLOATS:
                region.ops.append(self._constant(op))

    def _constant(self, load: Op) -> Op:
        loaded = load.result
        result = Value(loaded.type, loaded.name)
        loaded.replace_all_uses_with(result)
        return Op(CALL, [loaded], {"function": _DETACHED[loaded.dtype]}, [result], loc=load.loc)
