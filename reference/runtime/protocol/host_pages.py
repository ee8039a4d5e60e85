"""Memory of this process that the operating system gives by the page, and has back: it is 0 until it is written."""

from __future__ import annotations

import ctypes
import mmap
import sys
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["are_given_back", "mapped", "take", "vacate"]

_DONT_NEED: Final = 4
"""Linux: pages of private memory are taken away at once, and are 0 when they are looked at again."""


def mapped(size: int) -> mmap.mmap:
    """At least `size` bytes that only this process has, in whole pages; MemoryError if there are no addresses for them.

    The system may choose large pages, but is not asked to, as numpy asks it: of a sparse field they waste most.
    """
    try:
        return mmap.mmap(-1, max(-(-size // mmap.PAGESIZE), 1) * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError, ValueError) as error:
        raise MemoryError(f"the system has no addresses for {size} bytes") from error


def take(size: int) -> npt.NDArray[np.uint8]:
    """The same as an array of `size` bytes, which keeps them."""
    return np.frombuffer(mapped(size), np.uint8, size)


def are_given_back() -> bool:
    """Whether the system takes pages back at once, as only Linux does."""
    return sys.platform == "linux"


def vacate(array: npt.NDArray[np.generic]) -> None:
    """Let every element be 0, and give back the pages that lie inside of the array, if the system takes them.

    Args:
        array: contiguous, in memory that only this process has, as `numpy.zeros` takes it.
    """
    flat = array.reshape(-1).view(np.uint8)
    first = -flat.ctypes.data % mmap.PAGESIZE
    last = first + max(len(flat) - first, 0) // mmap.PAGESIZE * mmap.PAGESIZE
    if last <= first or not _given_back(flat.ctypes.data + first, last - first):
        flat[:] = 0
        return
    flat[:first] = 0
    flat[last:] = 0


def _given_back(address: int, size: int) -> bool:
    """Whether the system has taken whole pages back; it may refuse, as for memory that is locked."""
    if not are_given_back():
        return False
    advise = ctypes.CDLL(None).madvise
    advise.argtypes, advise.restype = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int), ctypes.c_int
    return bool(advise(address, size, _DONT_NEED) == 0)
