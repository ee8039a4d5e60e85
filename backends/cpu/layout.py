"""Memory on the host: numpy arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from adstack.errors import AdstackMemoryError
from adstack.ir.types import DType

__all__ = ["ALIGNMENT", "allocate"]

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
