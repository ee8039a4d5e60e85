"""Atomic updates by one lane: of an element that others may update at the same time, and of one that none does."""

from __future__ import annotations

from collections.abc import Sequence

from adstack.analysis.reductions import neutral
from adstack.ir.ops import ATOMICS, TABLE
from adstack.ir.types import DType, u1

from ..function.region import RegionEmitter
from ..text.scalar_ops import emit
from ..text.writer import literal, scalar_type, type_text
from .access import from_memory, memory_type, to_memory

__all__ = ["add_plainly", "combine", "combined", "identity", "update"]

_NATIVE = {"add": "add", "and": "and", "or": "or", "xor": "xor", "xchg": "xchg"}


def identity(kind: str, dtype: DType) -> str:
    """The neutral element of a kind of atomics, as a literal."""
    return literal(neutral(kind, dtype), dtype)


def combine(e: RegionEmitter, lanes: int, kind: str, dtype: DType, a: str, b: str) -> str:
    """Two numbers, or vectors of so many, combined as an atomic of that kind does."""
    return emit(e.w, lanes, TABLE[kind], dtype, (dtype, dtype), (a, b))


def combined(e: RegionEmitter, lanes: int, kind: str, dtype: DType, old: str, values: Sequence[str]) -> str:
    """What an atomic of that kind writes: `combine`, or an exchange, with or without a comparison."""
    if kind == "xchg":
        return values[0]
    if kind == "cas":
        ty, word = type_text(dtype, lanes), f"i{dtype.bits}" if lanes == 1 else f"<{lanes} x i{dtype.bits}>"
        a, b = (e.w.let(f"bitcast {ty} {v} to {word}") if dtype.is_float else v for v in (old, values[0]))
        same = e.w.let(f"icmp eq {word} {a}, {b}")
        return e.w.let(f"select {type_text(u1, lanes)} {same}, {ty} {values[1]}, {ty} {old}")
    return combine(e, lanes, kind, dtype, old, values[0])


def update(e: RegionEmitter, kind: str, pointer: str, dtype: DType, *values: str, wanted: bool = True) -> str:
    """One lane's atomic update; the old value, which may be poison where it is not wanted."""
    assert kind in ATOMICS
    if not dtype.is_float and kind in _NATIVE:
        value = to_memory(e, values[0], dtype, 1)
        return from_memory(e, _atomic_update(e, _NATIVE[kind], pointer, dtype, value, wanted=wanted), dtype, 1)
    if dtype.kind in "iu" and kind in ("min", "max"):
        word = kind if dtype.kind == "i" else f"u{kind}"
        return _atomic_update(e, word, pointer, dtype, values[0], wanted=wanted)
    least = e.target.float_adds.get(dtype.name) if kind == "add" else None
    if least == 0:
        return _atomic_update(e, "fadd", pointer, dtype, values[0], wanted=wanted)
    if least is not None:
        return _added(e, pointer, dtype, values[0], least, wanted=wanted)
    return _exchanged(e, kind, pointer, dtype, values)


def _added(e: RegionEmitter, pointer: str, dtype: DType, value: str, least: float, *, wanted: bool) -> str:
    """Add by one instruction if its magnitude is at least `least`, from which that is exact; NaN is not."""
    w, ty = e.w, scalar_type(dtype)
    size = w.intrinsic(f"llvm.fabs.f{dtype.bits}", ty, [(ty, value)])
    small, large, after = e.label("small"), e.label("large"), e.label("added")
    e.split(w.let(f"fcmp olt {ty} {size}, {literal(least, dtype)}"), small, large)
    e.enter(large)
    old, here = _atomic_update(e, "fadd", pointer, dtype, value, wanted=wanted), e.block
    e.jump(after)
    e.enter(small)
    other, there = _exchanged(e, "add", pointer, dtype, (value,), spares=True), e.block
    e.jump(after)
    e.enter(after)
    return w.let(f"phi {ty} [ {old}, %{here} ], [ {other}, %{there} ]")


def _atomic_update(e: RegionEmitter, word: str, pointer: str, dtype: DType, value: str, *, wanted: bool) -> str:
    """An update by one instruction of the target; the old value, or poison if it is not wanted."""
    if not wanted and e.target.reduce(e, word, pointer, dtype, value):
        return "poison"
    where = f"ptr {pointer}, {memory_type(dtype)} {value}"
    return e.w.let(f"atomicrmw {word} {where}{e.target.scope} monotonic, align {dtype.size}")


def _exchanged(
    e: RegionEmitter, kind: str, pointer: str, dtype: DType, values: tuple[str, ...], *, spares: bool = False
) -> str:
    """Update by a compare-and-exchange loop on the bits.

    With `spares`, bits that would not change are not written, as many threads that add zero would wait for each other.
    """
    word, ty, size = f"i{8 * dtype.size}", scalar_type(dtype), dtype.size
    before, head, after = e.block, e.label("try"), e.label("done")
    order = f" atomic {word}, ptr {pointer}{e.target.scope} monotonic" if spares else f" {word}, ptr {pointer}"
    start = e.w.let(f"load{order}, align {size}")
    e.jump(head)
    e.enter(head)
    seen = e.w.let("phi " + word)
    line = len(e.w.lines) - 1
    old = e.w.let(f"bitcast {word} {seen} to {ty}") if dtype.is_float else from_memory(e, seen, dtype, 1)
    new = combined(e, 1, kind, dtype, old, values)
    raw = e.w.let(f"bitcast {ty} {new} to {word}") if dtype.is_float else to_memory(e, new, dtype, 1)
    if spares:
        change = e.label("change")
        e.split(e.w.let(f"icmp eq {word} {raw}, {seen}"), after, change)
        e.enter(change)
    swap = f"cmpxchg ptr {pointer}, {word} {seen}, {word} {raw}{e.target.scope}"
    pair = e.w.let(f"{swap} monotonic monotonic, align {size}")
    now = e.w.let(f"extractvalue {{ {word}, i1 }} {pair}, 0")
    done = e.w.let(f"extractvalue {{ {word}, i1 }} {pair}, 1")
    e.w.lines[line] += f" [ {start}, %{before} ], [ {now}, %{e.block} ]"
    e.split(done, after, head)
    e.enter(after)
    return old


def add_plainly(e: RegionEmitter, kind: str, dtype: DType, pointer: str, value: str) -> None:
    """Load, combine, store, in one lane."""
    ty = scalar_type(dtype)
    old = e.w.let(f"load {ty}, ptr {pointer}, align {dtype.size}")
    e.w.do(f"store {ty} {combine(e, 1, kind, dtype, old, value)}, ptr {pointer}, align {dtype.size}")
