"""Devices and processes: a driver belongs to the process that started it, and to all its threads until it exits.

A child that is forked has a copy of the driver's memory and none of its threads; locks that other threads held at the
fork are held for good in it. The drivers of Vulkan and CUDA can't be used in such a child: whatever would do so raises
`forked`, before it waits for anything. While a process exits, only the thread that ends it may still use a device.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable
from typing import Final

from ...errors import AdstackRuntimeError

__all__ = ["DeviceLock", "foreign", "forked", "start"]

_STARTED: Final[dict[str, int]] = {}
"""The number of the process that started the driver of each interface."""
_MAIN: Final = threading.main_thread()
_LOCKS: Final[weakref.WeakSet[DeviceLock]] = weakref.WeakSet()


def start(api: str) -> None:
    """Note that this process starts the driver of an interface ("Vulkan"), if it has not been."""
    _STARTED.setdefault(api, os.getpid())


def foreign(api: str) -> tuple[str, str] | None:
    """If another process than this one started the driver, of which it is a fork: why that is, and what helps."""
    if _STARTED.get(api, os.getpid()) == os.getpid():
        return None
    return (
        f"this process was forked from one that uses {api}, whose device can't be used here",
        "start processes by multiprocessing's 'spawn' method, or fork before qd.init(); here, use qd.init(arch=qd.cpu)",
    )


def forked(api: str) -> AdstackRuntimeError:
    """What is raised where a forked process would use its parent's device."""
    reason, remedy = foreign(api) or ("", "")
    return AdstackRuntimeError(reason, do=remedy)


class DeviceLock:
    """A lock that a thread holds while it uses a device: `with lock:`. It may be taken again by its holder.

    Entering raises `forked` in a child of the process that made the lock. Once the process exits, it ends any thread
    but the one that ends the process: SystemExit, which threads do not report.

    Attributes:
        acquire, release: the lock's own, without these checks.
    """

    def __init__(self, api: str) -> None:
        self._api, self._process, self._ender = api, os.getpid(), 0
        self._lock = threading.RLock()
        self.acquire, self.release = self._lock.acquire, self._lock.release
        start(api)
        _LOCKS.add(self)
        atexit.unregister(_end_all)
        atexit.register(_end_all)  # first of all: what is registered before may write down what the driver knows

    @property
    def plain(self) -> threading.RLock:
        """The lock, without these checks."""
        return self._lock

    @property
    def is_here(self) -> bool:
        """Whether this process made it, and not one that it was forked from."""
        return os.getpid() == self._process

    @property
    def __enter__(self) -> Callable[[], object]:
        """What a `with` statement calls; on the main thread, where handlers of signals run, a function in C."""
        if os.getpid() != self._process:
            raise forked(self._api)
        return self._lock.__enter__ if threading.get_ident() == _MAIN.ident and not self._ender else self._entered

    @property
    def __exit__(self) -> Callable[..., object]:  # noqa: PLE0302 - a property, which gives the function
        """The lock's own, a function in C: no handler of a signal keeps it from being called."""
        return self._lock.__exit__

    def _entered(self) -> None:
        self._lock.acquire()
        if self._ender and self._ender != threading.get_ident():
            self._lock.release()
            raise SystemExit

    def give_back(self, action: Callable[[], object]) -> None:
        """Do what frees something of the device; nothing where entering would raise, since finalizers call this."""
        if self.is_here:
            with self._lock:
                if self._ender in (0, threading.get_ident()):
                    action()

    def end(self) -> None:
        """Wait for the thread that uses the device; from then on it is this thread's alone."""
        if self.is_here:
            with self._lock:
                self._ender = threading.get_ident()


def _end_all() -> None:
    for lock in list(_LOCKS):
        lock.end()
