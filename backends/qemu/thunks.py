"""Functions of this process that call functions of the other one: a stock of them, made a block at a time."""

from __future__ import annotations

import ctypes
import threading

from adstack.backends.shared.jit import Library, runtime_library
from adstack.backends.shared.object_cache import ObjectCache

from .caller_ir import THUNKS, thunks

__all__ = ["Thunks"]


class Thunks:
    """A stock of thunks.

    Args:
        ask: the address of `adstack_ask`.
        cached: where machine code is kept.
    """

    def __init__(self, ask: int, cached: ObjectCache | None) -> None:
        self._ask, self._cached = ask, cached
        self._blocks: list[Library] = []
        self._free: list[int] = []
        self._words: dict[int, int] = {}
        self._lock = threading.Lock()

    def take(self, target: int) -> int:
        """The address of a function of two numbers, which calls the one over there."""
        with self._lock:
            if not self._free:
                self._make()
            thunk = self._free.pop()
        ctypes.c_int64.from_address(self._words[thunk]).value = target
        return thunk

    def put_back(self, thunk: int) -> None:
        """Give back a thunk that is not called any more."""
        self._free.append(thunk)

    def _make(self) -> None:
        names = [f"adstack_thunk{k}" for k in range(THUNKS)]
        block = runtime_library(thunks(), ("adstack_targets", *names), self._cached, {"adstack_ask": self._ask})
        self._blocks.append(block)
        for k, name in enumerate(names):
            self._words[block[name]] = block["adstack_targets"] + 8 * k
            self._free.append(block[name])
