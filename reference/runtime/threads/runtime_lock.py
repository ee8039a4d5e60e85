"""The lock of the runtime: one thread at a time launches through Python, compiles, or begins or ends a runtime.

Calls that machine code serves do not take it: they have a word of their own, which `Backend.exclusively` takes.
"""

from __future__ import annotations

import os
import threading
from typing import Final

__all__ = ["RUNTIME_LOCK", "ForkSafeLock"]


class ForkSafeLock:
    """A lock that a thread may take again, and that is free in a forked child.

    Attributes:
        lock: of this process: `with RUNTIME_LOCK.lock`, an object of CPython's own, which no interrupt leaves taken.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def forget(self) -> None:
        """In a forked child: the thread that had taken it does not exist there."""
        self.lock = threading.RLock()


RUNTIME_LOCK: Final = ForkSafeLock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=RUNTIME_LOCK.forget)
