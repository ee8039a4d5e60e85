"""Integers in memory that decide how often loops run: whether they are still what they were at a launch.

Forward launches do nothing for that, where the bounds are read from fields: what a launch found is saved when somebody
is about to write there (`runtime/watches.py`), and launches are told apart by the backend's numbers. From the first
such write on, launches of a kernel that takes arguments are noted one by one; so are those whose bounds come from array
arguments, or from memory that numpy or torch write as well: of that a copy is made.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ...ir.structure import Op
from ...runtime.guards import invalidate
from ...runtime.memory import Array, Buffer
from ...transforms.autodiff.seen import deciding
from ..arguments import Call
from ..differentiated import companions
from ..specialisation import Specialisation
from .events import key_of, memory_of
from .undo import Change, differing

__all__ = ["Bounds"]

MOST: Final = 4096
"""How many launches with different arguments are noted."""


@dataclass(frozen=True)
class Noted:
    """A launch.

    Attributes:
        number: the backend's.
        copies: what shared memory held: by the name of the place.
    """

    number: int
    copies: dict[str, Array] = field(default_factory=dict)


class Bounds:
    """The bounds of one specialisation.

    Attributes:
        fields: the memory that bounds are read from; `arrays`: the array arguments.
    """

    def __init__(self, made: Specialisation, names: Collection[str]) -> None:
        self._made = made
        self.fields = {name: made.plan.buffers[name] for name in names if name in made.plan.buffers}
        self.arrays = [name for name in names if made.kernel.places[name].kind == "ndarray"]
        self._noted: dict[Any, Noted] = {}
        self._first = 0
        self._notes = bool(self.arrays)
        for buffer in self.fields.values():
            self._watch(buffer)

    @staticmethod
    def of(made: Specialisation) -> Bounds | None:
        """Those of a specialisation; None if it has none, or no gradient."""
        if not any(_is_bound(op) for op in made.kernel.body.walk()) or not companions(made, "grad"):
            return None
        names = {op.attrs["place"].name for op in deciding(made.kernel) if _is_bound(op)}
        return Bounds(made, names) if names else None

    def _watch(self, buffer: Buffer) -> None:
        buffer.watched(strictly=True).add(self)

    @property
    def notes(self) -> bool:
        """Whether every launch has to be noted."""
        return self._notes or any(buffer.shared for buffer in self.fields.values())

    # ---- a watcher

    def last(self) -> int:
        return self._made.plan.number

    def numbers(self) -> Collection[int]:
        return {self._first or self.last(), *(noted.number for noted in self._noted.values())}

    def changes(self) -> None:
        if not self._notes and (self._made.kernel.params or self._made.plan.arguments):
            # until here all launches found the same bounds, whatever their arguments
            self._notes, self._first = True, self.last()
            invalidate()

    # ---- launches

    def note(self, call: Call) -> None:
        """There was a launch."""
        key = key_of(self._made, call) if self.notes else None
        if key is None:
            return
        copies = {}
        for name in (*self.fields, *self.arrays):
            buffer = self._buffer(name, call)
            if buffer.shared:
                copies[name] = np.array(buffer.read())
            elif buffer.watch is None or self not in buffer.watch.watchers():
                self._watch(buffer)
        self._noted.pop(key, None)
        self._noted[key] = Noted(self.last(), copies)
        if len(self._noted) > MOST:
            del self._noted[next(iter(self._noted))]

    def _buffer(self, name: str, call: Call) -> Buffer:
        return self.fields[name] if name in self.fields else call.arrays[name]

    def changed(self, call: Call) -> tuple[list[Change], str]:
        """What is not as the last launch with these arguments found it, and who may have changed it."""
        noted = self._noted.get(key_of(self._made, call)) or Noted(self._first if self._notes else self.last())
        found, writers = [], dict[str, None]()
        for name in (*self.fields, *self.arrays):
            buffer = self._buffer(name, call)
            saved = (noted.copies[name], {"the host": None}) if name in noted.copies else None
            if saved is None and noted.number and buffer.watch is not None:
                saved = buffer.watch.at(buffer, noted.number)
            change = None if saved is None else change_from(self._made, call, name, saved[0])
            if saved is not None and change is not None:
                found.append(change)
                writers |= saved[1]
        return found, " or ".join(writers) or "the host"


def change_from(made: Specialisation, call: Call, name: str, old: Array) -> Change | None:
    """What has changed in the memory of a place, if anything."""
    ((label, buffer),) = memory_of(made, call, frozenset((name,)))
    positions = differing(old, buffer.read())
    return Change(label, buffer, positions, old.reshape(-1)[positions]) if len(positions) else None


def _is_bound(op: Op) -> bool:
    if op.name != "load":
        return False
    place = op.attrs["place"]
    return not place.dtype.is_float and place.role == "primal" and place.kind in ("field", "ndarray")
