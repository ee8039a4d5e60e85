"""Buffers: the memory behind fields, ndarrays and array arguments, with a generation that tells when it changed."""

from __future__ import annotations

import ctypes
import gc
import itertools
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, cast
from weakref import WeakSet, finalize

import numpy as np
import numpy.typing as npt

from ..analysis.boxes import Box, box_at, slices, volume
from ..errors import AdstackMemoryError, AdstackRuntimeError
from ..ir.types import DType
from .abilities import copying, filling, reclaims
from .backend import Backend, Marking, Ordering, Partial, Reclaiming
from .budget import current
from .capturing import CAPTURING, check
from .copying import Uncopied
from .guards import invalidate, rewired
from .keeping import Kept
from .pages import PAGE, Pages
from .streams import ordered
from .turn import TURN
from .watches import OBSERVERS, Watch, Watcher, tell_others

__all__ = [
    "ADDRESS",
    "BESIDE",
    "CHANGED",
    "EXTENTS",
    "GENERATION",
    "HISTORY",
    "MARK",
    "TAG",
    "UNCHANGED",
    "UNWATCHED",
    "WRITTEN",
    "Array",
    "Buffer",
    "next_generation",
]

Array = npt.NDArray[Any]

next_generation: Callable[[], int] = itertools.count(1).__next__
"""A number never given before: two equal generations are the same contents of the same buffer."""

TAG: Final = 0
ADDRESS: Final = 1
WRITTEN: Final = 2
GENERATION: Final = 3
BESIDE: Final = 4
MARK: Final = 5
HISTORY: Final = 6
EXTENTS: Final = 7
"""Words of a buffer's record: what its owner marks it with, where it is (0 once dropped), how often machine code wrote
it, its generation as far as Python knows, the record of its gradient's buffer (0 if none was told), where its backend
has launches note that they use it (0 if nowhere), whether its past is kept, and its extents."""

UNWATCHED: Final = 0
UNCHANGED: Final = 1
CHANGED: Final = 2
"""What stands at `HISTORY`: nobody may ask what it held; it is what it was ever since somebody may; it is not."""


_FREE: Final = nullcontext()
_FEW: Final = 64
"""So many components of an element are looked at, whether they are the same."""


