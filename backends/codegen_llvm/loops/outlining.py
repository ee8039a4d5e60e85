"""Cold-path outlining: cold sides of math functions as scalar functions, called for each lane that takes them.

Such code is compiled far more often than it runs, so it is made for LLVM's fast instruction selector, which takes a
tenth of the other's time: never widened to vectors, never optimised, and what lanes give and take goes through memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adstack.ir.def_use import live_in
from adstack.ir.structure import Region, Value
from adstack.ir.types import DType, u1

from ..function.module import Module
from ..function.region import RegionEmitter
from ..memory.access import from_memory, memory_type, to_memory
from ..text.writer import Writer, return_values, type_text

__all__ = ["call_outlined", "call_outlined_per_lane"]

Constants = Mapping[Value, str]


def call_outlined(e: RegionEmitter, region: Region) -> list[str]:
    """Call a side in code of one lane; gives its results. If the side has a loop over lanes, that is called."""
    free, constants = _taken(e, region)
    loop = e.module.cold.get(("lanes", region))
    if loop is not None:
        return _by_memory(e, loop, region, free, [e.w.constant(True, u1, 1), *map(e.scalar, free)])
    symbol = e.module.once(("one", region), lambda symbol: _one(e.module, symbol, region, free, constants))
    args = [f"{type_text(v.dtype, 1)} {e.scalar(v)}" for v in free]
    value = e.w.let(f"call {_struct(region)} @{symbol}({', '.join(args)})")
    return [e.w.let(f"extractvalue {_struct(region)} {value}, {k}") for k in range(len(region.terminator.operands))]


def call_outlined_per_lane(e: RegionEmitter, region: Region, mask: str, others: Sequence[str] = ()) -> list[str]:
    """Call a side for each lane of a mask; gives its results, in the other lanes those of `others`, or anything."""
    free, constants = _taken(e, region)
    loop = e.module.once(("lanes", region), lambda symbol: _loop(e.module, symbol, region, free, constants))
    return _by_memory(e, loop, region, free, [mask, *map(e.vector, free), *others])


def _taken(e: RegionEmitter, region: Region) -> tuple[list[Value], Constants]:
    """The values that are live into a side: those that are not constants, and the constants."""
    taken = live_in(region)
    return [v for v in taken if not e.is_constant(v)], {v: e.scalar(v) for v in taken if e.is_constant(v)}


def _by_memory(
    e: RegionEmitter, loop: str, region: Region, free: Sequence[Value], arguments: Sequence[str]
) -> list[str]:
    """Call a loop over lanes: `arguments` has the mask, the operands, and what the results start with."""
    results = region.terminator.operands
    dtypes = [u1, *(v.dtype for v in (*free, *results))]
    types = [_memory(dtype, e.lanes) for dtype in dtypes]
    slots = [e.slot(ty) for ty in types]
    for dtype, ty, slot, name in zip(dtypes, types, slots, arguments, strict=False):
        e.w.do(f"store {ty} {to_memory(e, name, dtype, e.lanes)}, ptr {slot}, align 64")
    e.w.do(f"call void @{loop}(i64 {e.lanes}, {', '.join(f'ptr {slot}' for slot in slots)})")
    first = 1 + len(free)
    taken = list(zip(dtypes[first:], types[first:], slots[first:], strict=True))
    loaded = [(e.w.let(f"load {ty}, ptr {slot}, align 64"), dtype) for dtype, ty, slot in taken]
    return [from_memory(e, name, dtype, e.lanes) for name, dtype in loaded]


def _memory(dtype: DType, lanes: int) -> str:
    return memory_type(dtype) if lanes == 1 else f"<{lanes} x {memory_type(dtype)}>"


def _types(region: Region) -> list[str]:
    return [type_text(v.dtype, 1) for v in region.terminator.operands]


def _struct(region: Region) -> str:
    return f"{{ {', '.join(_types(region))} }}"


# ---- the functions


def _scalar(module: Module, constants: Constants) -> RegionEmitter:
    """An emitter for the body of a function that runs a side for one lane."""
    e = RegionEmitter(module, Writer(), 1, set())
    for value, text in constants.items():
        e.give(value, text)
    return e


def _one(module: Module, symbol: str, region: Region, free: Sequence[Value], constants: Constants) -> str:
    """A function from the values that a side takes to a struct of its results."""
    e = _scalar(module, constants)
    for k, v in enumerate(free):
        e.bind(v, f"%p{k}")
    values = e.region(region)
    e.jump("out")  # the fast selector knows no structs, and leaves the whole block around one to the slow one
    e.enter("out")
    result = return_values(e.w, [e.scalar(v) for v in values], _types(region), struct=True)
    params = ", ".join(f"{type_text(v.dtype, 1)} %p{k}" for k, v in enumerate(free))
    return _text(module, e, f"{result} @{symbol}({params})")


def _loop(module: Module, symbol: str, region: Region, free: Sequence[Value], constants: Constants) -> str:
    """`void symbol(i64 lanes, ptr wanted, ptr arguments..., ptr results...)`, for any number of lanes."""
    e = _scalar(module, constants)
    e.jump("head")
    e.enter("head")
    lane = e.w.let("phi i64 [ 0, %entry ], [ %next, %after ]")
    e.w.do(f"%next = add i64 {lane}, 1")
    e.split(_load(e, "%wanted", lane, u1), "run", "after")
    e.enter("run")
    for k, v in enumerate(free):
        e.bind(v, _load(e, f"%a{k}", lane, v.dtype))
    values = e.region(region)
    for k, v in enumerate(values):
        name = to_memory(e, e.scalar(v), v.dtype, 1)
        e.w.do(f"store {memory_type(v.dtype)} {name}, ptr {_at(e, f'%r{k}', lane, v.dtype)}, align {v.dtype.size}")
    e.jump("after")
    e.enter("after")
    e.split(e.w.let("icmp ult i64 %next, %lanes"), "head", "out")
    e.enter("out")
    e.w.do("ret void")
    params = ["%wanted", *(f"%a{k}" for k in range(len(free))), *(f"%r{k}" for k in range(len(values)))]
    return _text(module, e, f"void @{symbol}(i64 %lanes, {', '.join(f'ptr {p}' for p in params)})")


def _text(module: Module, e: RegionEmitter, head: str) -> str:
    module.take(e.w)
    body = "\n".join([*e.slots, *e.w.lines])
    return f"define internal {head} #1 {{\nentry:\n{body}\n}}\n"


def _at(e: RegionEmitter, base: str, lane: str, dtype: DType) -> str:
    return e.w.let(f"getelementptr inbounds {memory_type(dtype)}, ptr {base}, i64 {lane}")


def _load(e: RegionEmitter, base: str, lane: str, dtype: DType) -> str:
    name = e.w.let(f"load {memory_type(dtype)}, ptr {_at(e, base, lane, dtype)}, align {dtype.size}")
    return from_memory(e, name, dtype, 1)
