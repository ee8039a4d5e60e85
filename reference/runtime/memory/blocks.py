"""Blocks: memory of a backend as Python sees it, with a version that tells when it changed."""

from __future__ import annotations

import ctypes
import gc
import itertools
import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final
from weakref import finalize

import numpy as np

from ...analysis.boxes import Box, slices
from ...errors import AdstackMemoryError, AdstackRuntimeError
from ...ir.types import DType
from ..adstacks.budget import current
from ..protocol.abilities import paging, reclaiming, serving, sharing, transferring
from ..protocol.backend import Array, Backend, Storage
from ..protocol.words import ADDRESS, BY_MACHINE_CODE, CHANGED, EXTENTS, MARK, UNWATCHED, VERSION, Words
from ..threads.capturing import CAPTURING, check
from ..threads.guards import invalidate
from ..threads.runtime_lock import RUNTIME_LOCK
from .copying import Uncopied
from .pages import PAGE, Pages
from .streams import ordered

__all__ = ["Array", "Block"]

_next_version: Final[Callable[[], int]] = itertools.count(0, BY_MACHINE_CODE + 1).__next__
"""A version that no block had before. Threads may call it at the same time."""

_FREE: Final = nullcontext()


class Block(Uncopied):
    """`shape` elements of `dtype`, in C order, in a backend's memory. Nobody watches what it holds.

    Attributes:
        dtype: element type.
        shape: extents.
        backend: who owns the memory.
        storage: the backend's handle to it; None once dropped.
        owned: whether the memory goes back to the backend, by `drop` or when the block is collected.
        shared: whether others (numpy, torch) write the memory too, so that `version` may miss changes.
        stream: in which the owner of the memory works on it, if that is another library and has said so.
        by_page: whether most of its elements may never be written, so that pages of them had better take no memory.
    """

    COPY_WHAT = "memory of the runtime"
    COPY_DO = "copy its contents, with to_numpy() and from_numpy()"
    __slots__ = (
        "__weakref__",
        "_end",
        "_pages",
        "_record",
        "_version",
        "backend",
        "by_page",
        "dtype",
        "owned",
        "shape",
        "shared",
        "storage",
        "stream",
    )

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
        self.backend = backend
        self.by_page = by_page
        self.dtype = dtype
        self.shape = shape
        self.owned = storage is None
        self._end: finalize[[Storage], Block] | None = None
        self.storage = self._allocated() if self.owned else storage
        self.shared = shared
        self.stream: int | None = None
        self._version = _next_version()
        self._record: Words | None = None
        self._pages: Pages | None = None

    def _allocated(self) -> Storage:
        """New memory. Where there is none, that of blocks which only wait for Python's collector is had back first."""
        if CAPTURING:
            check("memory is allocated")
        try:
            storage = self.reserve()
        except AdstackMemoryError:
            gc.collect()
            current().relieve()
            device = reclaiming(self.backend)
            if device is not None:
                device.reclaim()
            storage = self.reserve()
        giver = self.giver()
        if giver is not None:
            self._end = finalize(self, giver, storage)
            self._end.atexit = False  # a process that ends gives back everything
        return storage

    def giver(self) -> Callable[[Storage], object] | None:
        """What is handed the memory when the block is collected, at any moment; None if memory goes by itself."""
        device = reclaiming(self.backend)
        return None if device is None else device.abandon

    def reserve(self) -> Storage:
        """New memory of zeros; AdstackMemoryError if there is none."""
        self._admit()
        device = paging(self.backend) if self.by_page else None
        return (self.backend.allocate if device is None else device.allocate_by_page)(self.dtype, self.shape)

    def _admit(self) -> None:
        """Be within what the runtime may use."""
        budget = current()
        if budget.limit:
            budget.admit(self.nbytes, f"memory for {self.dtype} of shape {self.shape}")
            self.storage = None
            budget.buffers.add(self)

    # ---- what it is

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return math.prod(self.shape) * self.dtype.size

    @property
    def taken(self) -> int:
        """Bytes of the device's memory."""
        return 0 if self.storage is None else self.nbytes

    @property
    def box(self) -> Box:
        """The box of all its elements."""
        return tuple((0, extent - 1) for extent in self.shape)

    @property
    def is_ordered(self) -> bool:
        """Whether others work on it in streams of their own, so that launches need Python's care."""
        return self.shared and sharing(self.backend) is not None

    def flat(self, position: tuple[int, ...]) -> int:
        """Which element, in C order, is the first one at a position."""
        at = 0
        for k, extent in enumerate(self.shape):
            at = at * extent + (position[k] if k < len(position) else 0)
        return at

    # ---- how long it lives

    def drop(self) -> None:
        """Give the memory back; a later access is an error."""
        storage, self.storage, self._pages = self.storage, None, None  # given back once, should it be interrupted
        if storage is not None and self.owned:
            if self._end is not None:
                self._end.detach()
            self.backend.free(storage)
        if self._record is not None:
            self._record[ADDRESS] = 0
            invalidate()

    @property
    def alive(self) -> bool:
        """Whether the memory is still there."""
        return self.storage is not None

    def handle(self) -> Storage:
        """The backend's handle; AdstackRuntimeError if the memory was dropped."""
        if self.storage is None:
            raise AdstackRuntimeError("this memory was dropped by reset()", do="make the data again after qd.init()")
        return self.storage

    def usable(self) -> Storage:
        """The backend's handle; an error if the host may not use the memory now."""
        if CAPTURING:
            check("the host reads or writes memory")
        return self.handle()

    # ---- when it changed

    def touch(self) -> None:
        """Say that the contents changed."""
        version, words = _next_version(), self._record
        if words is None:
            self._version = version
        else:
            words[VERSION] = version | words[VERSION] & BY_MACHINE_CODE

    def is_again(self, version: int) -> None:
        """Say that the contents are what they were at an earlier version."""
        if self._record is None:
            self._version = version
        else:
            self._record[VERSION] = version

    def changed(self, launches: int) -> None:
        """Say that it is not what one of so many launches found any more, or by `UNCHANGED` that it is."""
        if self._record is not None:
            self._record[CHANGED] = launches

    @property
    def written(self) -> int:
        """How often machine code wrote it."""
        words = self._record
        return (self._version if words is None else words[VERSION]) & BY_MACHINE_CODE

    @property
    def version(self) -> int:
        """Another one after every write that adstack knows of: by the host, a copy, a kernel, machine code included.

        Two equal versions are the same contents of the same block.
        """
        return self._version if self._record is None else self._record[VERSION]

    def record(self) -> Words:
        """Words about this memory for machine code of the host, which addresses it."""
        if self._record is None:
            served = serving(self.backend)
            words = (ctypes.c_int64 * (EXTENTS + len(self.shape)))()
            words[ADDRESS] = self.backend.address(self.handle())
            words[MARK] = 0 if served is None else served.mark(self.storage)
            words[EXTENTS:] = list(self.shape)
            words[VERSION], words[CHANGED] = self._version, UNWATCHED
            self._tell(words)  # first: an interrupt may come at any time
            self._record = words
        return self._record

    def _tell(self, words: Words) -> None:
        """Such a record is about to be the block's."""

    # ---- what it holds

    def locked(self) -> AbstractContextManager[object]:
        """The lock for what the host does: no thread frees the memory meanwhile."""
        return _FREE if self.backend.capabilities.direct else RUNTIME_LOCK.lock

    def view(self) -> Array | None:
        """The memory itself as a numpy array, if the host addresses it well; the device has finished with it then."""
        storage = self.storage
        return self.backend.host_view(self.usable() if CAPTURING or storage is None else storage)

    def read(self) -> Array:
        """The contents: a view where the host can address the memory, else a copy."""
        with self.locked():
            view = self.view()
            return self._downloaded() if view is None else view

    def _downloaded(self) -> Array:
        with ordered(self.backend, (self,)):
            return self.backend.download(self.handle())

    def item(self, position: tuple[int, ...]) -> Any:
        """One number, at a position with an index for every axis."""
        with self.locked():
            view = self.view()
            if view is not None:
                return view.item(position)
            return self._looked_at().item(self.flat(position), self._fetched)

    def part(self, box: Box) -> Array:
        """A copy of the elements in a box."""
        with self.locked():
            view = self.view()
            if view is None and box and transferring(self.backend) is not None:
                (low, high), row = box[0], math.prod(self.shape[1:])
                rows = self._fetched(low * row, (high - low + 1) * row).reshape((-1, *self.shape[1:]))
                return np.array(rows[slices(((0, high - low), *box[1:]))])
            return np.array((self._downloaded() if view is None else view)[slices(box)])

    def _looked_at(self) -> Pages:
        """What the host has seen of it, if that holds still; of what others may write, nothing does."""
        pages = self._pages
        if pages is None or pages.version != self.version or self.shared:
            elements, length = math.prod(self.shape), 1
            if transferring(self.backend) is None:
                length = max(elements, 1)
            elif not self.shared:
                length = PAGE // self.dtype.size
            pages = self._pages = Pages(self.version, elements, length)
        return pages

    def _fetched(self, start: int, count: int) -> Array:
        """A copy of some elements."""
        device = transferring(self.backend)
        if device is None:
            return self._downloaded().reshape(-1)
        with ordered(self.backend, (self,)):
            return device.download_at(self.handle(), start, count)
