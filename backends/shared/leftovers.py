"""What is to be given back to a device because Python dropped it.

Python may find that at any moment and on any thread: in the middle of work on the very lists that say what memory is
free, too. So it is noted, which can't go wrong, and done at once only where neither the finding thread nor another one
works with the device; else the backend does it the next time it allocates, compiles or waits.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable

__all__ = ["Leftovers"]


class Leftovers:
    """What is to be given back to one device.

    Args:
        lock: who holds it works with the device.
    """

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self._owner = threading.Condition(lock)
        self._actions: deque[Callable[[], object]] = deque()
        self._process = os.getpid()

    def __len__(self) -> int:
        return len(self._actions)

    def add(self, action: Callable[[], object]) -> None:
        """Do the `action` when it is safe. A forked process has no part in what its parent gave back."""
        if os.getpid() != self._process:
            return
        self._actions.append(action)
        if not self._is_mine() and self._lock.acquire(blocking=False):
            try:
                self.sweep()
            finally:
                self._lock.release()

    def sweep(self) -> None:
        """Do all that was noted; the lock is held, and nothing is half done."""
        while self._actions:
            self._actions.popleft()()

    def _is_mine(self) -> bool:
        """Whether this thread holds the lock already: conditions refuse to notify without it."""
        try:
            self._owner.notify(0)
        except RuntimeError:
            return False
        return True
