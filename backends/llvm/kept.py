"""Adstacks whose count the program keeps: `stack.put` and `stack.get`, over one lane or many.

Slot i of lane t stands at i * lanes + t, so that lanes that push together write neighbouring words. There is no header
and no adjoint. The memory is the thread's own, kept from one run of the allocation to the next and grown when it is too
small.
"""

from __future__ import annotations

from dataclasses import dataclass

from adstack.ir.structure import Op, Value
from adstack.ir.types import DType, StackType, i64

from .access import Address, from_memory, memory_type, to_memory, vector_load, vector_store
from .frame import Site
from .region import RegionEmitter
from .writer import type_text

__all__ = ["KEPT", "Kept", "alloca", "get", "put"]

KEPT = ("stack.put", "stack.get")
"""The ops of a stack of this kind; the others belong to the machine with a counter and adjoints."""


@dataclass(frozen=True)
class Kept:
    """A stack.

    Attributes:
        site: its number, for the overflow record.
        dtype: of its values.
        base: the address of its slots.
        capacity: the greatest of any lane (i64).
        each: the capacity of every lane (a vector), if they differ.
    """

    site: int
    dtype: DType
    base: str
    capacity: str
    each: str = ""


def alloca(e: RegionEmitter, op: Op) -> Kept:
    """Make room for the greatest capacity of any lane."""
    assert isinstance(op.result.type, StackType)
    dtype = op.result.type.dtype
    wanted, width = op.operands[0], e.width(op.operands[0])
    ty = type_text(i64, width)
    name = e.wide(wanted, width)
    positive = e.w.let(f"icmp sgt {ty} {name}, {e.w.constant(0, i64, width)}")
    mask = "i1" if width == 1 else e.mask_type
    each = e.w.let(f"select {mask} {positive}, {ty} {name}, {ty} {e.w.constant(0, i64, width)}")
    capacity = each
    if width > 1:
        if e.mask is not None:
            each = e.choose(e.mask, each, e.w.constant(0, i64, width), i64)
        capacity = e.w.intrinsic(f"llvm.vector.reduce.smax.v{width}i64", "i64", [(ty, each)])
    base = _room(e, capacity, dtype.size * e.lanes)
    site = e.frame.site(Site("stack", "", op.loc, (dtype,)))
    return Kept(site, dtype, base, capacity, each if width > 1 else "")


def _room(e: RegionEmitter, capacity: str, slot_bytes: int) -> str:
    """The address of memory for so many slots, and at least one."""
    pointer, have = e.frame.slot("ptr", 8), e.frame.zeroed_slot()
    e.frame.heap.append(pointer)
    e.w.declare("aligned_alloc", "declare ptr @aligned_alloc(i64, i64)")
    e.w.declare("free", "declare void @free(ptr)")
    some = e.w.let(f"add i64 {capacity}, 1")
    size = e.w.let(f"mul i64 {some}, {slot_bytes}")
    size = e.w.let(f"and i64 {e.w.let(f'add i64 {size}, 63')}, -64")
    held = e.w.let(f"load i64, ptr {have}, align 8")
    grow, after = e.label("grow"), e.label("room")
    e.split(e.w.let(f"icmp ugt i64 {size}, {held}"), grow, after)
    e.enter(grow)
    e.w.do(f"call void @free(ptr {e.w.let(f'load ptr, ptr {pointer}, align 8')})")
    fresh = e.w.let(f"call ptr @aligned_alloc(i64 64, i64 {size})")
    e.w.do(f"store ptr {fresh}, ptr {pointer}, align 8")
    e.w.do(f"store i64 {size}, ptr {have}, align 8")
    e.jump(after)
    e.enter(after)
    return e.w.let(f"load ptr, ptr {pointer}, align 8")


