"""Arguments to test at: every one of a format, pairs, and the regions where an f64 function is hard."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from adstack.ir import scalar_ops as ops
from adstack.ir.opdef import OpDef
from adstack.ir.ops import TABLE
from adstack.ir.types import Array, DType, f16, f32, f64

__all__ = ["all_numbers", "edge_pairs", "hard", "pairs"]

Generator = np.random.Generator
Batches = Iterator[tuple[Array, ...]]

BATCH: Final = 1 << 16
"""Elements at once: what a function needs of them stays in the cache."""

WORDS: Final = {f16: np.uint16, f32: np.uint32, f64: np.uint64}


def all_numbers(dtype: DType) -> Batches:
    """Every number of f16 or f32, by the order of its bits."""
    word = WORDS[dtype]
    block = np.arange(BATCH, dtype=word)
    for start in range(0, 1 << dtype.bits, BATCH):
        yield ((block + word(start)).view(dtype.numpy),)


def edges(dtype: DType) -> Array:
    """Numbers at which something changes: zeros, powers of two and their neighbours, infinities, small integers."""
    info = np.finfo(dtype.numpy)
    powers = np.ldexp(1.0, np.arange(int(info.minexp) - int(info.nmant), int(info.maxexp))).astype(dtype.numpy)
    kept = powers[:: max(len(powers) // 64, 1)]
    integers = np.arange(1, 34).astype(dtype.numpy)
    extra = np.array([info.max, info.tiny, info.smallest_subnormal, 0.1, 0.3, 1.5, 2.5, math.pi, math.e], dtype.numpy)
    positive = np.concatenate([kept, integers, integers / 2, integers / 3, extra])
    near = np.concatenate([positive, np.nextafter(positive, np.inf), np.nextafter(positive, -np.inf), [0.0, np.inf]])
    near = near.astype(dtype.numpy)
    return np.unique(np.concatenate([near, -near]).view(WORDS[dtype])).view(dtype.numpy)


def edge_pairs(dtype: DType) -> Batches:
    """The grid of all pairs of edges, NaN included."""
    numbers = np.append(edges(dtype), dtype.numpy.type(np.nan))
    for x in numbers:
        yield np.full_like(numbers, x), numbers


def pairs(name: str, dtype: DType, count: int, seed: int = 1) -> Batches:
    """Random pairs: any bits, near sizes, and where `name` is hard."""
    rng = np.random.default_rng(seed)
    ways = (any_bits, near_sizes, *HARD_PAIRS[TABLE[name]])
    for number in range(-(-count // BATCH)):
        yield ways[number % len(ways)](rng, dtype)


def any_bits(rng: Generator, dtype: DType) -> tuple[Array, Array]:
    """Two numbers of any bits."""
    words = rng.integers(0, 1 << 64, (2, BATCH * dtype.size // 8), dtype=np.uint64)
    return words[0].view(dtype.numpy), words[1].view(dtype.numpy)


def near_sizes(rng: Generator, dtype: DType) -> tuple[Array, Array]:
    """Two numbers of about the same size, anywhere in the range."""
    a, b = any_bits(rng, dtype)
    word, mantissa = WORDS[dtype], int(np.finfo(dtype.numpy).nmant)
    keep = word(((1 << (dtype.bits - 1 - mantissa)) - 1) << mantissa)
    shift = word(1 << mantissa) * rng.integers(0, 4, BATCH).astype(word)
    other = (b.view(word) & ~keep) | ((a.view(word) & keep) - np.minimum(shift, a.view(word) & keep))
    return a, other.view(dtype.numpy)


def _result_in_range(rng: Generator, dtype: DType) -> tuple[Array, Array]:
    """A positive base, and an exponent that brings the power anywhere into the range, its ends included."""
    info = np.finfo(dtype.numpy)
    x = np.exp2(rng.uniform(float(info.minexp), float(info.maxexp), BATCH)).astype(dtype.numpy)
    size = np.log2(x.astype(np.float64))
    wanted = rng.uniform(float(info.minexp) - int(info.nmant) - 1, float(info.maxexp), BATCH)
    return x, (wanted / np.where(size == 0, 1, size)).astype(dtype.numpy)


def _base_near_one(rng: Generator, dtype: DType) -> tuple[Array, Array]:
    """A base near 1, and an exponent so large that the power is not."""
    info = np.finfo(dtype.numpy)
    offset = np.exp2(rng.uniform(-int(info.nmant), -1, BATCH)) * rng.choice((-1, 1), BATCH)
    x = (1 + offset).astype(dtype.numpy)
    size = np.log2(x.astype(np.float64))
    wanted = rng.uniform(float(info.minexp), float(info.maxexp), BATCH)
    return x, (wanted / np.where(size == 0, 1, size)).astype(dtype.numpy)


def _whole_exponent(rng: Generator, dtype: DType) -> tuple[Array, Array]:
    """A base of either sign to a small integer or half of one."""
    x = rng.standard_normal(BATCH) * np.exp2(rng.uniform(-3, 3, BATCH))
    return x.astype(dtype.numpy), (rng.integers(-64, 65, BATCH) / 2).astype(dtype.numpy)


def _folds(rng: Generator, dtype: DType) -> tuple[Array, Array]:
    """Points near the lines where the quotient's reduction changes: y / x near 1/2, 1 and 2."""
    x = any_bits(rng, dtype)[0]
    slope = rng.choice((0.5, 1.0, 2.0), BATCH) * (1 + rng.standard_normal(BATCH) * np.exp2(rng.uniform(-20, -1, BATCH)))
    with np.errstate(all="ignore"):
        return (x * slope.astype(dtype.numpy)).astype(dtype.numpy), x


