"""Steps that no signal handler of Python breaks off: interrupts are deferred to a point where they do no harm.

Handlers run on the main thread, between any two steps of Python. Where several steps belong together (a command is
recorded, and noted as recorded), the handlers that there are give way to one that only notes what came.
"""

from __future__ import annotations

import importlib
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Final

from .scopes import Entry, Scoped, Scopes

__all__ = ["are_kept", "let_interrupt", "uninterrupted"]

_NAMES: Final = ("SIGINT", "SIGALRM", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGPROF", "SIGBREAK")
_SIGNALS: Final = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))
"""Signals for which programs may have handlers."""
_QUICK: Final = importlib.import_module("_signal")
"""The functions that those of `signal` call, without the names that they make of numbers: a tenth of the time."""
_MAIN: Final = threading.main_thread()
_OPEN: Final[Scopes[None]] = Scopes()
_REPLACED: Final[dict[int, Callable[..., object]]] = {}
"""The handlers that gave way."""
_CAME: Final[list[tuple[int, FrameType | None]]] = []
"""Signals that were noted, and where."""


class uninterrupted(Scoped):  # noqa: N801 - reads like contextlib's contexts
    """A context in which handlers of signals wait for its end, or for `let_interrupt`. It may be nested."""

    def __init__(self) -> None:
        self._entry: Entry[None] | None = None

    def __enter__(self) -> None:
        if threading.get_ident() != _MAIN.ident or (_OPEN and _OPEN.own()):
            return
        try:
            self._entry = _OPEN.begin(None, self.holder())
            _replace()
        except BaseException:
            self.leave(None, None, None)
            raise

    def leave(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Let handlers run."""
        if self._entry is not None:
            _OPEN.end(self._entry)
            _restore()
            let_interrupt()


def are_kept() -> bool:
    """Whether handlers wait at the moment."""
    return bool(_REPLACED)


def let_interrupt() -> None:
    """Run the handlers of what came: where the steps may be broken off, as in a wait."""
    while _CAME and threading.get_ident() == _MAIN.ident:
        number, frame = _CAME.pop(0)
        handler = _REPLACED.get(number) or _QUICK.getsignal(number)
        if callable(handler):
            handler(number, frame)


def _note(number: int, frame: FrameType | None) -> None:
    _CAME.append((number, frame))


def _replace() -> None:
    for number in _SIGNALS:
        handler = _QUICK.getsignal(number)
        if callable(handler) and handler is not _note:
            _REPLACED[number] = handler
            _QUICK.signal(number, _note)


def _restore() -> None:
    """Have the handlers that gave way again, all of them even if one raises at once."""
    try:
        for number, handler in list(_REPLACED.items()):
            _QUICK.signal(number, handler)
            _REPLACED.pop(number, None)
    finally:
        if _REPLACED:
            _restore()
