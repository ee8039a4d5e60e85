"""Atomic updates. Serial code needs none: it loads, combines, stores. So do updates of an iteration's own elements."""

from __future__ import annotations

from collections.abc import Sequence

from adstack.ir.ops import ATOMIC
from adstack.ir.structure import Op, Place
from adstack.ir.types import DType, f32, u8, u16, u32, u64

from .access import address_of
from .assembly.code import Num, unsigned
from .assembly.module import memory_dtype
from .assembly.opcodes import Capability
from .assembly.opcodes import Op as Spv
from .checks import DEVICE, RELAXED, check_bounds
from .guards import guarded
from .joining import join, joins
from .memory import Address
from .region import RegionEmitter, handles

__all__ = ["LARGE", "update"]

LARGE = 2.0**-100
"""The least magnitude of an f32 that memory which flushes subnormal numbers adds exactly."""

_NATIVE = {
    "add": (Spv.AtomicIAdd, Spv.AtomicIAdd),
    "and": (Spv.AtomicAnd, Spv.AtomicAnd),
    "or": (Spv.AtomicOr, Spv.AtomicOr),
    "xor": (Spv.AtomicXor, Spv.AtomicXor),
    "min": (Spv.AtomicSMin, Spv.AtomicUMin),
    "max": (Spv.AtomicSMax, Spv.AtomicUMax),
    "xchg": (Spv.AtomicExchange, Spv.AtomicExchange),
}
"""The instruction for signed and for unsigned integers."""


@handles(ATOMIC)
def _atomic(e: RegionEmitter, op: Op) -> None:
    gathered = e.gathered.get(op)
    if gathered is not None:
        gathered.add(e, op.operands[-1])
        return
    if joins(e, op):
        join(e, op, lambda o, at, value: update(e, o.attrs["kind"], at, o.attrs["place"].dtype, value))
        return
    place: Place = op.attrs["place"]
    indices, values = op.operands[: place.rank], op.operands[place.rank :]
    check_bounds(e, op, place, indices)
    numbers = e.all(values)
    one = update if e.frame.parallel and op not in e.own else _plain
    kind = op.attrs["kind"]
    e.bind(op.result, guarded(e, op, lambda: one(e, kind, address_of(e, place, indices), place.dtype, *numbers)))


def _plain(e: RegionEmitter, kind: str, address: Address, dtype: DType, *values: Num) -> Num:
    """Load, combine, store: no other thread touches the element."""
    old = address.load(dtype)
    address.store(_combined(e, kind, dtype, old, values), dtype)
    return old


def _combined(e: RegionEmitter, kind: str, dtype: DType, old: Num, values: tuple[Num, ...]) -> Num:
    if kind == "xchg":
        return values[0]
    if kind == "cas":
        a, b = (x.bits(unsigned(dtype)) if dtype.is_float else x for x in (old, values[0]))
        return a.eq(b).choose(values[1], old)
    return e.combine(kind, dtype, old, values[0])


def update(e: RegionEmitter, kind: str, address: Address, dtype: DType, *values: Num) -> Num:
    """Emit one thread's atomic update: the device's own instruction if it has one, else a loop of compare-and-exchange.

    Args:
        e: emits it.
        kind: a name of `ATOMICS`.
        address: of the element.
        dtype: the element's type.
        values: what it is combined with; for "cas" the expected value, then the new one.

    Returns:
        The old value.
    """
    c, traits = e.c, e.m.traits
    orders = c.m.word(DEVICE), c.m.word(RELAXED)
    if dtype is f32 and kind == "add" and (traits.float_add or traits.float_add_large):
        return _added(e, address, values)
    if dtype.kind in "iu" and dtype.bits >= 32 and kind in _NATIVE and _has_atomics(e, dtype):
        signed, unsigned_ = _NATIVE[kind]
        op = signed if dtype.kind == "i" else unsigned_
        return c.let(op, dtype, address.pointer(dtype), *orders, values[0].id)
    return _exchanged(e, kind, address, dtype, values)


def _added(e: RegionEmitter, address: Address, values: tuple[Num, ...]) -> Num:
    """An addition of f32 by the memory itself, where it is exact.

    Memory that flushes subnormal numbers adds exactly what is at least 2^-100 in size: a subnormal number there is less
    than half a unit in the last place of the sum, and numbers that nearly cancel are multiples of 2^-124, and so is
    their sum, which is 0 or normal.
    """
    c, orders = e.c, (e.m.word(DEVICE), e.m.word(RELAXED))

    def native() -> list[Num]:
        c.m.need(Capability.AtomicFloat32AddEXT, "SPV_EXT_shader_atomic_float_add")
        return [c.let(Spv.AtomicFAddEXT, f32, address.pointer(f32), *orders, values[0].id)]

    if e.m.traits.float_add:
        return native()[0]
    large = (values[0].bits(u32) & 0x7FFFFFFF) >= c.const(LARGE, f32).bits(u32)
    return c.either(large, native, lambda: [_exchanged(e, "add", address, f32, values)])[0]


def _has_atomics(e: RegionEmitter, dtype: DType) -> bool:
    if dtype.bits == 64:
        if not e.m.traits.int64_atomics:
            return False
        e.m.need(Capability.Int64Atomics)
    return True


def _exchanged(e: RegionEmitter, kind: str, address: Address, dtype: DType, values: tuple[Num, ...]) -> Num:
    """Update by a compare-and-exchange loop on the bits; a narrow element is part of its word."""
    c = e.c
    word = u64 if dtype.bits == 64 else u32
    if dtype.bits == 64:
        _need_long(e)
    around, shift = address.word() if dtype.size < 4 else (address, None)
    scope, order = c.m.word(DEVICE), c.m.word(RELAXED)

    last = start = around.load(word)
    at = around.pointer(word)

    def attempt(carried: Sequence[Num]) -> tuple[Num, Sequence[Num]]:
        nonlocal last
        last = seen = carried[0]
        old = _element(seen, shift, dtype)
        new = _inserted(seen, shift, _combined(e, kind, dtype, old, values), dtype)
        before = c.let(Spv.AtomicCompareExchange, word, at, scope, order, order, new.id, seen.id)
        return before.ne(seen), [before]

    c.until([start], attempt)
    return _element(last, shift, dtype)


def _need_long(e: RegionEmitter) -> None:
    from adstack.errors import BackendUnavailableError

    if not e.m.traits.int64_atomics:
        raise BackendUnavailableError(
            "an atomic update of 64 bits needs shaderBufferInt64Atomics, which the device does not have",
            do="use a type of 32 bits, or another device",
        )
    e.m.need(Capability.Int64Atomics)


def _element(word: Num, shift: Num | None, dtype: DType) -> Num:
    """The value of an element in a word."""
    if shift is not None:
        bits = u8 if dtype.size == 1 else u16
        word = (word >> shift).resize(bits)
    if dtype.is_bool:
        return word.ne(0)
    return word.bits(dtype) if dtype.is_float else word.signed(dtype)


def _inserted(word: Num, shift: Num | None, value: Num, dtype: DType) -> Num:
    """The word with a new element in it."""
    if dtype.is_float:
        value = value.bits(unsigned(dtype))
    raw = value.resize(memory_dtype(dtype)) if dtype.is_bool else value
    if shift is None:
        return raw.signed(word.dtype)
    mask = (1 << 8 * dtype.size) - 1
    ones = word.c.const(mask, u32) << shift
    bits = raw.signed(u8 if dtype.size == 1 else u16).resize(u32)
    return (word & ~ones) | (bits << shift)
