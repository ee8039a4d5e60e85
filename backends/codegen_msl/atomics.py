"""Atomic updates. Serial code needs none: it loads, combines, stores. So do updates of an iteration's own elements.

The language has atomics of 32 bits, and of 64 the greatest of two without a sign. Sums, ands, ors and exclusive ors of
64 bits are made of two of 32 bits where nobody asks for the old value; other updates of 64 bits are refused.
"""

from __future__ import annotations

from typing import Final

from adstack.ir.ops import ATOMIC
from adstack.ir.structure import Op, Place
from adstack.ir.types import DType, f32

from .access import element, pointer, stored
from .checks import check_bounds
from .guards import when_inside
from .region import RegionEmitter, handles
from .spelling import bits_of, literal, type_name, unsigned_name, unsupported

__all__ = ["update"]

_NATIVE: Final = {
    "add": "atomic_fetch_add_explicit",
    "and": "atomic_fetch_and_explicit",
    "or": "atomic_fetch_or_explicit",
    "xor": "atomic_fetch_xor_explicit",
    "min": "atomic_fetch_min_explicit",
    "max": "atomic_fetch_max_explicit",
    "xchg": "atomic_exchange_explicit",
}
_ATOMIC: Final = {"i32": "atomic_int", "u32": "atomic_uint", "f32": "atomic_float"}
_HALVES: Final = ("and", "or", "xor")
_OF_FLOATS: Final = ("add", "xchg")


@handles(ATOMIC)
def _atomic(e: RegionEmitter, op: Op) -> None:
    gathered = e.gathered.get(op)
    if gathered is not None:
        gathered.add(e, op.operands[-1])
        return
    place: Place = op.attrs["place"]
    indices, values = op.operands[: place.rank], op.operands[place.rank :]
    check_bounds(e, op, place, indices)
    texts = e.all(values)
    alone = not e.frame.parallel or op in e.own
    old = ""
    if op.result.uses or "guarded" in op.attrs:
        old = e.w.variable(type_name(place.dtype), literal(place.dtype(0), place.dtype), op.result.name)
        e.bind(op.result, old)
    wanted = old if op.result.uses else ""

    def act() -> None:
        if alone:
            _plain(e, op.attrs["kind"], place, element(e, place, indices), texts, wanted)
        else:
            update(e, op.attrs["kind"], place, pointer(e, place, indices), texts, wanted)

    when_inside(e, op, act)


def _plain(e: RegionEmitter, kind: str, place: Place, at: str, values: list[str], wanted: str) -> None:
    """Load, combine, store: no other thread touches the element."""
    dtype = place.dtype
    old = e.w.let(dtype, f"{at} != 0" if dtype.is_bool else at)
    if wanted:
        e.w.line(f"{wanted} = {old};")
    e.w.line(f"{at} = {stored(_combined(e, kind, dtype, old, values), place)};")


def _combined(e: RegionEmitter, kind: str, dtype: DType, old: str, values: list[str]) -> str:
    if kind == "xchg":
        return values[0]
    if kind == "cas":
        return f"{bits_of(old, dtype)} == {bits_of(values[0], dtype)} ? {values[1]} : {old}"
    return e.combine(kind, dtype, old, values[0])


def update(e: RegionEmitter, kind: str, place: Place, where: str, values: list[str], wanted: str = "") -> None:
    """One thread's atomic update of the element at a pointer; the old value goes to the variable `wanted`, if any."""
    dtype, assigned = place.dtype, f"{wanted} = " if wanted else ""
    if dtype.bits == 64:
        e.w.line(_wide(kind, place, where, values, wanted))
    elif dtype.name in _ATOMIC and kind in (_OF_FLOATS if dtype is f32 else _NATIVE):
        at = f"(device {_ATOMIC[dtype.name]}*){where}"
        e.w.line(f"{assigned}{_NATIVE[kind]}({at}, {values[0]}, memory_order_relaxed);")
    else:
        _exchanged(e, kind, dtype, where, values, assigned)


def _wide(kind: str, place: Place, where: str, values: list[str], wanted: str) -> str:
    """An atomic update of 64 bits whose old value is not used."""
    if not wanted and place.dtype.is_integer:
        if kind == "add":
            return f"add_wide((device ulong*){where}, ulong({values[0]}));"
        if kind in _HALVES:
            halves = (f"(device atomic_uint*){where}", f"(device atomic_uint*){where} + 1")
            parts = (f"uint({values[0]})", f"uint(ulong({values[0]}) >> 32)")
            pairs = zip(halves, parts, strict=True)
            return " ".join(f"{_NATIVE[kind]}({at}, {part}, memory_order_relaxed);" for at, part in pairs)
        if kind == "max" and (place.kind == "depths" or place.dtype.kind == "u"):
            # depths are never negative
            return f"atomic_max_explicit((device atomic_ulong*){where}, ulong({values[0]}), memory_order_relaxed);"
    raise unsupported(
        f"an atomic {kind} of {place.dtype} in {place.called}: the Metal Shading Language exchanges 32 bits at most"
    )


def _exchanged(e: RegionEmitter, kind: str, dtype: DType, where: str, values: list[str], assigned: str) -> None:
    """Update by exchanging the word around the element, until no other thread has come between."""
    w = e.w
    narrow = dtype.size < 4
    address = w.typed("ulong", f"(ulong){where}", "address") if narrow else ""
    around = f"({address} & ~3ul)" if narrow else where
    at = w.typed("device atomic_uint* const", f"(device atomic_uint*){around}", "at")
    shift = w.typed("uint", f"uint({address} & 3) * 8", "shift") if narrow else ""
    seen = w.variable("uint", f"atomic_load_explicit({at}, memory_order_relaxed)", "seen")
    with w.block("while (true)"):
        old = w.let(dtype, _element(f"({seen} >> {shift})" if narrow else seen, dtype))
        new = bits_of(w.let(dtype, _combined(e, kind, dtype, old, values)), dtype)
        if narrow:
            mask = (1 << 8 * dtype.size) - 1
            new = f"({seen} & ~({mask:#x}u << {shift})) | (uint({new}) << {shift})"
        exchanged = f"{at}, &{seen}, {new}, memory_order_relaxed, memory_order_relaxed"
        leave = f"{assigned}{old}; " if assigned else ""
        w.line(f"if (atomic_compare_exchange_weak_explicit({exchanged})) {{ {leave}break; }}")


def _element(word: str, dtype: DType) -> str:
    """The value in the lower bits of a word."""
    if dtype.is_bool:
        return f"uchar({word}) != 0"
    part = word if dtype.size == 4 else f"{unsigned_name(dtype)}({word})"
    return f"as_type<{type_name(dtype)}>({part})" if dtype.is_float else f"{type_name(dtype)}({part})"
