"""Which iterations of a parallel loop push at all: `stack.claim` says it of each, and sizers count them.

Memory is needed for no more iterations than those, however many there are. Whether one pushes is read off the
capacities of its stacks, as far as that takes no loop: an iteration that says so may still push nothing, but never the
other way round.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.facts import integer
from ..ir.builder import Builder
from ..ir.ops import STACK_ALLOCA
from ..ir.structure import Place, Region, Task, Value
from ..ir.types import i32, i64
from .build import Builder as FormulaBuilder
from .build import total
from .dependence import Dependence
from .emit import Emitter
from .expr import SizeExpr

__all__ = ["claim_formula", "insert_claim"]


def claim_formula(dependence: Dependence, sized: Sequence[Value]) -> SizeExpr | None:
    """A formula that is above 0 in all iterations that push; None if none tells iterations apart.

    `sized` are the capacities that sizers compute: if there are others, nothing is known of them.
    """
    allocations = [op for op in dependence.task.body.walk() if op.opdef is STACK_ALLOCA]
    if not {op.operands[0] for op in allocations if integer(op.operands[0]) != 0}.issubset(sized):
        return None
    expr = total(*(FormulaBuilder(dependence).above_zero(capacity) for capacity in sized))
    return expr if dependence.varies(expr) else None


def insert_claim(task: Task, expr: SizeExpr, depths: Place, number: int) -> None:
    """Insert a `stack.claim` before the stacks: whether the iteration pushes. Element `number` is how many do."""
    *header, loop, _ = task.body.ops
    ops = loop.regions[0].ops
    at = next(k for k, op in enumerate(ops) if op.opdef is STACK_ALLOCA)
    visible = (*task.body.args, *loop.regions[0].args, *(v for op in (*header, *ops[:at]) for v in op.results))
    b = Builder(Region())
    with b.at(ops[at].loc):
        count = b.load(depths, (b.const(number, i32),))
        task.body.ops[0:0] = b.region.ops
        b.region.ops = []
        some = Emitter(b, {v: v for v in visible}).size(expr)
        b.claim(b.lt(b.const(0, i64), some), count)
    ops[at:at] = b.region.ops
