"""Long sides of math functions that hardly any number takes: scalar functions, called for each lane that wants them.

Such code is compiled far more often than it runs, so it is made for LLVM's fast instruction selector, which takes a
tenth of the other's time: never widened to vectors, never optimised, and what lanes give and take goes through memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from adstack.ir.structure import Region, Value
from adstack.ir.types import DType, u1

from .access import from_memory, memory_type, to_memory
from .module import Module
from .region import RegionEmitter
from .writer import Writer, type_text

__all__ = ["called", "lane_by_lane"]


def _outlined(e: RegionEmitter, region: Region) -> tuple[str, list[Value]]:
    """A side as a function: its symbol, and the values that it takes."""
    inner = {v for op in region.walk() for v in op.results}
    taken = {v: None for op in region.walk() for v in op.operands if v not in inner}
    constants = {v: e.scalar(v) for v in taken if e.is_constant(v)}
    free = [v for v in taken if not e.is_constant(v)]
    return e.module.outlined(region, free, constants), free


def called(e: RegionEmitter, region: Region) -> list[str]:
    """Call a side for the one lane there is; what it gives."""
    symbol, free = _outlined(e, region)
    results = region.terminator.operands
    args = [f"{type_text(v.dtype, 1)} {e.scalar(v)}" for v in free]
    value = e.w.let(f"call {_struct(results)} @{symbol}({', '.join(args)})")
    return [e.w.let(f"extractvalue {_struct(results)} {value}, {k}") for k in range(len(results))]


def lane_by_lane(e: RegionEmitter, region: Region, mask: str, others: Sequence[str] = ()) -> list[str]:
    """Call a side for each lane of a mask; the other lanes get what `others` has, else nothing in particular."""
    symbol, free = _outlined(e, region)
    results = region.terminator.operands
    loop = f"{symbol}.lanes"
    e.module.once(loop, lambda: _loop(e.module, loop, symbol, free, results))
    wanted = e.slot(f"<{e.lanes} x i8>")
    e.w.do(f"store <{e.lanes} x i8> {to_memory(e, mask, u1, e.lanes)}, ptr {wanted}, align 64")
    slots = [e.slot(_vector(e, v)) for v in (*free, *results)]
    given = [*map(e.vector, free), *others]
    for v, name, slot in zip((*free, *results), given, slots, strict=False):
        e.w.do(f"store {_vector(e, v)} {to_memory(e, name, v.dtype, e.lanes)}, ptr {slot}, align 64")
    e.w.do(f"call void @{loop}(i64 {e.lanes}, {', '.join(f'ptr {slot}' for slot in (wanted, *slots))})")
    taken = zip(results, slots[len(free) :], strict=True)
    loaded = [(v, e.w.let(f"load {_vector(e, v)}, ptr {slot}, align 64")) for v, slot in taken]
    return [from_memory(e, name, v.dtype, e.lanes) for v, name in loaded]


def _vector(e: RegionEmitter, value: Value) -> str:
    return f"<{e.lanes} x {memory_type(value.dtype)}>"


def _struct(values: Sequence[Value]) -> str:
    return f"{{ {', '.join(type_text(v.dtype, 1) for v in values)} }}"


def _loop(module: Module, name: str, symbol: str, free: Sequence[Value], results: Sequence[Value]) -> str:
    """`void name(i64 lanes, ptr wanted, ptr arguments..., ptr results...)`, for any number of lanes."""
    w = Writer()
    e = RegionEmitter(module, w, 1, set())
    e.jump("head")
    e.enter("head")
    lane = w.let("phi i64 [ 0, %entry ], [ %next, %after ]")
    w.do(f"%next = add i64 {lane}, 1")
    e.split(_load(e, "%wanted", lane, u1), "run", "after")
    e.enter("run")
    args = [f"{type_text(v.dtype, 1)} {_load(e, f'%a{k}', lane, v.dtype)}" for k, v in enumerate(free)]
    value = w.let(f"call {_struct(results)} @{symbol}({', '.join(args)})")
    for k, v in enumerate(results):
        one = to_memory(e, w.let(f"extractvalue {_struct(results)} {value}, {k}"), v.dtype, 1)
        w.do(f"store {memory_type(v.dtype)} {one}, ptr {_at(e, f'%r{k}', lane, v.dtype)}, align {v.dtype.size}")
    e.jump("after")
    e.enter("after")
    e.split(w.let("icmp ult i64 %next, %lanes"), "head", "out")
    e.enter("out")
    w.do("ret void")
    params = ["%wanted", *(f"%a{k}" for k in range(len(free))), *(f"%r{k}" for k in range(len(results)))]
    head = f"define internal void @{name}(i64 %lanes, {', '.join(f'ptr {p}' for p in params)})"
    return f"{head} #1 {{\nentry:\n" + "\n".join(w.lines) + "\n}\n"


def _at(e: RegionEmitter, base: str, lane: str, dtype: DType) -> str:
    return e.w.let(f"getelementptr inbounds {memory_type(dtype)}, ptr {base}, i64 {lane}")


def _load(e: RegionEmitter, base: str, lane: str, dtype: DType) -> str:
    name = e.w.let(f"load {memory_type(dtype)}, ptr {_at(e, base, lane, dtype)}, align {dtype.size}")
    return from_memory(e, name, dtype, 1)
