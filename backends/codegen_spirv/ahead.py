"""Adstacks that a loop touches at affine indices: whether there is room is seen before it, once.

An index that grows by one in every turn is inside if its first and its last are. So no turn has to look. Where there is
no room, the overflow is recorded, and the loop goes on with the first slot alone: what it computes is refused.
"""

from __future__ import annotations

from adstack.analysis.induction import Induction
from adstack.ir.structure import Op, Value
from adstack.ir.types import i64, u64

from .assembly.code import Num
from .region import RegionEmitter
from .stacks import overflowed

__all__ = ["look_ahead"]

_KEPT = ("stack.put", "stack.get")


def look_ahead(e: RegionEmitter, op: Op, low: Num, high: Num) -> bool:
    """Before a `for` from `low` to `high`: look for all of its turns. False if there is nothing to look for."""
    if e.task is None or e.task.rows is None:
        return False
    (body,) = op.regions
    rows = e.task.rows
    touching = [o for o in body.ops if o.name in _KEPT and o.operands[0] in rows.heap.slots]
    if not touching:
        return False
    induction, seen = Induction(body), dict[tuple[int, Value], Num]()
    for touch in sorted(touching, key=lambda o: o.name == "stack.get"):  # what is put is looked at with its stack
        stack, index, *_ = touch.operands
        group, part = rows.heap.group_of(stack), rows.heap.slots[stack].part
        if induction.step(index) not in (1, -1):
            continue
        if (group, index) not in seen:
            seen[group, index] = _inside(e, induction, touch, low, high)
            e.checked[id(body), group, index] = True
        stride = seen[group, index].choose(rows.stride(part), 0)
        first = rows.along(part, _at(e, induction, index, low).resize(i64), stride)
        step = stride if induction.step(index) == 1 else e.c.const(0, u64) - stride
        e.evenly[id(body), part, index] = first, step
    return bool(seen)


def _inside(e: RegionEmitter, induction: Induction, touch: Op, low: Num, high: Num) -> Num:
    """Whether all slots are there that an op touches; records the overflow of one that writes."""
    stack, index, *_ = touch.operands
    capacity = e.rows.capacity(e.rows.heap.group_of(stack))
    first, last = (_at(e, induction, index, turn).resize(i64) for turn in (low, high - 1))
    inside = (first.signed(u64) < capacity.signed(u64)) & (last.signed(u64) < capacity.signed(u64))
    if touch.name == "stack.put":
        most = last if induction.step(index) == 1 else first
        e.c.when((low < high) & ~inside, lambda: overflowed(e, e.sites[stack], capacity, most + 1))
    return inside


def _at(e: RegionEmitter, induction: Induction, value: Value, turn: Num) -> Num:
    """What a value is in the turn with an index."""
    if value is induction.index:
        return turn
    op = induction.definition(value)
    if op is None:
        return e.get(value)
    if op.name == "const":
        return e.c.const(op.attrs["value"], value.dtype)
    operands = [_at(e, induction, v, turn).resize(value.dtype) for v in op.operands]
    if op.name == "cast":
        return operands[0]
    return operands[0] + operands[1] if op.name == "add" else operands[0] - operands[1]
