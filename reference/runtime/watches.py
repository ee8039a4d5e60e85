"""Buffers whose old contents matter: those that loop bounds of differentiable kernels are read from.

Launches are not recorded: they are numbered by the backend, also those that machine code serves. What a buffer held at
one of them is saved when it is about to be written for the first time afterwards.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from .memory import Buffer

__all__ = ["Saved", "Watch", "Watcher"]


class Watcher(Protocol):
    """Who needs to know what a buffer held."""

    def last(self) -> int:
        """The number of its last launch; 0 if there was none."""

    def numbers(self) -> Collection[int]:
        """The numbers of all launches for which it may ask."""

    def changes(self) -> None:
        """What it watches is about to be written after its last launch."""


@dataclass
class Saved:
    """What a buffer held.

    Attributes:
        number: of the last launch before it was written.
        contents: what it was until then.
        writers: who wrote it since, as long as nobody launched.
    """

    number: int
    contents: npt.NDArray[Any]
    writers: dict[str, None] = field(default_factory=dict)


class Watch:
    """The past of one buffer, as far as its watchers may ask for it."""

    def __init__(self) -> None:
        self.watchers: WeakSet[Watcher] = WeakSet()
        self.saved: list[Saved] = []

    def before(self, buffer: Buffer, writer: str) -> None:
        """The buffer is about to be written."""
        known = self.saved[-1].number if self.saved else 0
        later = [watcher for watcher in self.watchers if watcher.last() > known]
        if later:
            for watcher in later:
                watcher.changes()
            self.saved.append(Saved(buffer.backend.launches, np.array(buffer.read())))
            self._trim()
        if self.saved:
            self.saved[-1].writers[writer] = None

    def at(self, number: int) -> Saved | None:
        """What the buffer held at a launch; None if it has not been written since."""
        return next((one for one in self.saved if one.number >= number), None)

    def _trim(self) -> None:
        """Drop what nobody will ask for."""
        wanted = {id(self.at(number)) for watcher in self.watchers for number in watcher.numbers()}
        self.saved = [one for one in self.saved if id(one) in wanted]
