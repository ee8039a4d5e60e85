"""What is tried on a device to know its traits: shader code on many operands, and what should come out of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from adstack.ir.arithmetic import fma as exact_fma
from adstack.ir.types import Array, DType, f16, f32, f64, u1, u32

from .assembly.code import Code, Num, unsigned
from .assembly.opcodes import Capability
from .assembly.opcodes import Op as Spv
from .atomics import LARGE
from .memory import Address
from .scalars import floats, steps
from .scalars.integral import WAYS

__all__ = ["CASES", "TRIALS", "Trial", "operands"]

CASES: Final = 512
"""How many operands of each kind there are."""
_MOST_ITERATIONS: Final = 70_000


class Trial:
    """One thing tried: what a thread does with three operands, and what should come out.

    Attributes:
        name: of the trait.
        dtype: of the operands.
        needs: features without which it can't be tried, and does not hold.
        run: emits it.
        wanted: the right results.
    """

    def __init__(
        self,
        name: str,
        dtype: DType,
        needs: tuple[str, ...],
        run: Callable[[Code, Address, tuple[Num, ...]], Num],
        wanted: Callable[..., Array],
        to: DType | None = None,
    ) -> None:
        self.name, self.dtype, self.needs, self.run, self.wanted = name, dtype, needs, run, wanted
        self.to = to or dtype


def _atomic_add(c: Code, address: Address, x: tuple[Num, ...]) -> Num:
    """Added to memory that holds the first operand."""
    c.m.need(Capability.AtomicFloat32AddEXT, "SPV_EXT_shader_atomic_float_add")
    c.let(Spv.AtomicFAddEXT, f32, address.pointer(f32), c.m.word(1), c.m.word(0), x[1].id)
    return address.load(f32)


def _atomic_add_large(c: Code, address: Address, x: tuple[Num, ...]) -> Num:
    """The same with what is large enough, 1 where it is not; a NaN where the old value is not what was there."""
    c.m.need(Capability.AtomicFloat32AddEXT, "SPV_EXT_shader_atomic_float_add")
    added = ((x[1].bits(u32) & 0x7FFFFFFF) >= c.const(LARGE, f32).bits(u32)).choose(x[1], 1.0)
    old = c.let(Spv.AtomicFAddEXT, f32, address.pointer(f32), c.m.word(1), c.m.word(0), added.id)
    return old.bits(u32).eq(x[0].bits(u32)).choose(address.load(f32), math.nan)


def _added_large(a: Array, b: Array, c: Array) -> Array:
    return a + np.where(np.abs(b) < np.float32(LARGE), np.float32(1), b)


def _iterations(c: Code, address: Address, x: tuple[Num, ...]) -> Num:
    """How many iterations a loop runs whose trip count is an operand."""
    zero = c.const(0, u32)
    return c.loop([zero], lambda k: (k[0] < x[0], k), lambda k: [k[0] + 1])[0]


def _root(a: Array, b: Array, c: Array) -> Array:
    return np.asarray(np.sqrt(np.where(a < 0, -a, a)))


def _sqrt(c: Code, address: Address, x: tuple[Num, ...]) -> Num:
    positive = (x[0] < 0.0).choose(c.const(0.0, x[0].dtype) - x[0], x[0])
    return c.std("Sqrt", x[0].dtype, positive)


def _root_by_steps(c: Code, address: Address, x: tuple[Num, ...]) -> Num:
    """Of an operand brought between 1 and 4."""
    return steps.usual_root(_between_1_and_4(x[0]))


def _quotient_by_steps(c: Code, address: Address, x: tuple[Num, ...]) -> Num:
    """Of operands brought between 1 and 4."""
    return steps.usual_quotient(*map(_between_1_and_4, x[:2]))


def _usual_quotients(a: Array, b: Array, c: Array) -> Array:
    return np.asarray(_brought_between_1_and_4(a) / _brought_between_1_and_4(b))


def _brought_between_1_and_4(x: Array) -> Array:
    return ((x.view(np.uint32) & 0xFFFFFF) + 0x3F800000).astype(np.uint32).view(np.float32)


def _between_1_and_4(x: Num) -> Num:
    return ((x.bits(u32) & 0xFFFFFF) + 0x3F800000).bits(f32)


def _usual_roots(a: Array, b: Array, c: Array) -> Array:
    return np.asarray(np.sqrt(_brought_between_1_and_4(a)))


def _order(c: Code, address: Address, x: tuple[Num, ...]) -> Num:
    """A number for how two operands compare."""
    less, equal = (
        (condition).choose(c.const(size, x[0].dtype), 0.0) for condition, size in ((x[0] < x[1], 1), (x[0].eq(x[1]), 2))
    )
    return less + equal


def _ordered(a: Array, b: Array, c: Array) -> Array:
    return (np.where(a < b, 1, 0) + np.where(a == b, 2, 0)).astype(a.dtype)


def _with_zeros(c: Code, address: Address, x: tuple[Num, ...]) -> Num:
    """A sum or quotient of the first operand, 0 if subnormal, and zero; bits of the second say which; 2 for NaN."""
    zero, which, raw = c.const(0.0, f32), x[1].bits(u32) & 3, x[0].bits(u32)
    number = (raw & 0x7F800000).eq(0).choose((raw & 0x80000000).bits(f32), x[0])
    result = zero + number
    for k, other in enumerate((zero - number, zero / number, number / zero), 1):
        result = which.eq(k).choose(other, result)
    return result.eq(result).choose(result, 2.0)


def _sums_and_quotients(a: Array, b: Array, c: Array) -> Array:
    zero = np.float32(0)
    number = np.where(np.abs(a) < np.float32(2.0**-126), np.copysign(zero, a), a)
    with np.errstate(all="ignore"):
        results = np.choose(b.view(np.uint32) & 3, [zero + number, zero - number, zero / number, number / zero])
    return np.where(np.isnan(results), np.float32(2), results)


_FAR: Final = {32: 2.0**12, 64: 2.0**30}
"""Numbers in front of these have fractions, and more digits than some drivers look at."""


def _wholes(c: Code, address: Address, x: tuple[Num, ...]) -> Num:
    """The whole number of the first operand, or of a larger one, in one of the ways; bits of the second say which.

    Sizes below 2^-60 are left out: they may be taken for zeros.
    """
    dtype, raw = x[0].dtype, x[1].bits(unsigned(x[0].dtype))
    far = (raw & 4).eq(0).choose(x[0], x[0] * _FAR[dtype.bits])
    tiny = floats.magnitude(far).bits(raw.dtype) < c.const(2.0**-60, dtype).bits(raw.dtype)
    number = tiny.choose(c.const(1.5, dtype), far)
    rounded = number
    for k, way in enumerate(WAYS):
        rounded = (raw & 3).eq(k).choose(c.std(way, dtype, number), rounded)
    return rounded


def _whole_numbers(a: Array, b: Array, c: Array) -> Array:
    raw = b.view(f"u{b.itemsize}")
    far = np.where(raw & 4 == 0, a, a * a.dtype.type(_FAR[8 * a.itemsize]))
    number = np.where(np.abs(far) < 2.0**-60, a.dtype.type(1.5), far)
    ways = {"Trunc": np.trunc, "RoundEven": np.rint, "Floor": np.floor, "Ceil": np.ceil}
    return np.asarray(np.choose((raw & 3).astype(np.int64), [ways[name](number) for name in WAYS]))


def _fma_of_normal(c: Code, address: Address, x: tuple[Num, ...]) -> Num:
    """0 where an operand or the result is subnormal or zero."""
    fused = c.std("Fma", f32, *x)
    small = c.const(False, u1)
    for v in (*x, fused):
        small = small | ((v.bits(u32) & 0x7FFFFFFF) < 0x800000)
    return small.choose(c.const(0.0, f32), fused)


def _fused_normal(a: Array, b: Array, c: Array) -> Array:
    fused = exact_fma(f32, a, b, c)
    small = np.min(np.abs([a, b, c, fused]), axis=0) < np.float32(2.0**-126)
    return np.where(small, np.float32(0), fused)


_DOUBLE = ("shaderFloat64",)
TRIALS: Final = (
    Trial("fma32", f32, (), lambda c, at, x: c.std("Fma", f32, *x), lambda a, b, c: exact_fma(f32, a, b, c)),
    Trial("fma32_normal", f32, (), _fma_of_normal, _fused_normal),
    Trial("fma64", f64, _DOUBLE, lambda c, at, x: c.std("Fma", f64, *x), lambda a, b, c: exact_fma(f64, a, b, c)),
    Trial("div32", f32, (), lambda c, at, x: x[0] / x[1], lambda a, b, c: a / b),
    Trial("div64", f64, _DOUBLE, lambda c, at, x: x[0] / x[1], lambda a, b, c: a / b),
    Trial("div32_by_steps", f32, (), _quotient_by_steps, _usual_quotients),
    Trial("sqrt32_by_steps", f32, (), _root_by_steps, _usual_roots),
    Trial("sqrt32", f32, (), _sqrt, _root),
    Trial("sqrt64", f64, _DOUBLE, _sqrt, _root),
    Trial("round32", f32, (), _wholes, _whole_numbers),
    Trial("round64", f64, _DOUBLE, _wholes, _whole_numbers),
    Trial(
        "half", f32, ("shaderFloat16", "storageBuffer16BitAccess"), lambda c, at, x: x[2].convert(f16),
        lambda a, b, c: c.astype(np.float16), f16,
    ),
    Trial(
        "half_kept", f32, ("shaderFloat16",), lambda c, at, x: x[2].convert(f16).convert(f32) + 1.0,
        lambda a, b, c: c.astype(np.float16).astype(np.float32) + np.float32(1),
    ),
    Trial("order32", f32, (), _order, _ordered),
    Trial("order64", f64, _DOUBLE, _order, _ordered),
    Trial("zeros", f32, (), _with_zeros, _sums_and_quotients),
    Trial("widen", f32, _DOUBLE, lambda c, at, x: x[0].convert(f64), lambda a, b, c: a.astype(np.float64), f64),
    Trial("float_add", f32, ("shaderBufferFloat32AtomicAdd",), _atomic_add, lambda a, b, c: a + b),
    Trial("float_add_large", f32, ("shaderBufferFloat32AtomicAdd",), _atomic_add_large, _added_large),
    Trial("endless", u32, (), _iterations, lambda a, b, c: a),
)  # fmt: skip


def operands(dtype: DType) -> tuple[Array, Array, Array]:
    """Three operands for each of `CASES` threads.

    Numbers of every size whose products nearly cancel the third; subnormal operands, quotients and sums; zeros.
    """
    if dtype is u32:
        counts = np.arange(CASES, dtype=np.uint32)
        counts[-1] = _MOST_ITERATIONS
        return counts, counts, counts
    draw = np.random.default_rng(7)
    width, real = (23, 126) if dtype is f32 else (52, 1022), dtype.numpy.type
    bits, least = width
    wide = np.uint32 if dtype is f32 else np.uint64
    raw = draw.integers(0, np.iinfo(wide).max, (2, CASES), dtype=wide)
    with np.errstate(all="ignore"):
        a, b = (row.view(dtype.numpy).copy() for row in raw)
        near = slice(0, CASES // 2)
        a[near] = 1 + (raw[0][near] >> (8 if dtype is f32 else 11)).astype(dtype.numpy) * real(2.0 ** -(bits + 1))
        b[near] = 1 + (raw[1][near] >> (8 if dtype is f32 else 11)).astype(dtype.numpy) * real(2.0 ** -(bits + 1))
        small = slice(8, 40)
        significand_and_sign = wide((1 << bits) - 1 | 1 << (8 * dtype.size - 1))
        a[small] = (raw[0][small] & significand_and_sign).view(dtype.numpy)
        b[24:40] = (raw[1][24:40] & significand_and_sign).view(dtype.numpy)
        a[36:38], b[38:40] = 0, a[38:40]
        c = -(a * b)
        c[::3] = a[::3] * real(2.0**-bits)
        tiny = slice(1, CASES, 7)
        a[tiny] *= real(2.0**-least)
        a[:4], b[:4] = (real(0.0), real(-0.0), real(np.inf), real(2.0**-least)), real(0.5)
        if dtype is f32:
            c[CASES // 2 :] = draw.uniform(-18, 18, CASES // 2).astype(np.float32)
            c[CASES // 2 :] = np.exp2(c[CASES // 2 :])
    return a, b, c
