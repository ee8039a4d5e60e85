"""Whose turn it is: one thread at a time goes through Python to launch, to compile, to end a runtime or to begin one.

Calls that machine code serves take no part in this: they have a word of their own, which `Backend.exclusively` takes.
"""

from __future__ import annotations

import os
import threading
from typing import Final

__all__ = ["TURN", "Turn"]


class Turn:
    """A lock that a thread may take again.

    Attributes:
        lock: of this process: `with TURN.lock`, an object of CPython's own, which no interrupt leaves taken.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def forget(self) -> None:
        """In a forked child: whoever had it is not there."""
        self.lock = threading.RLock()


TURN: Final = Turn()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=TURN.forget)
