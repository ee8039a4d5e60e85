"""Counted adstacks, whose count the program holds in a value: `stack.put` and `stack.get`, over one lane or many.

Stacks made side by side with one capacity are a group: what is pushed together is checked together. The values of one
stack in one slot stand side by side for all lanes, so that lanes that push together write neighbouring words. There is
no header and no adjoint. Past the capacity, the last slot is written to, and the overflow is recorded.

Stacks of a capacity that is known before the task runs are in the heap (see `heap_rows`). Others are in memory of the
thread's own, slot by slot for each group, kept from one run of the allocation to the next and grown when it is too
small; of that there is one slot more than the capacity.
"""

from __future__ import annotations

from collections.abc import Sequence

from adstack.ir.ops import STACK_ALLOCA, STACK_GET, STACK_OPS, STACK_PUT
from adstack.ir.structure import Op, Region, Value
from adstack.ir.types import DType, StackType, i64
from adstack.runtime.adstacks.layout import TaskHeap

from ..function.address import Address
from ..function.adstack_state import CountedStack, Rows, StackGroup
from ..function.region import RegionEmitter
from ..memory.access import from_memory, memory_type, to_memory, vector_load, vector_store
from ..memory.thread_heap import grown
from ..text.writer import type_text
from .heap_rows import base_of, capacity_of, product
from .overflow import record_overflow

__all__ = ["COUNTED_OPS", "allocate", "counted_stacks", "get", "put", "slot_of"]

COUNTED_OPS = (STACK_PUT, STACK_GET)
"""The ops of a stack of this kind; the others belong to the machine with a counter and adjoints."""


def counted_stacks(body: Region, layout: TaskHeap | None = None) -> dict[Value, tuple[Op, ...]]:
    """The counted adstacks of a body, each with the allocations of its group, which all stand in one region.

    Args:
        body: of a task.
        layout: of the adstack heap; stacks that are not in it are grouped by their capacity.
    """
    others = (STACK_ALLOCA, *COUNTED_OPS)
    machines = {op.operands[0] for op in body.walk() if op.opdef in STACK_OPS and op.opdef not in others}
    stacks: dict[Value, tuple[Op, ...]] = {}
    work = [body]
    while work:
        region = work.pop()
        groups: dict[object, list[Op]] = {}
        for op in region.ops:
            work += op.regions
            if op.opdef is STACK_ALLOCA and op.result not in machines:
                in_heap = layout is not None and op.result in layout.slots
                key = layout.group_of(op.result) if layout is not None and in_heap else op.operands[0]
                groups.setdefault(key, []).append(op)
        for ops in groups.values():
            stacks.update((op.result, tuple(ops)) for op in ops)
    return stacks


def allocate(e: RegionEmitter, group: Sequence[Op]) -> None:
    """Find or take memory for a whole group of stacks, at the allocation of its first one."""
    if e.rows is not None and group[0].result in e.rows.heap.slots:
        _in_the_heap(e, group, e.rows)
    else:
        _in_the_thread(e, group)


def _in_the_heap(e: RegionEmitter, group: Sequence[Op], rows: Rows) -> None:
    """Stacks of the adstack heap: the memory is there, so only the addresses of its slots are computed."""
    slots, parts = rows.heap.slots, rows.heap.parts
    lanes, first = (str(e.lanes), "0") if rows.words is None else e.target.row(e)
    capacity = capacity_of(e, rows, rows.heap.group_of(group[0].result))
    checked = StackGroup(capacity, _last(e, capacity))
    bases: dict[int, str] = {}
    for op in group:
        slot = slots[op.result]
        part = parts[slot.part]
        if slot.part not in bases:
            before = product(e, base_of(e, rows, slot.part), lanes)
            if first != "0":
                before = e.w.let(f"add i64 {before}, {product(e, first, str(part.size))}")
            bases[slot.part] = e.w.let(f"getelementptr i8, ptr {rows.block}, i64 {before}")
        row = product(e, lanes, str(part.size))
        stride, offset = product(e, row, str(part.count)), product(e, row, str(slot.position))
        origin = (op.loc, op.result.name)
        e.counted[op.result] = CountedStack(checked, slot.dtype, origin, bases[slot.part], stride, offset)


