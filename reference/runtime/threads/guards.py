"""Words that machine code looks at before it serves a call without asking Python."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Final

__all__ = ["ASKING", "EPOCH", "FOLLOWED", "GUARD", "REWIRED", "invalidate", "rewired"]

EPOCH: Final = 0
ASKING: Final = 1
REWIRED: Final = 2
FOLLOWED: Final = 3
GUARD: Final = (ctypes.c_int64 * 4)(1, 0, 1, 0)
"""[an epoch that ends whenever memory or a runtime goes, whether every call has to ask Python (see `scopes`), an epoch
that ends when a kernel comes that writes some memory, or memory for a gradient, the address of the sequence whose calls
machine code serves all the same, 0 for none]."""
_LOCK: Final = threading.Lock()
if hasattr(os, "register_at_fork"):  # a forked child would wait for a thread that it does not have
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


def invalidate() -> None:
    """Say that something is gone: every call asks Python once more."""
    with _LOCK:
        GUARD[EPOCH] += 1


def rewired() -> None:
    """Say that there is a kernel more that writes some memory, or other memory for gradients: reverse modes ask."""
    with _LOCK:
        GUARD[REWIRED] += 1
