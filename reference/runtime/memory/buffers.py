"""Buffers: the memory behind fields, ndarrays and array arguments; the host writes it; its history may be watched."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Final, TypeAlias
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from ...analysis.boxes import Box, box_at
from ...ir.types import DType
from ..protocol.abilities import exclusively, paging, transferring
from ..protocol.backend import Backend, Storage
from ..protocol.words import CHANGED, TAG, UNCHANGED, Words
from ..threads.capturing import CAPTURING, check
from ..threads.guards import invalidate, rewired
from ..threads.runtime_lock import RUNTIME_LOCK
from .blocks import Array, Block
from .observers import OBSERVERS, tell_all, tell_others
from .streams import ordered
from .watches import Watch, Watcher

__all__ = ["Array", "Buffer", "Runs"]

Runs: TypeAlias = Sequence[tuple[int, int]]
"""Elements in C order, as (the first one, how many)."""

_FREE: Final = nullcontext()
_FEW: Final = 64
"""So many components of an element are looked at, whether they are the same."""


class Buffer(Block):
    """A block that the host and kernels write: its watch is told before, so that it can save the contents.

    Attributes:
        watch: what is told before it is written; None if its history is not watched.
        writers: the plans made for it that write it; None if there was none.
        user: which thread used it last as memory of gradients or duals, see `gradients/clearing.py`; None: none did.
    """

    __slots__ = ("user", "watch", "writers")

    def __init__(
        self,
        backend: Backend,
        dtype: DType,
        shape: tuple[int, ...],
        storage: Storage = None,
        *,
        shared: bool = False,
        by_page: bool = False,
    ) -> None:
        super().__init__(backend, dtype, shape, storage, shared=shared, by_page=by_page)
        self.watch: Watch | None = None
        self.writers: WeakSet[object] | None = None
        self.user: object = None

    def written_by(self, plan: object) -> None:
        """Launches of a plan write it."""
        if self.writers is None:
            self.writers = WeakSet()
        self.writers.add(plan)
        rewired()

    @property
    def is_strict(self) -> bool:
        """Whether kernels may only write it with Python's knowledge."""
        return self.watch is not None and self.watch.strict

    def locked(self) -> AbstractContextManager[object]:
        """The lock for what the host does: no thread frees the memory meanwhile; none launches if it is observed."""
        return RUNTIME_LOCK.lock if OBSERVERS or not self.backend.capabilities.direct else _FREE

    def announce(self, where: Sequence[Box] | None = None) -> None:
        """The host is about to write some boxes of elements, or any."""
        if OBSERVERS:
            tell_others(self)
        if self.watch is not None:
            self.watch.before(self, "the host", where)

    def share(self) -> None:
        """Others may write the memory from now on."""
        if self.shared:
            return
        self.announce()
        self.shared = True
        if OBSERVERS:
            tell_all(self)
        if self._record is not None and self.is_ordered:
            self._record[TAG] = 0
        invalidate()

    def watched(self, watcher: Watcher | None = None) -> Watch:
        """Its watch, made if there is none. With a watcher, kernels that write it go through Python from now on."""
        watch = self.told()
        watch.ask()
        if watcher is not None:
            fresh = not watch.strict
            watch.add(watcher)
            if fresh:
                self.changed(UNCHANGED)
                if self.writers:
                    invalidate()  # those that machine code serves must ask
        return watch

    def told(self) -> Watch:
        """Its watch, made if there is none, for those who subscribe to it: it notes nothing for others."""
        if self.watch is None:
            self.watch = Watch(self._record)
        return self.watch

    def _tell(self, words: Words) -> None:
        if self.watch is not None:
            self.watch.words = words
            if self.watch.strict:
                words[CHANGED] = self.watch.last

    # ---- what the host writes

    def put(self, position: tuple[int, ...], value: object) -> None:
        """Write one element (or the last axes of one): `value` is what numpy converts to it."""
        with self.locked():
            self.announce((box_at(position, self.shape),))
            self._put(position, value)

    def _put(self, position: tuple[int, ...], value: object) -> None:
        device = transferring(self.backend)
        view = None if device is not None and device.is_in_use(self.usable()) else self.view()
        if view is not None:
            view[position] = value
            self.touch()
            return
        values = np.empty(self.shape[len(position) :], self.dtype.numpy)
        values[...] = value
        pages, start = self._looked_at(), self.flat(position)
        self._send(start, values.reshape(-1))
        self.touch()
        pages.put(start, values.reshape(-1))
        pages.version = self.version

    def _send(self, start: int, values: Array) -> None:
        """Write elements from the `start`th on."""
        device = transferring(self.backend)
        if device is None:
            contents = self._downloaded()
            contents.reshape(-1)[start : start + len(values)] = values
            self._upload(contents)
            return
        with ordered(self.backend, (self,)):
            device.upload_at(self.handle(), start, values)

    def replace_parts(self, contents: Array, runs: Callable[[], Runs]) -> None:
        """Take over elements of `contents`, which has the buffer's shape and type; all others are the same already."""
        device, flat = transferring(self.backend), contents.reshape(-1)
        if device is None:
            self._upload(contents)
        else:
            with ordered(self.backend, (self,)):
                for start, count in runs():
                    device.upload_at(self.handle(), start, flat[start : start + count])
        self.touch()

    def _upload(self, contents: Array) -> None:
        with ordered(self.backend, (self,)):
            self.backend.upload(self.handle(), contents)

    def write(self, array: object) -> None:
        """Replace the contents by `array` (any shape that broadcasts, converted to the buffer's dtype)."""
        if CAPTURING:
            check("the host writes memory")
        with self.locked():
            self.announce()
            if not self._filled(array):
                self._replace(np.asarray(array))
            self.touch()

    def vacate(self, used: Callable[[], Runs] | None = None) -> bool:
        """Let every element be 0: a backend that takes memory by the page gives it back, others that can do it.

        False if the host would have to write all elements; then nothing has changed.

        Args:
            used: gives elements, all but which are 0; they alone are written where memory stays with its pages.
        """
        if CAPTURING:
            check("the host writes memory")
        with self.locked():
            self.announce()
            if not (self.give_up() or self._clear(used)):
                if transferring(self.backend) is None:
                    return False
                if not self._filled(0):
                    self._replace(np.asarray(0))
            self.touch()
            return True

    @property
    def is_by_page(self) -> bool:
        """Whether pages that were never written take no memory."""
        device = paging(self.backend)
        return device is not None and device.is_by_page(self.usable())

    def give_up(self) -> bool:
        """Let every element be 0, and give all pages back; whoever watches has been told. False if that can't be."""
        device, storage = paging(self.backend), self.usable()
        return device is not None and device.gives_back(storage) and device.vacate(storage, 0, math.prod(self.shape))

    def _clear(self, used: Callable[[], Runs] | None) -> bool:
        """Let some elements be 0, and touch no pages but theirs."""
        device, storage = paging(self.backend), self.usable()
        if device is None or used is None or not self.by_page:
            return False
        return all(device.vacate(storage, start, count) for start, count in used())

    def give_back(self, unused: Callable[[], Runs]) -> None:
        """Give back the memory of elements that are 0, if the backend takes memory by the page.

        Args:
            unused: gives them as (the first one, how many), in C order; called while no launch changes the buffer.
        """
        device = paging(self.backend)
        if device is None or not device.gives_back(self.usable()):
            return

        def work() -> None:
            for start, count in unused():
                device.vacate(self.usable(), start, count)

        with RUNTIME_LOCK.lock:
            exclusively(self.backend, work)

    def _replace(self, array: Array) -> None:
        """Write through the host: at once where it addresses the memory and nothing can go wrong halfway."""
        values = self.view() if array.dtype.kind in "biuf" else None
        target = np.empty(self.shape, self.dtype.numpy) if values is None else values
        with np.errstate(all="ignore"):
            target[...] = array
        if values is None:
            self._upload(target)

    def exchange(
        self, positions: npt.NDArray[np.int64], values: Array, keep: Callable[[Array], object] | None = None
    ) -> Array:
        """Write elements at some flat positions for a while; what they were, which `keep` gets before anything is
        written. As they come back, no watcher is told.
        """
        with self.locked():
            if OBSERVERS:
                tell_others(self)
            if self.watch is not None:
                for saver in tuple(self.watch.savers):
                    saver.before(self)
                self.watch.history.forget()
            return self._exchange(positions, values, keep)

    def _exchange(
        self, positions: npt.NDArray[np.int64], values: Array, keep: Callable[[Array], object] | None
    ) -> Array:
        view, start = self.view(), 0
        if view is not None:
            flat = view.reshape(-1)
        elif transferring(self.backend) is not None:
            start = int(positions.min())
            flat = self._fetched(start, int(positions.max()) + 1 - start)
        else:
            flat = self._downloaded().reshape(-1)
        before: Array = flat[positions - start]
        if keep is not None:
            keep(before)
        flat[positions - start] = values
        if view is None:
            self._send(start, flat)
        self.touch()
        return before

    def _filled(self, array: object) -> bool:
        """Let the device write every element, if it can, and they are all the same."""
        device = transferring(self.backend)
        if device is None:
            return False
        plain = type(array) in (int, float)
        elements = _number(self.dtype, repr(array)) if plain else _elements(self.dtype, array, len(self.shape))
        if len(elements) != 1:
            return False
        with ordered(self.backend, (self,)):
            return device.fill([(self.handle(), next(iter(elements)))])

    def copy_from(self, other: Buffer) -> bool:
        """Replace the contents by those of another buffer, if they are of one kind, and device or host can at once."""
        device, kind = transferring(self.backend), (self.backend, self.dtype, self.shape)
        view = self.view() if device is None else None
        if (device is None and view is None) or (other.backend, other.dtype, other.shape) != kind:
            return False
        if CAPTURING:
            check("the host writes memory")
        with self.locked():
            self.announce()
            if view is not None:
                view[...] = other.read()
            elif device is not None and other is not self:
                with ordered(self.backend, (self, other)):
                    device.copy(other.handle(), self.handle())
            self.touch()
        return True


def _elements(dtype: DType, array: object, rank: int) -> frozenset[bytes]:
    """The bytes of all elements that memory of some rank gets from an array; none if these are too many to look at."""
    values = np.asarray(array)
    if not 0 < values.size <= _FEW or values.ndim >= max(rank, 1):
        return frozenset()
    with np.errstate(all="ignore"):
        return frozenset(one.tobytes() for one in values.reshape(-1).astype(dtype.numpy))


@lru_cache
def _number(dtype: DType, text: str) -> frozenset[bytes]:
    """The same of a number of Python's, given as its `repr`, since zeros have a sign."""
    try:
        return _elements(dtype, int(text), 0)
    except ValueError:
        return _elements(dtype, float(text), 0)
