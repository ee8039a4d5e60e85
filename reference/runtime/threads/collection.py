"""Python's collector of cycles, paused while something is compiled."""

from __future__ import annotations

import gc
from contextlib import ContextDecorator
from types import TracebackType
from typing import Final

from .scopes import Entry, Scoped, Scopes

__all__ = ["uncollected"]

_PAUSES: Final[Scopes[None]] = Scopes()
"""For what the collector is paused. Where none goes on, an interrupt has left it so."""


class uncollected(Scoped, ContextDecorator):  # noqa: N801 - a context that is called, like contextlib's
    """Within this block no cycles are looked for, unless others ask for it.

    What a compiler makes stays until it is done: to look through it again and again takes a third of its time.
    """

    def __init__(self) -> None:
        self._entry: Entry[None] | None = None

    def _recreate_cm(self) -> uncollected:
        return uncollected()

    def __enter__(self) -> None:
        if not gc.isenabled() and not _left():
            return
        self._entry = _PAUSES.begin(None, self.holder())
        gc.disable()

    def leave(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Let the collector go on."""
        if self._entry is not None:
            gc.enable()
            _PAUSES.end(self._entry)


def _left() -> bool:
    """Whether the collector is off because something that paused it was interrupted."""
    stale = [entry for entry in list(_PAUSES) if not entry.in_force]
    for entry in stale:
        _PAUSES.end(entry)
    return bool(stale) and not _PAUSES
