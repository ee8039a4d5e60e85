"""Memory that stands at the same addresses in this process and in another one."""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from collections import defaultdict
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["BASE", "PAGE", "Arena"]

BASE: Final = 0x2000_0000_0000
"""Where it begins: far from where systems put programs, libraries, heaps and stacks."""
PAGE: Final = 4096
"""What is mapped, and given back, at a time."""
_LINE: Final = 64
_FIXED, _FIXED_OVER, _UNRESERVED = 0x100000, 0x10, 0x4000
"""MAP_FIXED_NOREPLACE, MAP_FIXED, MAP_NORESERVE."""
_REMOVE: Final = 9
"""MADV_REMOVE: give the pages back; they are zero afterwards."""


class _Piece:
    """Bytes of an arena, which numpy keeps while an array needs them; they go back when it goes."""

    def __init__(self, arena: Arena, address: int, size: int) -> None:
        self.arena, self.address, self.size = arena, address, size
        self.__array_interface__: dict[str, object] = {
            "data": (address, False),
            "shape": (size,),
            "typestr": "|u1",
            "version": 3,
        }

    def __del__(self) -> None:
        self.arena.put_back(self.address, self.size)


class Arena:
    """Memory in a file without a name, mapped at `BASE`; another process maps the same file there.

    Its first word says how much of it is in use, in bytes: what the other process has to have mapped. The rest of its
    first page is for whoever makes it.

    Args:
        most: how large it may become, in bytes.

    Attributes:
        file: its descriptor.
    """

    def __init__(self, most: int) -> None:
        self.most = -(-most // PAGE) * PAGE
        self.file = os.memfd_create("adstack-arena")
        _grow(self.file, self.most)
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.mmap.restype = ctypes.c_uint64
        self._libc.mmap.argtypes = [ctypes.c_uint64, ctypes.c_uint64, *(ctypes.c_int,) * 3, ctypes.c_int64]
        self._libc.madvise.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int]
        readable = mmap.PROT_READ | mmap.PROT_WRITE
        at = self._libc.mmap(BASE, self.most, readable, mmap.MAP_SHARED | _FIXED, self.file, 0)
        if at != BASE:
            raise MemoryError(f"no room for {self.most} bytes at {BASE:#x}: {os.strerror(ctypes.get_errno())}")
        self._end = ctypes.c_int64.from_address(BASE)
        self._end.value = PAGE
        self._lock = threading.Lock()
        self._free: dict[int, list[int]] = defaultdict(list)

    def take(self, size: int, *, zeroed: bool = True) -> npt.NDArray[np.uint8]:
        """So many bytes, aligned to a line of the cache; MemoryError if there is no room."""
        rounded = _class(size)
        if self._free[rounded]:
            address = self._free[rounded].pop()
            if zeroed:
                ctypes.memset(address, 0, size)
        else:
            address = self.reserve(rounded)
        return np.asarray(_Piece(self, address, rounded))[:size]

    def reserve(self, size: int) -> int:
        """The address of so many zero bytes, which are never given back; of whole pages if it is one or more."""
        unit = PAGE if size >= PAGE else _LINE
        with self._lock:
            start = -(-self._end.value // unit) * unit
            if start + size > self.most:
                raise MemoryError(f"{size} bytes of memory that is shared with an emulated processor")
            self._end.value = start + size
        return BASE + start

    def put_back(self, address: int, size: int) -> None:
        """What `take` gave is free again."""
        self.empty(address, size)
        self._free[size].append(address)

    def empty(self, address: int, size: int) -> None:
        """Discard the contents of all pages inside a range: they read as zeros afterwards and take no memory."""
        if size >= PAGE:
            self._libc.madvise(address, size, _REMOVE)

    def part(self) -> None:
        """In a forked child: what it writes is its own from now on."""
        readable = mmap.PROT_READ | mmap.PROT_WRITE
        self._libc.mmap(BASE, self.most, readable, mmap.MAP_PRIVATE | _UNRESERVED | _FIXED_OVER, self.file, 0)


def _class(size: int) -> int:
    """The size that is taken for one: of large ones there are four between powers of 2."""
    step = _LINE if size <= PAGE - _LINE else max(PAGE, 1 << ((size - 1).bit_length() - 3))
    return max(step, -(-size // step) * step)


def _grow(file: int, size: int) -> None:
    """Give a file a size; it holds nothing, so that the limit of what a process may write does not concern it."""
    import resource  # which Windows has not: this module is imported there, too, and not used

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    try:
        os.ftruncate(file, size)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
