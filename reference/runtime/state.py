"""The one runtime that is active: its backend, its options, and what must be dropped when it ends."""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, Protocol

from ..errors import AdstackError, AdstackRuntimeError
from .adstacks import budget
from .memory.ledger import limit_kept
from .memory.observers import OBSERVERS
from .memory.staging import Staging
from .protocol.abilities import exclusively, reclaiming
from .protocol.backend import Backend
from .protocol.options import Options, parse
from .protocol.registry import candidates, default_arch, open_arch
from .threads.capturing import CAPTURING, check
from .threads.guards import invalidate
from .threads.recording import RECORDERS
from .threads.runtime_lock import RUNTIME_LOCK

__all__ = ["ENDED", "Resident", "Runtime", "active", "check_unended", "current", "start", "stop"]

ENDED: Final = [0]
"""How many runtimes have ended."""


class Resident(Protocol):
    """What lives in a runtime: it is told when the runtime ends."""

    def drop(self) -> None:
        """Let go of everything that belongs to the runtime, which has ended."""


class Runtime:
    """A backend opened with options.

    Attributes:
        arch: the name of the backend.
        epoch: never the same for two runtimes; what was compiled or allocated in one is not used in another.
        staging: memory for copies of arrays of the host.
    """

    _epochs = itertools.count(1)

    def __init__(self, arches: Sequence[str], options: Options) -> None:
        budget.begin(options.device_memory_GB)
        limit_kept(options.ad_stack_heap_limit)
        self.backend: Backend = open_arch(*arches, device=options.device, fallback=options.enable_fallback)
        self.arch = self.backend.capabilities.name
        self.options = options
        self.epoch = next(self._epochs)
        self.ended = False
        self._residents: dict[int, weakref.ref[Resident]] = {}  # by their identities
        self._data: dict[int, weakref.ref[Resident]] = {}
        self.staging = Staging(self.backend)
        self.adopt(self.staging)

    def adopt(self, resident: Resident, *, is_data: bool = False) -> None:
        """Tell `resident` when this runtime ends; AdstackRuntimeError if it has ended. Of data tell also `data`."""
        with RUNTIME_LOCK.lock:
            if self.ended:
                resident.drop()
                raise _ended("the data was being made")
            for kept in (self._residents, self._data) if is_data else (self._residents,):
                kept[id(resident)] = weakref.ref(resident, partial(kept.pop, id(resident)))

    def residents(self) -> list[Resident]:
        """What lives in this runtime."""
        return [one for reference in list(self._residents.values()) if (one := reference()) is not None]

    def data(self) -> list[Any]:
        """The fields and ndarrays that live in it."""
        return [one for reference in list(self._data.values()) if (one := reference()) is not None]

    def close(self) -> None:
        """Wait for every launch, of whatever thread, then drop all residents.

        An error that was never asked for is dropped with the memory.
        """
        exclusively(self.backend, self._close)

    def _close(self) -> None:
        self.ended = True
        ENDED[0] += 1
        finished = False
        try:
            with suppress(AdstackError):
                self.backend.synchronize()
            finished = True
        finally:
            invalidate()
            for scopes in (RECORDERS, OBSERVERS, CAPTURING):  # none goes on in another runtime
                scopes.end_all()
            for resident in self.residents():
                resident.drop()
            device = reclaiming(self.backend)
            if finished and device is not None:  # otherwise it would wait once more
                device.close()
            budget.begin(0)  # what is made without a runtime has no limit


def check_unended(ended: int, doing: str) -> None:
    """Raise AdstackRuntimeError if a runtime has ended since so many had, in the middle of what a thread does."""
    if ENDED[0] != ended:
        raise _ended(doing)


def _ended(doing: str) -> AdstackRuntimeError:
    return AdstackRuntimeError(
        f"the runtime was reset while {doing}: another thread has called reset() or init()",
        do="let threads end their launches before the runtime ends, and make the data again",
    )


_ACTIVE: list[Runtime] = []


def active() -> Runtime | None:
    """The runtime in use, if there is one."""
    try:
        return _ACTIVE[0]
    except IndexError:
        return None


def current() -> Runtime:
    """The runtime in use; the default one is started if there is none."""
    try:
        return _ACTIVE[0]
    except IndexError:
        with RUNTIME_LOCK.lock:
            return _ACTIVE[0] if _ACTIVE else start(None, parse({}))


def start(arch: object, options: Options) -> Runtime:
    """End the runtime in use, then start one; without `arch`, ADSTACK_ARCH or the best that is available decides.

    AdstackArgumentError if there is no such arch, BackendUnavailableError if none that was asked for can be used.
    """
    with RUNTIME_LOCK.lock:
        stop()
        wanted = arch if arch is not None else os.environ.get("ADSTACK_ARCH") or default_arch()
        runtime = Runtime(candidates(wanted), options)
        _ACTIVE[:] = [runtime]
        return runtime


def stop() -> None:
    """End the runtime in use, if there is one."""
    check("the runtime ends or begins anew")
    with RUNTIME_LOCK.lock:
        while _ACTIVE:
            _ACTIVE[0].close()  # it stays until it is closed, should that be interrupted
            _ACTIVE.clear()
