"""An undo log of memory: what elements held before they were overwritten, linear in the number of those that changed.

Elements that recorded launches need are kept when somebody is about to write them, see `needed.py`: writes of the host
count like those of kernels.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...analysis.boxes import Box
from ...runtime.memory.blocks import Block
from ...runtime.memory.buffers import Array, Buffer
from ...runtime.threads.scopes import Scoped
from .needed import Needed, differing

__all__ = ["Change", "Log", "Overwritten", "Rewound", "Touched", "differing", "identity", "whole"]

_ATTEMPTS: Final = 8
"""How often memory is put back before a failure to do so is raised."""


@dataclass(frozen=True)
class Touched:
    """Elements of one buffer: those in some boxes."""

    label: str
    buffer: Buffer
    boxes: Sequence[Box]


def whole(buffer: Buffer) -> list[Box]:
    """All elements."""
    return [tuple((0, extent - 1) for extent in buffer.shape)] if 0 not in buffer.shape else []


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
        self.values = self.buffer.exchange(self.positions, self.values)

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


class Rewound:
    """Memory that was wound back, and the way to what it was: whatever interrupts it."""

    def __init__(self) -> None:
        self._steps: list[Callable[[], object]] = []

    def undo(self, change: Change) -> None:
        """Write old values; the new ones are kept first, and the change has them from then on."""
        buffer, positions = change.buffer, change.positions
        keep = functools.partial(self._keep, buffer, positions)
        change.values = buffer.exchange(positions, change.values, keep)

    def _keep(self, buffer: Buffer, positions: npt.NDArray[np.int64], newer: Array) -> None:
        self.later(functools.partial(buffer.exchange, positions, newer))

    def later(self, restore: Callable[[], object]) -> None:
        """Something is about to be wound back that this puts back; doing so twice is no harm."""
        self._steps.append(restore)

    def restore(self) -> None:
        """Write all that was kept, from the start again when a signal handler raises; its exception comes in the end.

        Writing twice is no harm. What fails time and again is raised, too.
        """
        raised: BaseException | None = None
        for attempt in itertools.count(1):
            try:
                for restore in reversed(self._steps):
                    restore()
                self._steps.clear()
                break
            except BaseException as error:
                if isinstance(error, Exception) and attempt > _ATTEMPTS:
                    raise
                raised = error
        if raised is not None:
            raise raised


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


def identity(buffer: Block) -> Hashable:
    """Equal for buffers over the same memory: every call with a numpy array makes one."""
    if buffer.owned:
        return id(buffer)
    if buffer.backend.capabilities.addressed and buffer.storage is not None:
        return buffer.backend.address(buffer.storage), buffer.shape, buffer.dtype
    contents = buffer.read()
    return contents.ctypes.data, contents.nbytes, buffer.dtype


class _Quiet(Scoped):
    """A context in which a log is not told of writes."""

    def __init__(self, log: Log) -> None:
        self._log, self._before = log, log.silence

    def __enter__(self) -> None:
        self._log.silence = self.holder()

    def leave(self, kind: object, error: object, trace: object) -> None:
        """What holds around it holds again."""
        self._log.silence = self._before


class Log:
    """The buffers of which elements are needed.

    Launches announce what they write (`launching`), and everybody else does (`Watch.before`).

    Attributes:
        holder: gives None once nobody needs the log any more, though nobody may have closed it.
        silence: gives None unless writes are not to be logged.
    """

    def __init__(self) -> None:
        self._needed: dict[Hashable, Needed] = {}
        self.holder: Callable[[], Any] | None = None
        self.silence: Callable[[], Any] | None = None

    def watch(self, touched: Iterable[Touched]) -> None:
        """From here on, changes of these elements are logged. This is a mark for them."""
        for one in touched:
            if not one.buffer.alive:
                continue
            key = identity(one.buffer)
            known = self._needed.get(key)
            if known is None:
                known = self._needed[key] = self._new(one)
            known.need(one.boxes)

    def _new(self, one: Touched) -> Needed:
        if not one.buffer.shared and self not in one.buffer.watched().savers:
            one.buffer.watched().savers.append(self)
        return Needed(one.label, one.buffer)

    # ---- writes that are about to come

    def launching(self, written: Iterable[Touched]) -> Scoped:
        """A launch inside writes at most these elements."""
        for one in written:
            known = self._needed.get(identity(one.buffer))
            if known is not None:
                known.save(one.boxes)
        return _Quiet(self)

    def quiet(self) -> Scoped:
        """What is written inside is not to be logged, or known to be."""
        return _Quiet(self)

    def before(self, buffer: Block) -> None:
        """Somebody is about to write a buffer."""
        if self.holder is not None and self.holder() is None:
            self.close()
        silent = self.silence is not None and self.silence() is not None
        known = None if silent else self._needed.get(identity(buffer))
        if known is not None:
            known.save(None)

    def close(self) -> None:
        """Nothing is about to come any more."""
        for known in self._needed.values():
            watch = known.buffer.watch
            if watch is not None and self in watch.savers:
                watch.savers.remove(self)
        self._needed = {}

    # ---- marks

    def mark(self) -> list[Change]:
        """What changed since the last mark."""
        alive = [known for known in self._needed.values() if known.buffer.alive]
        changes = [(known, known.changed()) for known in alive]
        return [Change(known.label, known.buffer, *change) for known, change in changes if change is not None]