def _last(e: RegionEmitter, capacity: str) -> str:
    """The number of the last of so many slots (i64); 0 if there are none."""
    if capacity.isdigit():
        return str(max(int(capacity), 1) - 1)
    some = e.w.intrinsic("llvm.umax.i64", "i64", [("i64", capacity), ("i64", "1")])
    return e.w.let(f"sub i64 {some}, 1")


def _in_the_thread(e: RegionEmitter, group: Sequence[Op]) -> None:
    """Stacks of a depth that only the task knows: memory of the thread's own, grown if it is too small."""
    first = group[0]
    wanted, width = first.operands[0], e.width(first.operands[0])
    ty = type_text(i64, width)
    name, zero = e.wide(wanted, width), e.w.constant(0, i64, width)
    positive = e.w.let(f"icmp sgt {ty} {name}, {zero}")
    mask = "i1" if width == 1 else e.mask_type
    each = e.w.let(f"select {mask} {positive}, {ty} {name}, {ty} {zero}")
    capacity = each
    if width > 1:
        if e.mask is not None:
            each = e.choose(e.mask, each, zero, i64)
        capacity = e.w.intrinsic(f"llvm.vector.reduce.smax.v{width}i64", "i64", [(ty, each)])
    offsets, stride = _offsets(group, e.lanes)
    base = grown(e, e.w.let(f"add i64 {capacity}, 1"), stride, first.loc)
    checked = StackGroup(capacity, capacity, each if width > 1 else "")
    for op in group:
        origin, offset = (op.loc, op.result.name), str(offsets[op.result])
        e.counted[op.result] = CountedStack(checked, _dtype(op), origin, base, str(stride), offset)


def _dtype(op: Op) -> DType:
    assert isinstance(op.result.type, StackType)
    return op.result.type.dtype


