"""Versions for launches that keep nothing of what they found: as long as these hold, memory is what it was.

Memory that adstack alone writes has a number for a version. Nothing tells of the writes of others, to arrays of numpy's
and torch's and to what a field shares with them: there a copy of what the memory held stands for its version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakValueDictionary

import numpy as np

from ...errors import AdstackMemoryError
from ...runtime.memory.buffers import Array, Buffer
from ...runtime.memory.keeping import Kept, keep
from ...runtime.memory.ledger import LEDGER

if TYPE_CHECKING:
    from ...launch.arguments import Call

__all__ = ["Versioned", "Versions"]


class Contents:
    """What memory that others write held. It keeps nothing if there is no room for a copy.

    Args:
        memory: an array of the host, or a buffer.
    """

    __slots__ = ("__weakref__", "_held")

    def __init__(self, memory: Array | Buffer) -> None:
        self._held: Array | Kept | None = None
        try:
            self._held = keep(memory, memory.box) if isinstance(memory, Buffer) else np.array(memory)
        except (MemoryError, AdstackMemoryError):
            return
        LEDGER.add(self, self.nbytes)

    @property
    def nbytes(self) -> int:
        """Bytes that the copy takes."""
        return 0 if self._held is None else self._held.nbytes

    @property
    def lost(self) -> bool:
        """Whether there is no copy."""
        return self._held is None

    @property
    def is_near(self) -> bool:
        """Whether the copy is the host's, and soon compared."""
        return isinstance(self._held, np.ndarray)

    def lose(self) -> None:
        """Give up the copy: its memory was needed for something else."""
        self._held = None

    def are_in(self, memory: Array | Buffer) -> bool:
        """Whether memory holds the same bits."""
        if self._held is None:
            return False
        old = self._held.array() if isinstance(self._held, Kept) else self._held
        now = memory.read() if isinstance(memory, Buffer) else memory
        if (old.shape, old.dtype) != (now.shape, now.dtype):
            return False
        bits = f"u{old.dtype.itemsize}"
        return not bool(np.not_equal(old.view(bits), now.view(bits)).any())


Versions: TypeAlias = tuple[int | Contents, ...]
"""The versions of several memories, in order."""


class Versioned:
    """The memory of some places, which has versions in each call.

    Args:
        fields: the memory that is the same in every call, by place.
        arrays: the places of arguments.
    """

    def __init__(self, fields: Mapping[str, Buffer], arrays: Iterable[str]) -> None:
        self._fields, self._names = fields, (*fields, *arrays)
        self._known: WeakValueDictionary[str, Contents] = WeakValueDictionary()

    def memories(self, call: Call) -> list[Buffer]:
        """The memory in a call."""
        return [self._memory(name, call) for name in self._names]

    def versions(self, call: Call, held: Mapping[str, Array] | None = None) -> Versions:
        """The versions now; of the memory of some places, when it `held` something."""
        return tuple([self._version(name, call, held.get(name) if held else None) for name in self._names])

    def are(self, versions: Versions, call: Call) -> bool:
        """Whether the memory in a call holds what some had of which these were the versions."""
        if len(versions) != len(self._names):
            return False
        return all(self._is(one, name, call) for one, name in zip(versions, self._names, strict=True))

    def _memory(self, name: str, call: Call) -> Buffer:
        return self._fields[name] if name in self._fields else call.arrays[name]

    def _version(self, name: str, call: Call, held: Array | None) -> int | Contents:
        buffer = self._memory(name, call)
        if buffer.owned and not buffer.shared and call.loans is None:
            return buffer.version
        memory, contents = _of_others(name, buffer, call) if held is None else held, self._known.get(name)
        if memory is None:
            return buffer.version
        if contents is None or not contents.is_near or not contents.are_in(memory):
            contents = self._known[name] = Contents(memory)
        return contents

    def _is(self, version: int | Contents, name: str, call: Call) -> bool:
        buffer = self._memory(name, call)
        memory = _of_others(name, buffer, call)
        if isinstance(version, Contents):
            return memory is not None and version.are_in(memory)
        return memory is None and version == buffer.version


def _of_others(name: str, buffer: Buffer, call: Call) -> Array | Buffer | None:
    """The memory of a place, if others may write it without saying so."""
    for loan in call.loans or ():
        if loan.place == name and loan.copy is not None:
            return loan.original
    return buffer if buffer.shared or not buffer.owned else None
