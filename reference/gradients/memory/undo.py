"""An undo log of memory: what elements held before they were overwritten, linear in the number of those that changed.

Elements that recorded launches need are kept when somebody is about to write them, see `needed.py`: writes of the host
count like those of kernels.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ...analysis.boxes import Box
from ...runtime.memory.blocks import Block
from ...runtime.memory.buffers import Array, Buffer
from ...runtime.memory.origins import Tiles
from ...runtime.threads.scopes import Scoped
from .needed import Needed, differing

__all__ = [
    "Change",
    "Log",
    "Overwritten",
    "Rewound",
    "Touched",
    "differing",
    "identity",
    "lent",
    "noting",
    "standing",
    "undone",
    "whole",
]

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


def lent(written: Iterable[Touched]) -> list[Touched]:
    """All elements of the memory among what was written that others may write as well, without a word."""
    return [Touched(one.label, one.buffer, whole(one.buffer)) for one in written if one.buffer.shared]


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
        """How many bytes it takes, positions included."""
        return self.positions.nbytes + self.values.nbytes

    def mask(self) -> npt.NDArray[np.bool_]:
        """An array of the buffer's shape that is true at the changed elements."""
        flat = np.zeros(self.buffer.shape, bool)
        flat.reshape(-1)[self.positions] = True
        return flat

    def undone(self, contents: Array) -> Array:
        """A copy of contents with the kept values put in."""
        copy = np.array(contents)
        copy.reshape(-1)[self.positions] = self.values
        return copy


Standing: TypeAlias = tuple[Buffer, int, "Tiles | None"]
"""A buffer, its version, and where its contents come from."""


def standing(buffers: Iterable[Buffer]) -> list[Standing]:
    """How buffers stand that are about to be wound back: see `Rewound.wound`."""
    return [(one, one.version, None if one.watch is None else one.watch.origins(one)) for one in buffers]


class Rewound:
    """Memory that was wound back, and the way to what it was: whatever interrupts it.

    Once it is put back it is of the version that it was, unless somebody else has written it.
    """

    def __init__(self) -> None:
        self._steps: list[Callable[[], object]] = []
        self._versions: dict[int, _Versions] = {}

    def undo(self, change: Change) -> None:
        """Write old values; the new ones are kept first, and the change has them until they are put back."""
        buffer, positions = change.buffer, change.positions
        self.later(functools.partial(setattr, change, "values", change.values))
        keep = functools.partial(self._keep, buffer, positions)
        before = standing([buffer])
        change.values = buffer.exchange(positions, change.values, keep)
        self.wound(before)

    def wound(self, before: Sequence[Standing]) -> None:
        """Buffers that stood as `before` says have been wound back, and nothing else has written them since."""
        for buffer, version, origins in before:
            versions = self._versions.get(id(buffer))
            if versions is None:
                versions = self._versions[id(buffer)] = _Versions(buffer, version, version, origins)
            if versions.last == version:
                versions.last = buffer.version

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
        unwritten = [versions for versions in self._versions.values() if versions.buffer.version == versions.last]
        for attempt in itertools.count(1):
            try:
                for restore in reversed(self._steps):
                    restore()
                self._steps.clear()
                for versions in unwritten:
                    versions.restore()
                break
            except BaseException as error:
                if isinstance(error, Exception) and attempt > _ATTEMPTS:
                    raise
                raised = error
        if raised is not None:
            raise raised


@contextmanager
def undone(changes: Sequence[Change]) -> Iterator[None]:
    """Memory as it was before some changes, which have the newer values inside.

    Afterwards memory and its versions, and the changes, are as before, whatever interrupts it.
    """
    rewound = Rewound()
    try:
        for change in changes:
            rewound.undo(change)
        yield
    finally:
        rewound.restore()


@contextmanager
def noting(touched: Sequence[Touched]) -> Iterator[list[Change]]:
    """A list that has, once the context is left, which of some elements have changed inside."""
    kept, changes = list[Needed](), list[Change]()
    for one in touched:
        if one.buffer.alive:
            kept.append(Needed(one.label, one.buffer))
            kept[-1].need(one.boxes)
            kept[-1].save(None)
    yield changes
    for needed in kept:
        change = needed.changed()
        if change is not None:
            changes.append(Change(needed.label, needed.buffer, *change))


