"""An undo log of memory: what elements held before they were overwritten, linear in the number of those that changed.

Buffers that recorded launches need are watched: a copy of their contents is kept, and compared with the memory at
every mark if their generation says that they changed (always, for memory that is shared with numpy or torch: their
writes leave no trace). So writes of the host count like those of kernels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...runtime.memory import Array, Buffer

__all__ = ["Change", "Log", "Overwritten", "identity"]


@dataclass
class Change:
    """Elements of one buffer that changed between two marks.

    Attributes:
        label: what the user calls the memory.
        buffer: whose elements.
        positions: flat positions, ascending.
        values: what is not in memory: the old values, or while they are in memory the new ones.
    """

    label: str
    buffer: Buffer
    positions: npt.NDArray[np.int64]
    values: Array

    @property
    def nbytes(self) -> int:
        return self.positions.nbytes + self.values.nbytes

    def swap(self) -> None:
        """Exchange the kept values with those in memory."""
        contents = np.array(self.buffer.read())
        flat = contents.reshape(-1)
        kept, self.values = self.values, flat[self.positions]
        flat[self.positions] = kept
        self.buffer.write(contents)

    def mask(self) -> npt.NDArray[np.bool_]:
        """Where."""
        flat = np.zeros(self.buffer.shape, bool)
        flat.reshape(-1)[self.positions] = True
        return flat

    def undone(self, contents: Array) -> Array:
        """A copy of contents with the kept values put in."""
        copy = np.array(contents)
        copy.reshape(-1)[self.positions] = self.values
        return copy


@dataclass
class Watched:
    """A buffer, and its contents at the last mark."""

    label: str
    buffer: Buffer
    contents: Array
    generation: int

    def changed(self) -> Change | None:
        """What changed since the last mark; from here on, since this one."""
        if self.generation == self.buffer.generation and not self.buffer.shared:
            return None
        now = self.buffer.read()
        bits = f"u{now.dtype.itemsize}"
        positions = np.flatnonzero(now.reshape(-1).view(bits) != self.contents.reshape(-1).view(bits))
        self.generation = self.buffer.generation
        if not len(positions):
            return None
        old = self.contents.reshape(-1)[positions]
        self.contents.reshape(-1)[positions] = now.reshape(-1)[positions]
        return Change(self.label, self.buffer, positions, old)


def identity(buffer: Buffer) -> Any:
    """Equal for buffers over the same memory: every call with a numpy array makes one."""
    if buffer.owned:
        return id(buffer)
    contents = buffer.read()
    return contents.ctypes.data, contents.nbytes, buffer.dtype


@dataclass
class Overwritten:
    """Elements that were overwritten by what no recorded launch computed, and the memory of their gradients.

    Attributes:
        grad: the gradients.
        mask: where.
        given: whether the new values are inputs of the program, so that what their gradient is counts; otherwise they
            are constants.
    """

    grad: Buffer
    mask: npt.NDArray[np.bool_]
    given: bool

    def cut(self) -> Array:
        """Set the gradients there to zero; what they were."""
        contents = np.array(self.grad.read())
        taken = np.where(self.mask, contents, 0)
        contents[self.mask] = 0
        self.grad.write(contents)
        return taken


class Log:
    """The watched buffers."""

    def __init__(self) -> None:
        self._watched: dict[Any, Watched] = {}

    def watch(self, buffers: Iterable[tuple[str, Buffer]]) -> None:
        """From here on, changes of these buffers are logged."""
        for label, buffer in buffers:
            if buffer.alive and identity(buffer) not in self._watched:
                contents = np.array(buffer.read())
                self._watched[identity(buffer)] = Watched(label, buffer, contents, buffer.generation)

    def mark(self) -> list[Change]:
        """What changed since the last mark."""
        changes = (watched.changed() for watched in self._watched.values() if watched.buffer.alive)
        return [change for change in changes if change is not None]
