"""How many iterations of a parallel loop are worth a thread of their own."""

from __future__ import annotations

from adstack.analysis.iteration_space import known_extent
from adstack.ir.ops import CALL, FOR, SERIAL_LOOPS
from adstack.ir.scalar_ops import CONST
from adstack.ir.structure import Op, Region, Task, Value

__all__ = ["grain"]

_WORTH = 30_000
"""Vector operations that take about 5 microseconds: what it costs to hand them to a thread that waits."""
_PER_VECTOR = 16
"""Lanes in a vector, about."""
_CALL = 30
"""Operations of a function of the library, about."""


def grain(task: Task, lanes: int) -> int:
    """The least number of iterations worth a piece, a multiple of the lanes; below 0, its negative is the number of
    iterations to time: how long the loops inside take is not known before they run. A loop all of whose iterations run
    side by side is one piece.
    """
    *header, loop, _ = task.body.ops
    costs, extent = _Costs(task), known_extent(loop, header)
    cost = costs.of(loop.regions[0])
    vectors = max(1, lanes // _PER_VECTOR)
    if costs.unknown:
        return lanes if lanes > 1 and extent is not None and extent <= lanes else -lanes
    return max(1, _WORTH // (max(1, cost) * vectors)) * lanes


class _Costs:
    """Counts operations.

    Attributes:
        unknown: whether there was a loop of unknown length.
    """

    def __init__(self, task: Task) -> None:
        self.unknown = False
        self._constants: dict[Value, int] = {
            op.result: op.attrs["value"] for op in task.body.walk() if op.opdef is CONST and op.result.dtype.is_integer
        }

    def of(self, region: Region) -> int:
        """Operations of one run through a region."""
        return sum(self._of(op) for op in region.ops if op.opdef is not CONST)

    def _of(self, op: Op) -> int:
        inside = sum(self.of(region) for region in op.regions)
        return (_CALL if op.opdef is CALL else 1) + inside * self._turns(op)

    def _turns(self, op: Op) -> int:
        """How often the regions of an op run."""
        if op.opdef is FOR:
            low, high = (self._constants.get(bound) for bound in op.operands[:2])
            if low is not None and high is not None:
                return max(0, high - low)
        self.unknown |= op.opdef in SERIAL_LOOPS
        return 1
