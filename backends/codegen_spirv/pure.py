"""Constants and scalar operations: values in, a value out."""

from __future__ import annotations

from adstack.ir.scalar_ops import CONST
from adstack.ir.structure import Op

from .checks import check_trap
from .region import RegionEmitter, handles
from .scalars.emitters import EMITTERS, emit

__all__: list[str] = []


@handles(CONST)
def _const(e: RegionEmitter, op: Op) -> None:
    value = op.attrs["value"]
    e.bind(op.result, e.c.const(value, op.result.dtype))
    if isinstance(value, int):
        e.know(op.result, int(value))


def _pure(e: RegionEmitter, op: Op) -> None:
    """A scalar operation, in debug mode behind a check of its operands."""
    check_trap(e, op)
    e.bind(op.result, emit(op.opdef, op.result.dtype, e.all(op.operands)))


for _row in EMITTERS:
    handles(_row)(_pure)
