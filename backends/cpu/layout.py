"""Memory on the host: numpy arrays, and the slots that a launch fills."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from adstack.errors import AdstackMemoryError, InternalError
from adstack.ir.structure import Place
from adstack.ir.types import DType

__all__ = ["ALIGNMENT", "allocate", "own_size", "raw_bits"]

ALIGNMENT = 64
"""Of every allocation, in bytes: a line of the cache, and the widest vector."""

Array = npt.NDArray[Any]


def allocate(dtype: DType, shape: tuple[int, ...]) -> Array:
    """Zeroed memory in C order; AdstackMemoryError if there isn't enough."""
    size = math.prod(shape) * dtype.size
    try:
        raw = np.zeros(size + ALIGNMENT, np.uint8)
    except (MemoryError, ValueError) as error:
        raise AdstackMemoryError(
            f"no memory for {dtype} of shape {shape} ({size} bytes)", do="use a smaller shape or a narrower type"
        ) from error
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(dtype.numpy).reshape(shape)


def own_size(place: Place) -> int:
    """The bytes of a place that lives in one launch."""
    extents = [extent for extent in place.shape if extent is not None]
    if len(extents) != place.rank:
        raise InternalError(f"{place.kind} {place.name} has no fixed shape: {place.shape}")
    return math.prod(extents) * place.dtype.size


def raw_bits(value: bool | int | float, dtype: DType) -> int:
    """A scalar argument as the signed 64-bit integer whose first bytes are the value."""
    if dtype.is_float:
        return int.from_bytes(np.asarray(dtype(value), dtype.numpy).tobytes(), "little", signed=True)
    number = int(dtype(value))
    return number - (1 << 64) if number >= 1 << 63 else number
