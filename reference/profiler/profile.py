"""`Profile`: measures where time goes, while it is entered."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial, wraps
from typing import Any, Final, TypeAlias

from ..errors import AdstackRuntimeError
from ..kernels.gradient import Gradient
from ..runtime import state
from .reasons import reason, reason_of_gradient, recorder
from .report import Fallback, Report, rows_of
from .seams import CALLS, SEAMS, SERVED, Seam, owner_of
from .spans import Spans

__all__ = ["Profile"]

_CALIBRATION: Final = 1000
"""How often nothing is timed, to know what timing takes."""
_NOT_RECORDED: Final = "not recorded"
_ENTERED: Final[list[Profile]] = []
Function: TypeAlias = Callable[..., Any]
"""A function that is timed, whatever it takes and gives."""
Slot: TypeAlias = Any
"""The descriptor of a slot of a class, and what has the slot: a kernel or a gradient."""
Arguments = tuple[object, ...]
Keywords = dict[str, object]


class Profile:
    """Measures where the time of the thread that enters it goes, until it is left.

    For instance::

        with qd.profiler.Profile() as profile:
            train()
        print(profile.report())

    Launches that Python makes are waited for, so that their time is the device's. Other threads are not measured, but
    they are slowed down, too. AdstackRuntimeError where a profile is entered already.

    Args:
        waits: whether the device is waited for after every call, also those that machine code serves.
    """

    def __init__(self, waits: bool = True) -> None:
        self.waits = waits
        self._spans = Spans()
        self._calls: Counter[str] = Counter()
        self._by_machine: Counter[str] = Counter()
        self._fallbacks: Counter[tuple[str, str]] = Counter()
        self._wrapped = ExitStack()
        self._thread = 0
        self._start = self._seconds = self._each = 0.0

    def __enter__(self) -> Profile:
        if _ENTERED:
            raise AdstackRuntimeError("a profile is entered already", do="leave that first")
        _ENTERED.append(self)
        self._thread = threading.get_ident()
        self._each = _cost_of_a_span()
        with ExitStack() as wrapped:
            wrapped.callback(_ENTERED.remove, self)
            for seam in SEAMS:
                self._replace(wrapped, *owner_of(seam.module, seam.path), partial(self._timed, seam))
            for module, path in SERVED:
                self._replace(wrapped, *owner_of(module, path), self._served)
            for module, name, title in CALLS:
                self._replace(wrapped, *owner_of(module, f"{name}.__call__"), partial(_Called, self, title))
            self._wrapped = wrapped.pop_all()
        self._start = time.perf_counter()
        return self

    def __exit__(self, *exception: object) -> None:
        self._seconds += time.perf_counter() - self._start
        self._wrapped.close()

    def report(self) -> Report:
        """What was measured, so far or in all."""
        running = time.perf_counter() - self._start if self in _ENTERED else 0.0
        rows = rows_of(self._spans.seconds, self._calls, self._by_machine, self._spans.counts)
        fallbacks = tuple(Fallback(name, why, count) for (name, why), count in self._fallbacks.most_common())
        overhead = self._each * sum(self._spans.counts.values())
        return Report(self._seconds + running, rows, fallbacks, overhead)

    @staticmethod
    def _replace(wrapped: ExitStack, owner: object, name: str, wrapping: Callable[[Function], object]) -> None:
        original = vars(owner)[name]
        setattr(owner, name, wrapping(original))
        wrapped.callback(setattr, owner, name, original)

    def _timed(self, seam: Seam, function: Function) -> Function:
        @wraps(function)
        def timed(*args: object, **kwargs: object) -> object:
            if threading.get_ident() != self._thread:
                return function(*args, **kwargs)
            span = self._spans.enter(seam.kind, seam.name(args))
            try:
                result = function(*args, **kwargs)
                if seam.waits:
                    _wait()
                return result
            finally:
                self._spans.leave(span)

        return timed

    def _served(self, function: Function) -> Function:
        """What serves a call in Python says so to the call around it."""

        @wraps(function)
        def served(called: object, args: Arguments, kwargs: Keywords) -> object:
            opened = self._spans.opened
            if threading.get_ident() != self._thread or not opened:
                return function(called, args, kwargs)
            opened[-1].kind, opened[-1].reason = "python", recorder() or _NOT_RECORDED
            return function(called, args, kwargs)

        return served

    def call(self, called: object, name: str, serves: Function, args: Arguments, kwargs: Keywords) -> object:
        """Make a call that the program makes of a kernel or a gradient, and note it."""
        if threading.get_ident() != self._thread:
            return serves(*args, **kwargs)
        span = self._spans.enter("machine", name)
        try:
            result = serves(*args, **kwargs)
            if self.waits and not span.reason:
                _wait()
        except BaseException:
            span.reason = "it ended in an error"
            raise
        finally:
            self._spans.leave(span)
            self._count(name, span.reason)
        if span.reason:
            self._fallbacks[name, self._why(called, span.reason, args, kwargs)] += 1
        return result

    @property
    def is_serving(self) -> bool:
        """Whether Python is serving a call: adstack asks for `__call__` then, and means what is in the slot."""
        return bool(self._spans.opened) and bool(self._spans.opened[-1].reason)

    def _count(self, name: str, why: str) -> None:
        self._calls[name] += 1
        self._by_machine[name] += not why

    @staticmethod
    def _why(called: Slot, why: str, args: Arguments, kwargs: Keywords) -> str:
        """Why Python served a call, in words."""
        if why != _NOT_RECORDED:
            return why
        return reason_of_gradient() if isinstance(called, Gradient) else reason(called, args, kwargs)


class _Called:
    """In the place of a class's slot `__call__`: calls go by the profile, assignments to the slot."""

    def __init__(self, profile: Profile, title: Callable[[object], str], slot: Slot) -> None:
        self.profile, self.title, self.slot = profile, title, slot

    def __get__(self, called: object, owner: object = None) -> object:
        if called is None:
            return self
        return self.slot.__get__(called) if self.profile.is_serving else partial(self._call, called)

    def __set__(self, called: object, value: object) -> None:
        self.slot.__set__(called, value)

    def _call(self, called: object, *args: object, **kwargs: object) -> object:
        return self.profile.call(called, self.title(called), self.slot.__get__(called), args, kwargs)


def _wait() -> None:
    """Wait for the device, where launches return before it has finished."""
    runtime = state.active()
    if runtime is not None and not runtime.backend.capabilities.direct:
        runtime.backend.synchronize()


def _cost_of_a_span() -> float:
    """Seconds that timing nothing takes."""
    spans = Spans()
    start = time.perf_counter()
    for _ in range(_CALIBRATION):
        spans.leave(spans.enter("python", "nothing"))
    return (time.perf_counter() - start) / _CALIBRATION
