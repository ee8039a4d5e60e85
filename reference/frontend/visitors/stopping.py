"""`stop_grad(field)`: what a loop loads from the field counts as constant.

Such a load is followed by a call of a function that gives back what it gets: nothing passes through a call.
"""

from __future__ import annotations

from typing import Final

from ...errors import AdstackTypeError
from ...ir.ops import CALL, LOAD, YIELD
from ...ir.structure import Function, Op, Region, Value
from ...ir.types import FLOATS, DType
from ..emission.context import Context

__all__ = ["detach", "stop"]


def _identity(dtype: DType) -> Function:
    x = Value(dtype, "x")
    return Function(f"detached.{dtype.name}", Region([x], [Op(YIELD, [x])]))


_DETACHED: Final = {dtype: _identity(dtype) for dtype in FLOATS}


def stop(context: Context, *fields: object) -> None:
    """Note the fields for the loop around, or at the top of a kernel for the next loop."""
    loops = [loop for frame in context.frames for loop in frame.loops if loop.kind != "static"]
    stopped = loops[-1].stopped if loops else context.stopped
    for field in fields:
        parts = getattr(field, "member_fields", None) or [field]
        for part in parts:
            place = getattr(part, "place", None)
            if place is None:
                context.fail(AdstackTypeError, "stop_grad takes fields and ndarrays", note=f"got {type(part).__name__}")
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
