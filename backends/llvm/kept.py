"""Adstacks whose count the program keeps: `stack.put` and `stack.get`, over one lane or many.

Stacks made side by side with one capacity are a group: they live in one piece of memory, slot by slot, and what is
pushed together is checked together. In slot i of a group the values of one stack stand side by side for all lanes, so
that lanes that push together write neighbouring words. There is no header and no adjoint. The memory is the thread's
own, kept from one run of the allocation to the next and grown when it is too small. One slot more than the capacity
is there: what would overflow goes to it, and the overflow is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from adstack.ir.structure import Op, Region, Value
from adstack.ir.types import DType, StackType, i64

from . import heap
from .access import Address, from_memory, memory_type, to_memory, vector_load, vector_store
from .frame import Site
from .region import RegionEmitter
from .writer import type_text

__all__ = ["KEPT", "Group", "Kept", "alloca", "counted_stacks", "get", "put"]

KEPT = ("stack.put", "stack.get")
"""The ops of a stack of this kind; the others belong to the machine with a counter and adjoints."""


@dataclass
class Group:
    """Stacks of one capacity.

    Attributes:
        site: number of the first one, for the overflow record.
        base: the address of their slots.
        stride: bytes from slot to slot.
        capacity: the greatest of any lane (i64).
        each: the capacity of every lane (a vector), if they differ.
        places: per checked (region, index, mask), the slot to write to.
    """

    site: int
    base: str
    stride: int
    capacity: str
    each: str = ""
    places: dict[tuple[int, Value, str | None], str] = field(default_factory=dict)


@dataclass(frozen=True)
class Kept:
    """A stack: where its values are in a slot of its group, in bytes."""

    group: Group
    dtype: DType
    offset: int


def counted_stacks(body: Region) -> dict[Value, tuple[Op, ...]]:
    """The adstacks of which the program keeps the count, each with those of its group: all stand in one region."""
    machines = {
        op.operands[0] for op in body.walk() if op.name.startswith("stack.") and op.name not in ("stack.alloca", *KEPT)
    }
    found: dict[Value, tuple[Op, ...]] = {}
    work = [body]
    while work:
        region = work.pop()
        groups: dict[Value, list[Op]] = {}
        for op in region.ops:
            work += op.regions
            if op.name == "stack.alloca" and op.result not in machines:
                groups.setdefault(op.operands[0], []).append(op)
        for ops in groups.values():
            found.update((op.result, tuple(ops)) for op in ops)
    return found


def alloca(e: RegionEmitter, group: Sequence[Op]) -> None:
    """Make room for a whole group, when its first stack is made."""
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
    site = e.frame.site(Site("stack", "", first.loc, (_dtype(first),)))
    offsets, stride = _offsets(group, e.lanes)
    slots = e.w.let(f"add i64 {capacity}, 1")
    made = Group(site, heap.grown(e, slots, stride, first.loc), stride, capacity, each if width > 1 else "")
    for op in group:
        e.kept[op.result] = Kept(made, _dtype(op), offsets[op.result])


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


def _address(e: RegionEmitter, stack: Kept, slot: str, width: int) -> Address:
    """Where the values of all lanes are in a slot (the same for all, or one each)."""
    ty = type_text(i64, width)
    scaled = e.w.let(f"mul {ty} {slot}, {e.w.constant(stack.group.stride, i64, width)}")
    offset = e.w.constant(stack.offset, i64, width)
    if width > 1:
        size = stack.dtype.size
        offset = "<" + ", ".join(f"i64 {stack.offset + k * size}" for k in range(e.lanes)) + ">"
    at = e.w.let(f"add {ty} {scaled}, {offset}")
    pointer = e.w.let(f"getelementptr i8, ptr {stack.group.base}, {ty} {at}")
    return Address("many" if width > 1 else "run" if e.lanes > 1 else "one", pointer)


def put(e: RegionEmitter, op: Op, stack: Kept) -> None:
    """Write the running lanes' values."""
    _, index, value = op.operands
    group, dtype = stack.group, stack.dtype
    key = (id(e.current), index, e.mask)
    if key not in group.places:
        group.places[key] = _checked(e, group, index)
    address = _address(e, stack, group.places[key], e.width(index))
    name = to_memory(e, e.vector(value), dtype, e.lanes)
    if address.kind == "one":
        e.w.do(f"store {memory_type(dtype)} {name}, ptr {address.name}, align {dtype.size}")
    else:
        vector_store(e, address, dtype, name)


def _checked(e: RegionEmitter, group: Group, index: Value) -> str:
    """The slot at an index, or the spare one if there is none; then the overflow is recorded."""
    width = e.width(index)
    full, after = e.label("full"), e.label("put")
    e.split(_over(e, group, index), full, after, rare=True)
    e.enter(full)
    _record(e, group, index)
    e.jump(after)
    e.enter(after)
    return _limited(e, group, e.wide(index, width), width)


def _limited(e: RegionEmitter, group: Group, name: str, width: int) -> str:
    """An index not above the capacity; a negative one counts as huge."""
    ty, suffix = type_text(i64, width), "i64" if width == 1 else f"v{width}i64"
    last = group.capacity if width == 1 else e.splat(group.capacity, i64)
    return e.w.intrinsic(f"llvm.umin.{suffix}", ty, [(ty, name), (ty, last)])


def _over(e: RegionEmitter, group: Group, index: Value) -> str:
    """Whether some running lane's index is past its capacity."""
    width = e.width(index)
    if width == 1 and not group.each:
        return e.w.let(f"icmp uge i64 {e.wide(index, 1)}, {group.capacity}")
    ty = type_text(i64, e.lanes)
    limit = group.each or e.splat(group.capacity, i64)
    wide = e.wide(index, width)
    wide = wide if width > 1 else e.splat(wide, i64)
    return e.any(e.within(e.w.let(f"icmp uge {ty} {wide}, {limit}")))


def _record(e: RegionEmitter, group: Group, index: Value) -> None:
    from .stacks import overflowed

    wanted = e.wide(index, e.width(index))
    if e.is_varying(index):
        ty = type_text(i64, e.lanes)
        wanted = e.w.intrinsic(f"llvm.vector.reduce.smax.v{e.lanes}i64", "i64", [(ty, wanted)])
    overflowed(e, group.site, group.capacity, e.w.let(f"add i64 {wanted}, 1"))


def get(e: RegionEmitter, op: Op, stack: Kept) -> None:
    """Read each lane's slot at an index, kept inside the memory there is."""
    index, dtype = op.operands[1], stack.dtype
    width = e.width(index)
    address = _address(e, stack, _limited(e, stack.group, e.wide(index, width), width), width)
    if address.kind == "one":
        name = e.w.let(f"load {memory_type(dtype)}, ptr {address.name}, align {dtype.size}")
        e.bind(op.result, from_memory(e, name, dtype, 1))
        return
    e.bind(op.result, from_memory(e, vector_load(e, address, dtype), dtype, e.lanes))
