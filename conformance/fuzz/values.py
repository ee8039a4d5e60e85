"""Interesting numbers of every scalar type, and buffers filled with them."""

from __future__ import annotations

import math
from random import Random

import numpy as np

from adstack.ir.structure import Kernel, Program
from adstack.ir.types import Array, DType

__all__ = ["EXTENTS", "random_buffers", "random_number", "random_params"]

EXTENTS: dict[int, tuple[int, ...]] = {0: (), 1: (5,), 2: (3, 4)}
"""The extents of every generated place, by rank; an ndarray is given them at launch."""


def random_number(random: Random, dtype: DType) -> bool | int | float:
    """A value of `dtype`, exactly representable: often small, sometimes at a border, sometimes anything."""
    if dtype.is_bool:
        return random.random() < 0.5
    return _float(random, dtype) if dtype.is_float else _integer(random, dtype)


def _integer(random: Random, dtype: DType) -> int:
    pick = random.randrange(8)
    if pick < 4:
        return random.randint(max(dtype.min, -9), 9)
    if pick < 6:
        return random.choice([dtype.min, dtype.min + 1, dtype.max, dtype.max - 1, 1 << (dtype.bits - 2)])
    return random.randint(dtype.min, dtype.max)


def _float(random: Random, dtype: DType) -> float:
    pick = random.randrange(16)
    if pick < 8:
        return float(dtype(random.uniform(-4.0, 4.0)))
    if pick < 11:
        return float(random.randint(-9, 9)) / 2
    if pick < 13:
        return random.choice(_borders(dtype))
    return float(dtype(math.ldexp(random.uniform(-1.0, 1.0), random.randint(-dtype.bits, dtype.bits))))


def _borders(dtype: DType) -> list[float]:
    info = np.finfo(dtype.numpy)
    large, small, least = float(info.max), float(info.tiny), float(info.smallest_subnormal)
    return [0.0, -0.0, math.inf, -math.inf, math.nan, large, -large, small, -small, least, -least, 0.5, -0.5]


def random_buffers(kernel: Kernel | Program, seed: int) -> dict[str, Array]:
    """An array for every field and ndarray of the kernel, by name; the same seed gives the same numbers."""
    random = Random(seed)
    return {
        place.name: _array(random, place.dtype, _extents(place.shape))
        for place in kernel.places.values()
        if place.kind in ("field", "ndarray")
    }


def _extents(shape: tuple[int | None, ...]) -> tuple[int, ...]:
    if None not in shape:
        return tuple(extent for extent in shape if extent is not None)
    return tuple(extent or 4 for extent in shape) if len(shape) not in EXTENTS else EXTENTS[len(shape)]


def _array(random: Random, dtype: DType, shape: tuple[int, ...]) -> Array:
    numbers = [random_number(random, dtype) for _ in range(math.prod(shape))]
    return np.array(numbers, dtype.numpy).reshape(shape)


def random_params(kernel: Kernel, seed: int) -> list[bool | int | float]:
    """A number for every scalar parameter, in order."""
    random = Random(seed)
    return [random_number(random, value.dtype) for value in kernel.params]