class Buffer(Uncopied):
    """`shape` elements of `dtype`, in C order, in a backend's memory.

    Attributes:
        dtype: element type.
        shape: extents.
        backend: who owns the memory.
        storage: the backend's handle to it; None once dropped.
        owned: whether the memory goes back to the backend, by `drop` or when nobody has the buffer any more.
        shared: whether others (numpy, torch) write the memory too, so that `generation` may miss changes.
        stream: in which the owner of the memory works on it, if it is somebody else's who has said so.
        watch: who wants to know what it held before it is written, if anybody.
        writers: the plans made for it that write it; None if there was none.
    """

    COPY_WHAT = "memory of the runtime"
    COPY_DO = "copy its contents, with to_numpy() and from_numpy()"
    __slots__ = (
        "__weakref__",
        "_end",
        "_generation",
        "_pages",
        "_record",
        "_seen",
        "backend",
        "dtype",
        "owned",
        "shape",
        "shared",
        "storage",
        "stream",
        "watch",
        "writers",
    )

    def __init__(
        self, backend: Backend, dtype: DType, shape: tuple[int, ...], storage: Any = None, *, shared: bool = False
    ) -> None:
        self.backend = backend
        self.dtype = dtype
        self.shape = shape
        self.owned = storage is None
        self._end: finalize[..., Any] | None = None
        self.storage = self._allocated() if self.owned else storage
        self.shared = shared
        self.stream: int | None = None
        self.watch: Watch | None = None
        self.writers: WeakSet[Any] | None = None
        self._generation = next_generation()
        self._record: ctypes.Array[ctypes.c_int64] | None = None
        self._seen = 0
        self._pages: Pages | None = None

    def _allocated(self) -> Any:
        """New memory. Where there is none, that of buffers which only wait for Python's collector is had back first."""
        if CAPTURING:
            check("memory is allocated")
        try:
            storage = self._taken_from_device()
        except AdstackMemoryError:
            gc.collect()
            if isinstance(self.backend, Reclaiming):
                self.backend.reclaim()
            storage = self._taken_from_device()
        if reclaims(type(self.backend)):
            self._end = finalize(self, cast(Reclaiming, self.backend).abandon, storage)
            self._end.atexit = False  # a process that ends gives back everything
        return storage

    def _taken_from_device(self) -> Any:
        self._admit()
        return self.backend.allocate(self.dtype, self.shape)

    def _admit(self) -> None:
        """Be within what the runtime may use."""
        budget = current()
        if budget.limit:
            budget.admit(self._bytes, f"memory for {self.dtype} of shape {self.shape}")
            self.storage = None
            budget.buffers.add(self)

    @property
    def _bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.size

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return self._bytes

    @property
    def taken(self) -> int:
        """Bytes of the device's memory."""
        return 0 if self.storage is None else self._bytes

    def touch(self) -> None:
        """Say that the contents changed."""
        self._generation = next_generation()
        if self._record is not None:
            self._record[GENERATION] = self._generation

    def written_by(self, plan: Any) -> None:
        """Launches of a plan write it."""
        if self.writers is None:
            self.writers = WeakSet()
        self.writers.add(plan)
        rewired()

    @property
    def is_strict(self) -> bool:
        """Whether kernels may only write it with Python's knowledge."""
        return self.watch is not None and self.watch.strict

    @property
    def is_ordered(self) -> bool:
        """Whether others work on it in streams of their own, so that launches need Python's care."""
        return self.shared and isinstance(self.backend, Ordering)

    def turn(self) -> AbstractContextManager[Any]:
        """For what the host does: nobody frees the memory meanwhile, and, if others observe it, nobody launches."""
        return TURN.lock if OBSERVERS or not self.backend.capabilities.direct else _FREE

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
        if self._record is not None and self.is_ordered:
            self._record[TAG] = 0
        invalidate()

    def watched(self, watcher: Watcher | None = None) -> Watch:
        """Its watch, made if there is none. With a watcher, kernels that write it go through Python from now on."""
        if self.watch is None:
            self.watch = Watch()
        if watcher is not None:
            fresh = not self.watch.strict
            self.watch.add(watcher)
            if fresh:
                if self._record is not None:
                    self._record[HISTORY] = UNCHANGED
                if self.writers:
                    invalidate()  # those that machine code serves must ask
        return self.watch

    @property
    def written(self) -> int:
        """How often machine code wrote it."""
        return 0 if self._record is None else self._record[WRITTEN]

    def changed(self) -> None:
        """Say that it is not what a launch may have found any more."""
        if self._record is not None:
            self._record[HISTORY] = CHANGED

    @property
    def box(self) -> Box:
        """All its elements."""
        return tuple((0, extent - 1) for extent in self.shape)

    @property
    def generation(self) -> int:
        """Changes with every write that adstack knows of: by the host, by fill, by a kernel."""
        if self._record is not None and self._record[WRITTEN] != self._seen:
            self._seen = self._record[WRITTEN]
            self.touch()
        return self._generation

    def record(self) -> ctypes.Array[ctypes.c_int64]:
        """Words about this buffer for machine code of the host, which addresses its memory."""
        if self._record is None:
            words = (ctypes.c_int64 * (EXTENTS + len(self.shape)))()
            words[ADDRESS] = self.backend.address(self._alive())
            words[MARK] = self.backend.mark(self.storage) if isinstance(self.backend, Marking) else 0
            words[EXTENTS:] = list(self.shape)
            words[GENERATION] = self._generation
            if self.is_strict and self.watch is not None:
                words[HISTORY] = CHANGED if self.watch.saved else UNCHANGED
            self._record = words
        return self._record

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

    def view(self) -> Array | None:
        """The memory itself as a numpy array, if the host addresses it well; the device has finished with it then."""
        return self.backend.host_view(self.usable())

    def usable(self) -> Any:
        """The backend's handle; an error if the host may not use the memory now."""
        if CAPTURING:
            check("the host reads or writes memory")
        return self._alive()

    def read(self) -> Array:
        """The contents: a view where the host can address the memory, else a copy."""
        with self.turn():
            view = self.view()
            return self._downloaded() if view is None else view

    def _downloaded(self) -> Array:
        with ordered(self.backend, (self,)):
            return self.backend.download(self._alive())

    def item(self, position: tuple[int, ...]) -> Any:
        """One number, at a position with an index for every axis."""
        with self.turn():
            view = self.view()
            if view is not None:
                return view.item(position)
            return self._looked_at().item(self._flat(position), self._fetched)

    def _looked_at(self) -> Pages:
        """What the host has seen of it, if that holds still; of what others may write, nothing does."""
        pages = self._pages
        if pages is None or pages.generation != self.generation or self.shared:
            elements, length = math.prod(self.shape), 1
            if not isinstance(self.backend, Partial):
                length = max(elements, 1)
            elif not self.shared:
                length = PAGE // self.dtype.size
            pages = self._pages = Pages(self.generation, elements, length)
        return pages

    def _fetched(self, start: int, count: int) -> Array:
        """A copy of some elements."""
        if not isinstance(self.backend, Partial):
            return self._downloaded().reshape(-1)
        with ordered(self.backend, (self,)):
            return self.backend.download_at(self._alive(), start, count)

    def _flat(self, position: tuple[int, ...]) -> int:
        """Which element, in C order, is the first one at a position."""
        at = 0
        for k, extent in enumerate(self.shape):
            at = at * extent + (position[k] if k < len(position) else 0)
        return at

    def put(self, position: tuple[int, ...], value: Any) -> None:
        """Write one element (or the last axes of one): `value` is what numpy converts to it."""
        with self.turn():
            self.announce((box_at(position, self.shape),))
            self._put(position, value)

    def _put(self, position: tuple[int, ...], value: Any) -> None:
        view = self.view()
        if view is not None:
            view[position] = value
            self.touch()
            return
        values = np.empty(self.shape[len(position) :], self.dtype.numpy)
        values[...] = value
        pages, start = self._looked_at(), self._flat(position)
        self._send(start, values.reshape(-1))
        self.touch()
        pages.put(start, values.reshape(-1))
        pages.generation = self._generation

    def _send(self, start: int, values: Array) -> None:
        """Write elements from the `start`th on."""
        if not isinstance(self.backend, Partial):
            contents = self._downloaded()
            contents.reshape(-1)[start : start + len(values)] = values
            self._upload(contents)
            return
        with ordered(self.backend, (self,)):
            self.backend.upload_at(self._alive(), start, values)

    def _upload(self, contents: Array) -> None:
        with ordered(self.backend, (self,)):
            self.backend.upload(self._alive(), contents)

    def write(self, array: Any) -> None:
        """Replace the contents by `array` (any shape that broadcasts, converted to the buffer's dtype)."""
        if CAPTURING:
            check("the host writes memory")
        with self.turn():
            self.announce()
            if not self._filled(array):
                self._replace(np.asarray(array))
            self.touch()

    def _replace(self, array: Array) -> None:
        """Write through the host: at once where it addresses the memory and nothing can go wrong halfway."""
        values = self.view() if array.dtype.kind in "biuf" else None
        target = np.empty(self.shape, self.dtype.numpy) if values is None else values
        with np.errstate(all="ignore"):
            target[...] = array
        if values is None:
            self._upload(target)

    def part(self, box: Box) -> Array:
        """A copy of the elements in a box."""
        with self.turn():
            view = self.view()
            if view is None and isinstance(self.backend, Partial) and box:
                (low, high), row = box[0], math.prod(self.shape[1:])
                rows = self._fetched(low * row, (high - low + 1) * row).reshape((-1, *self.shape[1:]))
                return np.array(rows[slices(((0, high - low), *box[1:]))])
            return np.array((self._downloaded() if view is None else view)[slices(box)])

    def keep(self, box: Box, spare: list[Buffer] | None = None) -> Kept | Array:
        """A copy of the elements in a box, for later: made by the device, where the host would have to wait for it.

        Memory in `spare`, of this device and of flat elements of this type, may be used for it.
        """
        device = copying(self.backend)
        if device is None:
            return self.part(box)
        if volume(box) == 1:
            return np.full((1,) * len(box), self.item(tuple(low for low, _ in box)), self.dtype.numpy)
        start = self._flat(tuple(low for low, _ in box))
        end = self._flat(tuple(high for _, high in box)) + 1
        fitting = next((one for one in spare or () if one.shape == (end - start,) and one.alive), None)
        if fitting is not None and spare is not None:
            spare.remove(fitting)
        target = fitting or Buffer(self.backend, self.dtype, (end - start,))
        with self.turn(), ordered(self.backend, (self,)):
            device.copy_at(self._alive(), start, target._alive(), end - start)
        return Kept(target, start, box, self.shape)

    def exchange(
        self, positions: npt.NDArray[np.int64], values: Array, keep: Callable[[Array], object] | None = None
    ) -> Array:
        """Write elements at some flat positions for a while; what they were, which `keep` gets before anything is
        written. As they come back, no watcher is told.
        """
        with self.turn():
            if OBSERVERS:
                tell_others(self)
            for saver in () if self.watch is None else tuple(self.watch.savers):
                saver.before(self)
            return self._exchange(positions, values, keep)

    def _exchange(self, positions: npt.NDArray[np.int64], values: Array, keep: Any) -> Array:
        view, start = self.view(), 0
        if view is not None:
            flat = view.reshape(-1)
        elif isinstance(self.backend, Partial):
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

    def _filled(self, array: Any) -> bool:
        """Let the device write every element, if it can, and they are all the same."""
        device, values = filling(self.backend), np.asarray(array)
        if device is None or not 0 < values.size <= _FEW or values.ndim >= max(len(self.shape), 1):
            return False
        with np.errstate(all="ignore"):
            elements = {one.tobytes() for one in values.reshape(-1).astype(self.dtype.numpy)}
        if len(elements) > 1:
            return False
        with ordered(self.backend, (self,)):
            return device.fill(self._alive(), elements.pop())

    def copy_from(self, other: Buffer) -> bool:
        """Replace the contents by those of another buffer, if the device can, and they are of one kind."""
        device, kind = filling(self.backend), (self.backend, self.dtype, self.shape)
        if device is None or (other.backend, other.dtype, other.shape) != kind:
            return False
        if CAPTURING:
            check("the host writes memory")
        with self.turn():
            self.announce()
            if other is not self:
                with ordered(self.backend, (self, other)):
                    device.copy(other._alive(), self._alive())
            self.touch()
        return True

    def _alive(self) -> Any:
        if self.storage is None:
            raise AdstackRuntimeError("this memory was dropped by reset()", do="make the data again after qd.init()")
        return self.storage