@dataclass
class _Versions:
    """The versions of a buffer before it was first wound back and after it was last; any other means a write.

    Attributes:
        origins: where its contents came from before.
    """

    buffer: Buffer
    first: int
    last: int
    origins: Tiles | None

    def restore(self) -> None:
        """The contents are what they were before."""
        self.buffer.is_again(self.first)
        if self.buffer.watch is not None and self.origins is not None:
            self.buffer.watch.history.back(self.origins)


@dataclass
class Overwritten:
    """Elements that were overwritten by what no recorded launch computed, and the memory of their gradients.

    Attributes:
        grad: the gradients.
        mask: of the gradients' shape, true at these elements.
        given: whether the new values are inputs of the program, so that what their gradient is counts; otherwise they
            are constants.
    """

    grad: Buffer
    mask: npt.NDArray[np.bool_]
    given: bool

    def cut(self) -> Array:
        """Set the gradients of these elements to zero; gives what they were, and 0 elsewhere."""
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
        """Restore what was in force outside the context."""
        self._log.silence = self._before


class Log:
    """The buffers of which elements are needed.

    Launches announce what they write (`launching`), and everybody else does (`Watch.before`).

    Attributes:
        needed: the buffers, by identity.
        holder: gives None once nobody needs the log any more, though nobody may have closed it.
        silence: gives None unless writes are not to be logged.
    """

    def __init__(self) -> None:
        self.needed: dict[Hashable, Needed] = {}
        self.holder: Callable[[], object] | None = None
        self.silence: Callable[[], object] | None = None

    def watch(self, touched: Iterable[Touched]) -> None:
        """Log changes of these elements from now on, against what they hold now."""
        for one in touched:
            if not one.buffer.alive:
                continue
            key = identity(one.buffer)
            needed = self.needed.get(key)
            if needed is None:
                needed = self.needed[key] = self._new(one)
            needed.need(one.boxes)

    def _new(self, one: Touched) -> Needed:
        if not one.buffer.shared:
            one.buffer.told().subscribe(self)
        return Needed(one.label, one.buffer)

    # ---- writes that are about to come

    def launching(self, written: Iterable[Touched]) -> Scoped:
        """A launch inside writes at most these elements."""
        for one in written:
            needed = self.needed.get(identity(one.buffer))
            if needed is not None:
                needed.save(one.boxes)
        return _Quiet(self)

    def quiet(self) -> Scoped:
        """A context in which writes are not logged: no gradient depends on them, or they are known already."""
        return _Quiet(self)

    def before(self, buffer: Block) -> None:
        """Somebody is about to write a buffer."""
        if self.holder is not None and self.holder() is None:
            self.close()
            if isinstance(buffer, Buffer):
                self._leave(buffer)  # an interrupt may have come before it could be noted
            return
        silent = self.silence is not None and self.silence() is not None
        needed = None if silent else self.needed.get(identity(buffer))
        if needed is not None:
            needed.save(None)

    def needs(self) -> list[Touched]:
        """The elements that are watched."""
        return [Touched(one.label, one.buffer, list(one.boxes)) for one in self.needed.values()]

    def close(self) -> None:
        """Stop logging, and give up what is kept."""
        for needed in self.needed.values():
            self._leave(needed.buffer)
        self.needed = {}

    def _leave(self, buffer: Buffer) -> None:
        if buffer.watch is not None:
            buffer.watch.unsubscribe(self)

    # ---- marks

    def mark(self, *, written: bool = False) -> list[Change]:
        """The changes since the last mark, which this becomes; with `written` see `Needed.changed`."""
        if not self.needed:
            return []
        alive = [needed for needed in self.needed.values() if needed.buffer.alive]
        changes = [(needed, needed.changed(written=written)) for needed in alive]
        return [Change(needed.label, needed.buffer, *change) for needed, change in changes if change is not None]