def _offsets(group: Sequence[Op], lanes: int) -> tuple[dict[Value, int], int]:
    """Where each stack's values are in a slot, the widest first, so that all are aligned; the size of a slot."""
    at, offsets = 0, {}
    for op in sorted(group, key=lambda op: -_dtype(op).size):
        offsets[op.result] = at
        at += _dtype(op).size * lanes
    widest = max(_dtype(op).size for op in group)
    return offsets, -(-at // widest) * widest


def _address(e: RegionEmitter, stack: CountedStack, slot: str, width: int) -> Address:
    """Where the values of all lanes are in a slot (the same for all, or one each)."""
    ty = type_text(i64, width)
    if width == 1:
        stride, row = stack.group.rows.get(slot, ("", ""))
        at = row if stride == stack.stride else product(e, slot, stack.stride)
        if stack.offset != "0":
            at = e.w.let(f"add i64 {at}, {stack.offset}")
    else:
        size = stack.dtype.size
        offsets = "<" + ", ".join(f"i64 {int(stack.offset) + k * size}" for k in range(e.lanes)) + ">"
        at = e.w.let(
            f"add {ty} {e.w.let(f'mul {ty} {slot}, {e.w.constant(int(stack.stride), i64, width)}')}, {offsets}"
        )
    pointer = e.w.let(f"getelementptr i8, ptr {stack.base}, {ty} {at}")
    return Address("many" if width > 1 else "run" if e.lanes > 1 else "one", pointer)


def slot_of(e: RegionEmitter, stack: CountedStack, slot: str) -> str:
    """A pointer to a slot that is in bounds, for code of one lane."""
    return _address(e, stack, slot, 1).name


def put(e: RegionEmitter, op: Op, stack: CountedStack) -> None:
    """Write the running lanes' values to their slots; past the capacity, to the last one, with an overflow recorded."""
    _, index, value = op.operands
    group, dtype = stack.group, stack.dtype
    if e.fast_path is not None:
        address = Address("one", e.fast_path.slots[op.operands[0], index])
    else:
        key = (id(e.current), index, e.mask)
        if key not in group.places:
            group.places[key] = _checked(e, stack, index)
        address = _address(e, stack, group.places[key], e.width(index))
    name = to_memory(e, e.vector(value), dtype, e.lanes)
    if address.kind == "one":
        e.w.do(f"store {memory_type(dtype)} {name}, ptr {address.name}, align {dtype.size}")
    else:
        vector_store(e, address, dtype, name)


def _checked(e: RegionEmitter, stack: CountedStack, index: Value) -> str:
    """The slot at an index, or the last one if there is none; then the overflow is recorded."""
    group, width = stack.group, e.width(index)
    full, after = e.label("full"), e.label("put")
    name, over, before = e.wide(index, width), _over(e, group, index), e.block
    # An index counts up in a loop, and so does its product with a stride: LLVM makes an addition of it.
    counts = width == 1 and not group.each and not stack.stride.isdigit()
    row = product(e, name, stack.stride) if counts else ""
    e.split(over, full, after, unlikely=True)
    e.enter(full)
    _record(e, stack, index)
    last, recorded = product(e, group.last, stack.stride) if counts else "", e.block
    e.jump(after)
    e.enter(after)
    if width > 1 or group.each:
        return _limited(e, group, name, width)
    slot = e.w.let(f"phi i64 [ {name}, %{before} ], [ {group.last}, %{recorded} ]")  # such an index is a slot
    if counts:
        group.rows[slot] = stack.stride, e.w.let(f"phi i64 [ {row}, %{before} ], [ {last}, %{recorded} ]")
    return slot


def _limited(e: RegionEmitter, group: StackGroup, name: str, width: int) -> str:
    """An index not above the last slot; a negative one counts as huge."""
    ty, suffix = type_text(i64, width), "i64" if width == 1 else f"v{width}i64"
    last = group.last if width == 1 else e.splat(group.last, i64)
    return e.w.intrinsic(f"llvm.umin.{suffix}", ty, [(ty, name), (ty, last)])


def _inside(e: RegionEmitter, stack: CountedStack, name: str, width: int) -> str:
    """The slot to read for an index.

    Of a stride that is not known when compiling, it is the product that is limited, so that it too is counted up or
    down. A product that wraps is no other slot's unless the index is far beyond what memory can hold.
    """
    group, stride = stack.group, stack.stride
    slot = _limited(e, group, name, width)
    if width == 1 and not stride.isdigit():
        rows = [("i64", product(e, number, stride)) for number in (name, group.last)]
        group.rows[slot] = stride, e.w.intrinsic("llvm.umin.i64", "i64", rows)
    return slot


def _over(e: RegionEmitter, group: StackGroup, index: Value) -> str:
    """Whether the index of some running lane is not below its capacity (i1)."""
    width = e.width(index)
    if width == 1 and not group.each:
        return e.w.let(f"icmp uge i64 {e.wide(index, 1)}, {group.capacity}")
    ty = type_text(i64, e.lanes)
    limit = group.each or e.splat(group.capacity, i64)
    wide = e.wide(index, width)
    wide = wide if width > 1 else e.splat(wide, i64)
    return e.any(e.within(e.w.let(f"icmp uge {ty} {wide}, {limit}")))


def _record(e: RegionEmitter, stack: CountedStack, index: Value) -> None:
    wanted = e.wide(index, e.width(index))
    if e.is_varying(index):
        ty = type_text(i64, e.lanes)
        if e.mask is not None:
            wanted = e.choose(e.mask, wanted, e.w.constant(0, i64, e.lanes), i64)
        wanted = e.w.intrinsic(f"llvm.vector.reduce.smax.v{e.lanes}i64", "i64", [(ty, wanted)])
    record_overflow(
        e, e.target.scope, e.frame.stack_site(*stack.origin), stack.group.capacity, e.w.let(f"add i64 {wanted}, 1")
    )


def get(e: RegionEmitter, op: Op, stack: CountedStack) -> None:
    """Read each lane's slot at an index, kept inside the memory there is."""
    index, dtype = op.operands[1], stack.dtype
    width = e.width(index)
    if e.fast_path is not None:
        address = Address("one", e.fast_path.slots[op.operands[0], index])
    else:
        address = _address(e, stack, _inside(e, stack, e.wide(index, width), width), width)
    if address.kind == "one":
        name = e.w.let(f"load {memory_type(dtype)}, ptr {address.name}, align {dtype.size}")
        e.bind(op.result, from_memory(e, name, dtype, 1))
        return
    e.bind(op.result, from_memory(e, vector_load(e, address, dtype), dtype, e.lanes))
