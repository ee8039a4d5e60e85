"""The one runtime that is active: its backend, its options, and what must be dropped when it ends."""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

from ..errors import AdstackError
from . import budget
from .backend import Backend, Reclaiming
from .capturing import check
from .guards import invalidate
from .options import Options, parse
from .registry import candidates, default_arch, open_arch
from .watches import limit_kept

__all__ = ["Resident", "Runtime", "active", "current", "start", "stop"]


class Resident(Protocol):
    """What lives in a runtime: it is told when the runtime ends."""

    def drop(self) -> None: ...


class Runtime:
    """A backend opened with options.

    Attributes:
        arch: the name of the backend.
        epoch: never the same for two runtimes; what was compiled or allocated in one is not used in another.
    """

    _epochs = itertools.count(1)

    def __init__(self, arches: Sequence[str], options: Options) -> None:
        budget.begin(options.device_memory_GB)
        limit_kept(options.ad_stack_heap_limit)
        self.backend: Backend = open_arch(*arches, fallback=options.enable_fallback)
        self.arch = self.backend.capabilities.name
        self.options = options
        self.epoch = next(self._epochs)
        self._residents: weakref.WeakSet[Any] = weakref.WeakSet()

    def adopt(self, resident: Resident) -> None:
        """Tell `resident` when this runtime ends."""
        self._residents.add(resident)

    def residents(self) -> list[Any]:
        """What lives in this runtime."""
        return list(self._residents)

    def close(self) -> None:
        """Finish what was launched, then drop all residents. An error that nobody asked about goes with its memory."""
        try:
            with suppress(AdstackError):
                self.backend.synchronize()
        finally:
            invalidate()
            for resident in self.residents():
                resident.drop()
            if isinstance(self.backend, Reclaiming):
                self.backend.close()


_ACTIVE: list[Runtime] = []


def active() -> Runtime | None:
    """The runtime in use, if there is one."""
    return _ACTIVE[0] if _ACTIVE else None


def current() -> Runtime:
    """The runtime in use; the default one is started if there is none."""
    return _ACTIVE[0] if _ACTIVE else start(None, parse({}))


def start(arch: Any, options: Options) -> Runtime:
    """End the runtime in use, then start one; without `arch`, ADSTACK_ARCH or the best that is available decides."""
    stop()
    wanted = arch if arch is not None else os.environ.get("ADSTACK_ARCH") or default_arch()
    _ACTIVE.append(Runtime(candidates(wanted), options))
    return _ACTIVE[0]


def stop() -> None:
    """End the runtime in use, if there is one."""
    check("the runtime ends or begins anew")
    if _ACTIVE:
        _ACTIVE.pop().close()
