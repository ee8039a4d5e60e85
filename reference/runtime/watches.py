"""Buffers whose old contents matter: those that loop bounds of differentiable kernels are read from.

Launches are not recorded: they are numbered by the backend, also those that machine code serves. What a buffer held at
one of them is saved when it is about to be written for the first time afterwards.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol
from weakref import ReferenceType, ref

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from .memory import Buffer

__all__ = ["Saved", "Saver", "Watch", "Watcher"]

Array = npt.NDArray[Any]

SPARSE: Final = 32
"""When more than one in so many elements has been saved on its own, the rest is saved at once."""


class Watcher(Protocol):
    """Who needs to know what a buffer held."""

    def last(self) -> int:
        """The number of its last launch; 0 if there was none."""

    def numbers(self) -> Collection[int]:
        """The numbers of all launches for which it may ask."""

    def changes(self) -> None:
        """What it watches is about to be written after its last launch."""


class Saver(Protocol):
    """Who saves what a buffer holds before it is written."""

    def before(self, buffer: Buffer) -> None:
        """It is about to be."""


@dataclass
class Saved:
    """What a buffer held, as the way back from what it held next.

    Attributes:
        number: of the last launch before it was written.
        elements: the first things that were written: where -> what was there, in order.
        contents: what the whole buffer held after these; None if nothing else was written.
        writers: who wrote.
    """

    number: int
    elements: dict[Any, Array] = field(default_factory=dict)
    contents: Array | None = None
    writers: dict[str, None] = field(default_factory=dict)

    def undone(self, after: Array) -> Array:
        """What it held, from what it held next."""
        before = np.array(after if self.contents is None else self.contents)
        for where, old in reversed(self.elements.items()):
            before[where] = old
        return before

    def save(self, now: Array, where: Any) -> None:
        """An element, or with None anything, is about to be written for the first time."""
        if where is None or len(self.elements) * SPARSE > now.size:
            self.contents = np.array(now)
        else:
            self.elements[where] = np.array(now[where])

    def absorb(self, later: Saved) -> None:
        """Lead back from what was there after a later one, which nobody needs for itself."""
        if self.contents is None:
            for where, old in later.elements.items():
                self.elements.setdefault(where, old)
            self.contents = later.contents
        self.writers |= later.writers


class Watch:
    """The past of one buffer, as far as its watchers may ask for it.

    Attributes:
        strict: whether writes of kernels count, so that these must not be served by machine code alone.
        savers: who is told of every write, of kernels too, before it happens.
        last: a word that no number of a later launch is at or below, for machine code.
    """

    def __init__(self) -> None:
        self.last = ctypes.c_int64(-1)
        self._watchers: list[ReferenceType[Watcher]] = []
        self.saved: list[Saved] = []
        self.savers: list[Saver] = []
        self.strict = False
        self._launches = 0

    def add(self, watcher: Watcher) -> None:
        """Somebody wants to know, as long as it lives."""
        if watcher not in self.watchers():
            self._watchers = [ref(one) for one in (*self.watchers(), watcher)]

    def watchers(self) -> list[Watcher]:
        """Who wants to know."""
        return [one for known in self._watchers if (one := known()) is not None]

    def before(self, buffer: Buffer, writer: str, where: Any = None) -> None:
        """The buffer is about to be written: an element, or anything."""
        for saver in self.savers:
            saver.before(buffer)
        launches = buffer.backend.launches
        if launches != self._launches:
            self._launches = launches
            self._start(launches)
        if self.saved:
            last = self.saved[-1]
            last.writers[writer] = None
            if last.contents is None and where not in last.elements:
                last.save(buffer.read(), where)

    def _start(self, launches: int) -> None:
        """There were launches since the last write: keep another state, if they were of watchers."""
        known = self.saved[-1].number if self.saved else 0
        watchers = self.watchers()
        later = [watcher for watcher in watchers if watcher.last() > known]
        for watcher in later:
            watcher.changes()
        if later:
            self.saved.append(Saved(launches))
            self.last.value = launches
            if len(self.saved) > 1 + len(watchers):
                self._trim()

    def at(self, buffer: Buffer, number: int) -> tuple[Array, dict[str, None]] | None:
        """What the buffer held at a launch, and who wrote it since; None if nobody has."""
        since = [one for one in self.saved if one.number >= number]
        if not since:
            return None  # and nothing is read, which would wait for the device
        contents, writers = buffer.read(), dict[str, None]()
        for one in reversed(since):
            contents = one.undone(contents)
            writers |= one.writers
        return contents, writers

    def _trim(self) -> None:
        """Drop what nobody will ask for."""
        numbers = {number for watcher in self.watchers() for number in watcher.numbers()}
        first = (next((one for one in self.saved if one.number >= number), None) for number in numbers)
        wanted = {id(one) for one in first}
        kept: list[Saved] = []
        for one in self.saved:
            if id(one) in wanted:
                kept.append(one)
            elif kept:
                kept[-1].absorb(one)
        self.saved = kept
