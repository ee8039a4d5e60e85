"""Memory of this process that is given back to the operating system, and is 0 until it is written again."""

from __future__ import annotations

import ctypes
import mmap
import sys
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["vacate"]

_DONT_NEED: Final = 4
"""Linux: pages of private memory are taken away at once, and are 0 when they are looked at again."""


def vacate(array: npt.NDArray[np.generic]) -> bool:
    """Let every element be 0, and give back the pages that lie inside of the array.

    False if the system does not take them back, which only Linux does at once; then nothing has happened.

    Args:
        array: contiguous, in memory that only this process has, as `numpy.zeros` takes it.
    """
    flat = array.reshape(-1).view(np.uint8)
    first = -flat.ctypes.data % mmap.PAGESIZE
    last = first + max(len(flat) - first, 0) // mmap.PAGESIZE * mmap.PAGESIZE
    if last <= first:
        flat[:] = 0
        return True
    if not _given_back(flat.ctypes.data + first, last - first):
        return False
    flat[:first] = 0
    flat[last:] = 0
    return True


def _given_back(address: int, size: int) -> bool:
    """Whether the system has taken whole pages back; it may refuse, as for memory that is locked."""
    if sys.platform != "linux":
        return False
    advise = ctypes.CDLL(None).madvise
    advise.argtypes, advise.restype = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int), ctypes.c_int
    return bool(advise(address, size, _DONT_NEED) == 0)
