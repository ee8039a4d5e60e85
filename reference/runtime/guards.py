"""Words that machine code looks at before it serves a call without asking Python."""

from __future__ import annotations

import ctypes
import threading
from typing import Final

__all__ = ["COMPILING", "EPOCH", "GUARD", "compiling", "invalidate"]

EPOCH: Final = 0
COMPILING: Final = 1
GUARD: Final = (ctypes.c_int64 * 2)(1, 0)
"""[an epoch that ends whenever memory or a runtime goes, how many kernels are being compiled]."""
_LOCK: Final = threading.Lock()


def invalidate() -> None:
    """Say that something is gone: every call asks Python once more."""
    with _LOCK:
        GUARD[EPOCH] += 1


def compiling(more: int) -> None:
    """Say that `more` (or, below 0, fewer) kernels are being compiled: a kernel called then is no launch."""
    with _LOCK:
        GUARD[COMPILING] += more