def _plane(rng: Generator, dtype: DType) -> tuple[Array, Array]:
    """Points of the plane near the unit circle."""
    pair = rng.standard_normal((2, BATCH))
    return pair[0].astype(dtype.numpy), pair[1].astype(dtype.numpy)


HARD_PAIRS: Final[dict[OpDef, tuple[Callable[[Generator, DType], tuple[Array, Array]], ...]]] = {
    ops.POW: (_result_in_range, _base_near_one, _result_in_range, _whole_exponent),
    ops.ATAN2: (_folds, _plane),
    ops.HYPOT: (_plane,),
}


# ---- f64 functions of one argument

PI: Final = (np.pi, 1.2246467991473532e-16, -2.9947698097183397e-33)
"""pi in three words."""

WORST_REDUCTION: Final = 6381956970095103.0 * 2.0**797
"""The double nearest to a multiple of pi/2, relative to its size (J.-M. Muller, Elementary Functions, 2006, ch. 11)."""


def hard(name: str, count: int, seed: int = 1) -> Batches:
    """`count` f64 arguments: a quarter of any bits, the rest where `name` is hard."""
    rng = np.random.default_rng(seed)
    ways = (_any_double, *HARD[TABLE[name]])
    for number in range(-(-count // BATCH)):
        yield (ways[number % len(ways)](rng),)


def _any_double(rng: Generator) -> Array:
    return rng.integers(0, 1 << 64, BATCH, dtype=np.uint64).view(np.float64)


def _signed(rng: Generator, size: Array) -> Array:
    return np.asarray(size * rng.choice((-1.0, 1.0), size.size))


def _scaled(low: float, high: float) -> Callable[[Generator], Array]:
    """Both signs, logarithmically uniform between two powers of two."""
    return lambda rng: _signed(rng, np.exp2(rng.uniform(low, high, BATCH)))


def _between(low: float, high: float) -> Callable[[Generator], Array]:
    return lambda rng: rng.uniform(low, high, BATCH)


def _around(*centres: float, least: float = -52.0) -> Callable[[Generator], Array]:
    """Near these numbers, at distances of all sizes."""

    def points(rng: Generator) -> Array:
        centre = rng.choice(centres, BATCH)
        return np.asarray(centre * (1 + _signed(rng, np.exp2(rng.uniform(least, -3, BATCH)))))

    return points


def _near_multiples(low: float, high: float) -> Callable[[Generator], Array]:
    """The doubles next to multiples of pi/4 between powers of two."""

    def points(rng: Generator) -> Array:
        k = np.floor(np.exp2(rng.uniform(low, high, BATCH)))
        nearest = (k * np.longdouble(PI[0] / 4) + k * np.longdouble(PI[1] / 4)).astype(np.float64)
        return _signed(rng, np.nextafter(nearest, rng.choice((-np.inf, np.inf), BATCH)))

    return points


def _worst(rng: Generator) -> Array:
    """The worst argument of the reduction, its neighbours, and its double and half."""
    x = WORST_REDUCTION * np.exp2(rng.integers(-2, 3, BATCH).astype(np.float64))
    return _signed(rng, (x.view(np.int64) + rng.integers(-4, 5, BATCH)).view(np.float64))


_TRIG: Final = (
    _near_multiples(0, 31),
    _near_multiples(29, 62),
    _between(-8.0, 8.0),
    _scaled(-40, 31),
    _scaled(29, 1024),
    _worst,
)
_RATIOS: Final = (_scaled(-30, 10), _around(0.5, 1.0, 2.0), _between(-4.0, 4.0))
_ARCS: Final = (_between(-1.0, 1.0), _around(0.5, 1.0, -0.5, -1.0), _scaled(-30, 0))
_LOGS: Final = (_around(1.0), _between(0.5, 2.0), _around(2.0**-0.5, 2.0**0.5), lambda r: abs(_scaled(-1074, 1024)(r)))

HARD: Final[dict[OpDef, tuple[Callable[[Generator], Array], ...]]] = {
    ops.SIN: _TRIG,
    ops.COS: _TRIG,
    ops.TAN: _TRIG,
    ops.ASIN: _ARCS,
    ops.ACOS: _ARCS,
    ops.ATAN: _RATIOS,
    ops.SINH: (_between(-2.0, 2.0), _scaled(-30, 9.5), _around(1.0, 710.0, 710.4758600739439)),
    ops.COSH: (_between(-2.0, 2.0), _scaled(-30, 9.5), _around(1.0, 710.0, 710.4758600739439)),
    ops.TANH: (_between(-2.0, 2.0), _scaled(-30, 5), _around(20.0, 0.5)),
    ops.EXP: (
        _between(-1.0, 1.0),
        _between(-746.0, 710.0),
        _around(709.782712893384, -745.1332191019411, -708.39),
    ),
    ops.EXP2: (_between(-1.0, 1.0), _between(-1076.0, 1025.0), _around(1024.0, -1074.0, -1022.0)),
    ops.EXPM1: (_between(-1.0, 1.0), _scaled(-60, 9.5), _between(-40.0, 710.0), _around(0.34657359027997264)),
    ops.LOG: _LOGS,
    ops.LOG2: _LOGS,
    ops.LOG10: _LOGS,
    ops.LOG1P: (_scaled(-60, 0), _around(-0.2928932188134524, 0.41421356237309515, -1.0), _scaled(-3, 1024)),
    ops.RSQRT: (lambda r: abs(_scaled(-1074, 1024)(r)), _between(1.0, 4.0)),
    ops.CBRT: (_between(1.0, 8.0), _scaled(-1074, 1024)),
}
