"""How loops are nested."""

from __future__ import annotations

from ..ir.ops import SERIAL_LOOPS
from ..ir.structure import Op, Region

__all__ = ["contains_loop", "loop_depth"]


def contains_loop(region: Region) -> bool:
    """Whether a region contains a sequential loop, at any depth."""
    return any(op.opdef in SERIAL_LOOPS for op in region.walk())


def loop_depth(loop: Op) -> int:
    """The greatest number of loops that are nested inside a loop, itself not counted: 0 for an innermost one."""
    depths = (loop_depth(op) + (op.opdef in SERIAL_LOOPS) for region in loop.regions for op in region.ops if op.regions)
    return max(depths, default=0)
