"""What code uses from around it: `free_values(regions)`."""

from __future__ import annotations

from collections.abc import Iterable

from ...ir.structure import Region, Value
from ...ir.types import DType

__all__ = ["free_values"]


def free_values(regions: Iterable[Region], *, real: bool = True) -> list[Value]:
    """Values from around that the regions use, in the order of use; with `real`, the scalar floats among them."""
    free: dict[Value, None] = {}
    inside: set[Value] = set()
    for region in regions:
        inside.update(region.args)
        for op in region.walk():
            inside.update(op.results)
            for nested in op.regions:
                inside.update(nested.args)
        for op in region.walk():
            free.update(dict.fromkeys(op.operands))
    return [v for v in free if v not in inside and (not real or _is_real(v))]


def _is_real(value: Value) -> bool:
    return isinstance(value.type, DType) and value.type.is_float
