"""The objects of Python and numpy whose addresses every record has: classes, names, constants."""

from __future__ import annotations

import sys
from typing import Final

import numpy as np

from adstack.runtime.protocol.shortcuts import DEVICE_NAMES, ENTRIES_NAME, RECORD_NAME, SHAPE_NAME, TENSOR_METHOD

__all__ = ["OBJECTS"]

_CUPY: Final = "cupy"
OBJECTS: Final = {
    "address_name": id(RECORD_NAME),
    "tensor_method": id(TENSOR_METHOD),
    "entries_name": id(ENTRIES_NAME),
    "shape_name": id(SHAPE_NAME),
    "list_type": id(list),
    "int_type": id(int),
    "float_type": id(float),
    "int32_type": id(np.int32),
    "int64_type": id(np.int64),
    "float32_type": id(np.float32),
    "float64_type": id(np.float64),
    "none": id(None),
    "true": id(True),
    "false": id(False),
    "zero": id(0),
    "modules": id(sys.modules),
    "cupy": id(_CUPY),
    **{f"ask_{name}": id(name) for name in DEVICE_NAMES},
}
"""The words about objects of Python and numpy that are always there."""
