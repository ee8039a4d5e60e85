"""The threads that share parallel loops: started once, parked between launches.

A worker is a Python thread that enters the machine code of `threads.ir`, and stays there without the interpreter's
lock. Loops are handed over in machine code alone. There is one pool per process; after a fork the child starts its own
when it needs one, and runs loops on the calling thread until then.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from collections.abc import Callable
from functools import cache
from typing import Final

from adstack.errors import AdstackMemoryError
from adstack.runtime.threads.guards import invalidate

from .machine import machine
from .machines import Running, Workers
from .threads.words import CLOSED, WORDS

__all__ = ["Pool", "pool", "usable_cores"]

_SPIN: Final = 2000
"""Turns that a thread waits for before it sleeps: some tens of microseconds."""


def usable_cores() -> list[int]:
    """The cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


class Pool:
    """Worker threads.

    Args:
        code: the machine code that they run, and how they are started.

    Attributes:
        entry: address of `i32 adstack_parallel(ptr task, ptr ctx, i64 total, i64 grain, i64 seats)`, which runs
            task(ctx, begin, end, seat) over pieces of [0, total), and gives nonzero if a signal handler raised, with
            its exception set. At most `seats` threads take part; each has a seat of its own, counted from 0.
        poll: address of `i1 adstack_poll(i64 seat)`, which long loops of a task ask whether to end: a handler raised.
        outside: address of `void adstack_outside(ptr errors, ptr note)`, which records an access outside.
        stop_word: address of the word that is not 0 from then on, until the launch has ended.
    """

    def __init__(self, code: Workers) -> None:
        self._code = code
        self.entry: int = code.symbols["adstack_parallel"]
        self.poll: int = code.symbols["adstack_poll"]
        self.outside: int = code.symbols["adstack_outside"]
        self._base: int = code.symbols["pool"]
        self.stop_word: int = self._base + 8 * WORDS["stop"]
        self._threads: list[Running] = []
        self._lock = threading.RLock()
        self._asked = -1
        self._ended = False
        for name, address in zip(("wait", "wake", "finish"), code.parking, strict=True):
            self._word(name).value = address
        self._word("active").value = CLOSED

    def _word(self, name: str) -> ctypes.c_int64:
        return ctypes.c_int64.from_address(self._base + 8 * WORDS[name])

    @property
    def threads(self) -> int:
        """How many threads run a large loop now, the caller's included."""
        return len(self._threads) + 1

    def start(self, threads: int = 0) -> int:
        """Have so many threads, 0 for one per usable core; gives `entry`. AdstackMemoryError if they can't be had."""
        if threads != self._asked and not self._ended:
            with self._lock:
                self._restart(threads)
        return self.entry

    def _restart(self, threads: int) -> None:
        cores = len(usable_cores())
        wanted = threads or cores
        if wanted != self.threads:
            self.stop()
            self._word("spin").value = _SPIN if wanted <= cores else 0
            self._start(wanted - 1)
        self._asked = threads

    def _start(self, count: int) -> None:
        seen = ctypes.c_int32.from_address(self._base + 8 * WORDS["generation"]).value
        try:
            for number in range(count):
                self._threads.append(self._code.start(number + 1, seen))
        except RuntimeError:
            started = len(self._threads)
            self.stop()
            raise AdstackMemoryError(
                f"the system has no memory for more than {started} of {count} threads, or allows no more",
                do="set fewer: init(cpu_max_num_threads=...)",
            ) from None
        self._word("workers").value = count

    def stop(self) -> None:
        """End the workers; loops run on their caller's thread from then on."""
        with self._lock:
            self._code.end()
            for thread in self._threads:
                thread.join()
            self._threads.clear()
            self._asked = -1
            self._word("quit").value = 0

    def end(self) -> None:
        """End the workers for good: the interpreter ends too, and would not start new ones."""
        self._ended = True
        self.stop()

    def forget(self) -> None:
        """In a forked child: there are no workers, and no loop is shared."""
        self._lock = threading.RLock()
        self._threads.clear()
        self._asked = -1
        for name in ("workers", "sleepers", "busy", "quit", "stop"):
            self._word(name).value = 0
        self._word("active").value = CLOSED
        invalidate()  # the next launch asks Python, which starts threads


@cache
def pool() -> Pool:
    """The pool of this process; it has no workers until it is started."""
    pool = Pool(machine().workers())
    at_exit: Callable[[Callable[[], None]], object] = getattr(threading, "_register_atexit", atexit.register)
    try:
        at_exit(pool.end)
    except RuntimeError:  # the interpreter is ending already
        pool.end()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=pool.forget)
    return pool
