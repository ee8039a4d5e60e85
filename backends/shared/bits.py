"""Scalar arguments as words."""

from __future__ import annotations

import struct

import numpy as np

from adstack.ir.types import DType, f32

__all__ = ["raw_bits", "signed_bits"]

_PLAIN = 2.0**127
"""Floats below this become f32 without overflow."""


def raw_bits(value: bool | int | float, dtype: DType) -> int:
    """A scalar argument `value`, of the type `dtype`, as the unsigned 64-bit integer whose first bytes it is."""
    if type(value) is int and dtype.kind in "iu" and dtype.min <= value <= dtype.max:
        return value & (1 << 64) - 1
    if type(value) is float and dtype.kind == "f" and dtype.bits >= 32 and abs(value) < _PLAIN:
        return int.from_bytes(struct.pack("<f" if dtype is f32 else "<d", value), "little")
    if dtype.is_float:
        return int.from_bytes(np.asarray(dtype(value), dtype.numpy).tobytes(), "little")
    return int(dtype(value)) & (1 << 64) - 1


def signed_bits(value: bool | int | float, dtype: DType) -> int:
    """The bits of a scalar argument `value`, of the type `dtype`, as `raw_bits` gives them, as a signed integer."""
    if type(value) is int and dtype.kind == "i" and -1 <= value >> dtype.bits - 1 <= 0:
        return value
    bits = raw_bits(value, dtype)
    return bits - (1 << 64) if bits >> 63 else bits
