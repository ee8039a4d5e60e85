"""Bounds checks of adstacks that a loop accesses at affine indices, hoisted out of the loop.

An index that grows by one in every iteration is inside if its first and its last value are, so that no iteration has to
check it. Where there is no room, the overflow is recorded, and the loop goes on with the first slot alone: what it
computes is refused.
"""

from __future__ import annotations

from adstack.analysis.induction import Induction
from adstack.ir.ops import STACK_GET, STACK_PUT
from adstack.ir.scalar_ops import ADD, CAST, CONST
from adstack.ir.structure import Op, Value
from adstack.ir.types import i64, u64

from .assembly.code import Num
from .region import RegionEmitter
from .stacks import overflowed

__all__ = ["hoist_checks", "value_at"]

_ACCESSES = (STACK_PUT, STACK_GET)


def hoist_checks(e: RegionEmitter, op: Op, low: Num, high: Num) -> bool:
    """Compare the capacities of counted adstacks once, before a `for`, instead of in each of its iterations.

    Args:
        e: emits it, in front of the loop.
        op: the `for`.
        low: where it begins.
        high: where it ends; itself not included.

    Returns:
        Whether the loop's own checks may be left out; False too if it has none.
    """
    if e.task is None or e.task.rows is None:
        return False
    (body,) = op.regions
    rows = e.task.rows
    touching = [o for o in body.ops if o.opdef in _ACCESSES and o.operands[0] in rows.heap.slots]
    if not touching:
        return False
    induction, seen = Induction(body), dict[tuple[int, Value], Num]()
    for touch in sorted(touching, key=lambda o: o.opdef is STACK_GET):  # a put reports the overflow of its stack
        stack, index, *_ = touch.operands
        group, part = rows.heap.group_of(stack), rows.heap.slots[stack].part
        if induction.step(index) not in (1, -1):
            continue
        if (group, index) not in seen:
            seen[group, index] = _inside(e, induction, touch, low, high)
            e.checked[id(body), group, index] = True
        stride = seen[group, index].choose(rows.stride(part), 0)
        first = rows.along(part, value_at(e, induction, index, low).resize(i64), stride)
        step = stride if induction.step(index) == 1 else e.c.const(0, u64) - stride
        e.affine_slots[id(body), part, index] = first, step
    return bool(seen)


def _inside(e: RegionEmitter, induction: Induction, touch: Op, low: Num, high: Num) -> Num:
    """Whether there is room for all slots that an op accesses; records the overflow of one that writes."""
    stack, index, *_ = touch.operands
    capacity = e.rows.capacity(e.rows.heap.group_of(stack))
    first, last = (value_at(e, induction, index, end).resize(i64) for end in (low, high - 1))
    inside = (first.signed(u64) < capacity.signed(u64)) & (last.signed(u64) < capacity.signed(u64))
    if touch.opdef is STACK_PUT:
        most = last if induction.step(index) == 1 else first
        e.c.when((low < high) & ~inside, lambda: overflowed(e, e.sites[stack], capacity, most + 1))
    return inside


def value_at(e: RegionEmitter, induction: Induction, value: Value, index: Num) -> Num:
    """What an affine value is in the iteration with an index."""
    if value is induction.index:
        return index
    op = induction.definition(value)
    if op is None:
        return e.get(value)
    if op.opdef is CONST:
        return e.c.const(op.attrs["value"], value.dtype)
    operands = [value_at(e, induction, v, index).resize(value.dtype) for v in op.operands]
    if op.opdef is CAST:
        return operands[0]
    return operands[0] + operands[1] if op.opdef is ADD else operands[0] - operands[1]
