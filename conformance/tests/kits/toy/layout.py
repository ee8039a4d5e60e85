"""Memory of the toy device: pieces that the host has no address of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adstack.errors import AdstackMemoryError
from adstack.ir.types import DType
from adstack.runtime.protocol.backend import Array


@dataclass(eq=False)
class Piece:
    elements: Array


def piece(dtype: DType, shape: tuple[int, ...]) -> Piece:
    try:
        return Piece(np.zeros(shape, dtype.numpy))
    except (MemoryError, ValueError) as error:
        raise AdstackMemoryError(f"no memory for {dtype} of shape {shape}: {error}") from error
