"""The elements of a buffer at an index."""

from __future__ import annotations

import math
from types import EllipsisType

import numpy as np
import numpy.typing as npt

from ...runtime.memory.buffers import Buffer

__all__ = ["Where", "flat_positions"]

Where = EllipsisType | int | tuple[int, ...]
"""Where the host wrote one element, or all that have the same first indices: `...`, one index, or several."""


def flat_positions(buffer: Buffer, where: Where) -> npt.NDArray[np.int64]:
    """The flat positions of the elements at an index: one for every axis or for the first ones, or all (`...`)."""
    if where is ...:
        return np.arange(math.prod(buffer.shape))
    index = where if isinstance(where, tuple) else (where,)
    rest = math.prod(buffer.shape[len(index) :])
    first = int(np.ravel_multi_index(index, buffer.shape[: len(index)])) if index else 0
    return np.arange(first * rest, (first + 1) * rest)
