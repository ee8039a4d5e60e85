"""Scalar arguments as kernels get them: in the types of the parameters, to the bit."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache

import numpy as np

from ...ir.types import DType
from ..protocol.backend import Scalar

__all__ = ["scalar_bits"]


def scalar_bits(params: Sequence[DType], scalars: Sequence[Scalar]) -> bytes:
    """The bytes of scalar arguments in memory, which are equal if and only if kernels can't tell them apart.

    So 1, 1.0 and np.float32(1) are the same to a parameter of f64; 0.1 and np.float32(0.1) are to one of f32.

    Args:
        params: the types of the parameters.
        scalars: a number for each, within the range of its type.
    """
    return _layout(tuple(params)).pack(*scalars)


@cache
def _layout(params: tuple[DType, ...]) -> struct.Struct:
    return struct.Struct("".join(np.dtype(dtype.numpy).char for dtype in params))
