"""Memory of the C heap that belongs to a task's function: taken when asked for, given back when it ends."""

from __future__ import annotations

from adstack.backends.shared.sites import Site
from adstack.ir.location import Loc

from ..function.region import RegionEmitter
from ..safety.checks import refuse

__all__ = ["fixed", "grown", "release", "renewed", "room"]


def renewed(e: RegionEmitter, count: str, size: int, loc: Loc) -> str:
    """Fresh zeroed memory for `count` (an i64) items of `size` bytes, in place of an earlier block; the slot of it."""
    slot = _owner(e)
    e.w.do(f"call void @free(ptr {e.w.let(f'load ptr, ptr {slot}, align 8')})")
    _fill(e, slot, count, size, loc)
    return slot


def room(e: RegionEmitter, count: int, size: int, loc: Loc) -> str:
    """Memory for `count` items of `size` bytes, the same block whenever this code runs; a pointer."""
    slot = _owner(e)
    none = e.w.let(f"icmp eq ptr {e.w.let(f'load ptr, ptr {slot}, align 8')}, null")
    take, after = e.label("take"), e.label("room")
    e.split(none, take, after)
    e.enter(take)
    _fill(e, slot, str(count), size, loc)
    e.jump(after)
    e.enter(after)
    return e.w.let(f"load ptr, ptr {slot}, align 8")


def grown(e: RegionEmitter, count: str, size: int, loc: Loc) -> str:
    """A pointer to memory for `count` (an i64) items of `size` bytes: an earlier block, if it is large enough."""
    slot, have = _owner(e), e.frame.zeroed_slot()
    wanted = e.w.let(f"mul i64 {count}, {size}")
    held = e.w.let(f"load i64, ptr {have}, align 8")
    grow, after = e.label("grow"), e.label("room")
    e.split(e.w.let(f"icmp ugt i64 {wanted}, {held}"), grow, after)
    e.enter(grow)
    e.w.do(f"call void @free(ptr {e.w.let(f'load ptr, ptr {slot}, align 8')})")
    fresh = e.w.let(f"call ptr @malloc(i64 {wanted})")
    e.w.do(f"store ptr {fresh}, ptr {slot}, align 8")
    e.w.do(f"store i64 {wanted}, ptr {have}, align 8")
    refuse(e, Site("memory", str(size), loc), e.w.let(f"icmp eq ptr {fresh}, null"), 1, ())
    e.jump(after)
    e.enter(after)
    return e.w.let(f"load ptr, ptr {slot}, align 8")


def fixed(e: RegionEmitter, count: int, size: int, loc: Loc) -> str:
    """Fresh zeroed memory for a known number of items of `size` bytes, in the frame if it fits; the slot of it."""
    if not e.frame.takes(count * size):
        return renewed(e, str(count), size, loc)
    slot, memory = e.frame.slot("ptr", 8), e.frame.slot(f"[{count * size} x i8]")
    operands = [("ptr", memory), ("i8", "0"), ("i64", str(count * size)), ("i1", "false")]
    e.w.effect("llvm.memset.p0.i64", operands)
    e.w.do(f"store ptr {memory}, ptr {slot}, align 8")
    return slot


def release(e: RegionEmitter) -> None:
    """Free all memory that the function has allocated."""
    for slot in e.frame.heap:
        e.w.do(f"call void @free(ptr {e.w.let(f'load ptr, ptr {slot}, align 8')})")


def _owner(e: RegionEmitter) -> str:
    """A slot for an address, null at first, whose memory is freed when the function ends."""
    slot = e.frame.slot("ptr", 8)
    e.frame.heap.append(slot)
    for name, text in e.target.allocators.items():
        e.w.declare(name, text)
    return slot


def _fill(e: RegionEmitter, slot: str, count: str, size: int, loc: Loc) -> None:
    fresh = e.w.let(f"call ptr @calloc(i64 {count}, i64 {size})")
    e.w.do(f"store ptr {fresh}, ptr {slot}, align 8")
    refuse(e, Site("memory", str(size), loc), e.w.let(f"icmp eq ptr {fresh}, null"), 1, ())