def _address(e: RegionEmitter, stack: Kept, index: Value, clamp: bool) -> Address:
    """Where the slots of all lanes are at an index (the same for all, or one each)."""
    width = e.width(index)
    name, ty = e.wide(index, width), type_text(i64, width)
    if clamp:
        name = _clamped(e, stack, name, width)
    scaled = e.w.let(f"mul {ty} {name}, {e.w.constant(e.lanes, i64, width)}")
    element = memory_type(stack.dtype)
    if width == 1:
        at = e.w.let(f"getelementptr {element}, ptr {stack.base}, i64 {scaled}")
        return Address("run" if e.lanes > 1 else "one", at)
    lane_numbers = "<" + ", ".join(f"i64 {k}" for k in range(e.lanes)) + ">"
    offsets = e.w.let(f"add {ty} {scaled}, {lane_numbers}")
    return Address("many", e.w.let(f"getelementptr {element}, ptr {stack.base}, {ty} {offsets}"))


def _clamped(e: RegionEmitter, stack: Kept, name: str, width: int) -> str:
    """An index inside the slots there are."""
    ty = type_text(i64, width)
    suffix = "i64" if width == 1 else f"v{width}i64"
    last = stack.capacity if width == 1 else e.splat(stack.capacity, i64)
    low = e.w.intrinsic(f"llvm.smax.{suffix}", ty, [(ty, name), (ty, e.w.constant(0, i64, width))])
    return e.w.intrinsic(f"llvm.smin.{suffix}", ty, [(ty, low), (ty, last)])


def put(e: RegionEmitter, op: Op, stack: Kept) -> None:
    """Write the running lanes' values; where there is no slot, record the overflow instead."""
    _, index, value = op.operands
    fits, full, after = e.label("fits"), e.label("full"), e.label("put")
    e.split(_over(e, stack, index), full, fits, rare=True)
    e.enter(full)
    _record(e, stack, index)
    e.jump(after)
    e.enter(fits)
    address = _address(e, stack, index, clamp=False)
    dtype = stack.dtype
    name = to_memory(e, e.vector(value), dtype, e.lanes)
    if address.kind == "one":
        e.w.do(f"store {memory_type(dtype)} {name}, ptr {address.name}, align {dtype.size}")
    else:
        vector_store(e, address, dtype, name)
    e.jump(after)
    e.enter(after)


def _over(e: RegionEmitter, stack: Kept, index: Value) -> str:
    """Whether some running lane's index is past its capacity (a negative one is huge)."""
    width = e.width(index)
    if width == 1 and not stack.each:
        return e.w.let(f"icmp uge i64 {e.wide(index, 1)}, {stack.capacity}")
    ty = type_text(i64, e.lanes)
    limit = stack.each or e.splat(stack.capacity, i64)
    wide = e.wide(index, width)
    wide = wide if width > 1 else e.splat(wide, i64)
    return e.any(e.within(e.w.let(f"icmp uge {ty} {wide}, {limit}")))


def _record(e: RegionEmitter, stack: Kept, index: Value) -> None:
    from .stacks import overflowed

    wanted = e.wide(index, e.width(index))
    if e.is_varying(index):
        ty = type_text(i64, e.lanes)
        wanted = e.w.intrinsic(f"llvm.vector.reduce.smax.v{e.lanes}i64", "i64", [(ty, wanted)])
    overflowed(e, stack.site, stack.capacity, e.w.let(f"add i64 {wanted}, 1"))


def get(e: RegionEmitter, op: Op, stack: Kept) -> None:
    """Read each lane's slot at an index, clamped to the slots there are."""
    address, dtype = _address(e, stack, op.operands[1], clamp=True), stack.dtype
    if address.kind == "one":
        name = e.w.let(f"load {memory_type(dtype)}, ptr {address.name}, align {dtype.size}")
        e.bind(op.result, from_memory(e, name, dtype, 1))
        return
    e.bind(op.result, from_memory(e, vector_load(e, address, dtype), dtype, e.lanes))
