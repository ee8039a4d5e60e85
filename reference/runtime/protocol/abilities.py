"""What only some backends can do: six optional parts of the protocol, each with what happens without it.

A backend has a part by having all of its methods; `serving(backend)` and its like give the backend as one that does, or
None. Kinds of backends are looked at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from ...ir.types import DType
from .backend import Backend, Bindings, Executable, Scalar, Scalars, Storage
from .shortcuts import Shortcut

__all__ = [
    "Capturing",
    "Graph",
    "Paging",
    "Rebinding",
    "Reclaiming",
    "Serving",
    "Sharing",
    "Transferring",
    "capturing",
    "copying",
    "exclusively",
    "paging",
    "rebinding",
    "reclaiming",
    "serving",
    "sharing",
    "transferring",
]

Graph: TypeAlias = Any
"""Launches that a backend has recorded: a handle that is only ever passed back to it."""


@runtime_checkable
class Serving(Protocol):
    """A backend that serves calls without Python, and so keeps the numbers of launches.

    Without it every call goes through Python, and so do reverse modes; the runtime numbers launches itself.
    """

    def shortcut(self, executable: Executable, wanted: Shortcut) -> Callable[..., Any] | None:
        """A callable for the calls of an executable that are described, if the backend can serve them without Python.

        None if it can't. What the callable takes and gives, and which calls it leaves to Python, `Shortcut` says.
        """

    def exclusively(self, work: Callable[[], None]) -> None:
        """Do work while no thread is about to launch, by machine code or otherwise, and none begins to."""

    def last_launch(self, executable: Executable) -> int:
        """The number of the last launch of an executable; 0 if there was none."""

    def last_scalars(self, executable: Executable) -> Sequence[Scalar | None]:
        """The scalar arguments of the last launch of an executable, in their order; None for floats."""

    def launch_word(self, executable: Executable) -> int:
        """The address of the word with the number of an executable's last launch, for machine code to compare."""

    def mark(self, storage: Storage) -> int:
        """The address of the word where launches note that they use this memory, which lives as long as the memory;
        0 if they need not.
        """


@runtime_checkable
class Transferring(Protocol):
    """A backend whose memory the host does not address: it reads, writes, fills and copies parts of it, each after what
    was queued before.

    Without it, memory without a `host_view` is downloaded and uploaded as a whole.
    """

    def download_at(self, storage: Storage, start: int, count: int) -> npt.NDArray[np.generic]:
        """A flat copy of `count` elements from the `start`th on, all launches finished."""

    def is_in_use(self, storage: Storage) -> bool:
        """Whether the host would have to wait before it writes the memory itself, where it could."""

    def upload_at(self, storage: Storage, start: int, array: npt.NDArray[np.generic]) -> None:
        """Replace the elements from the `start`th on by those of a C-contiguous array of the same type, after what was
        queued before; few of them without waiting for it.
        """

    def copy_parts(self, parts: Sequence[tuple[Storage, int, Storage, int]]) -> None:
        """For each (source, start, target, count) copy `count` elements from the `start`th on of the source to the
        beginning of the target, which is of the same type, one after the other.
        """

    def fill(self, parts: Sequence[tuple[Storage, bytes]]) -> bool:
        """For each (storage, element) let every element of the storage have these bytes; False if the device can't, and
        nothing has happened.
        """

    def copy(self, source: Storage, target: Storage) -> None:
        """Copy all elements of `source` to `target`, which has the same size."""


@runtime_checkable
class Paging(Protocol):
    """A backend that can have memory from its system by the page, when a page is first written.

    Without it memory is taken as long as its handle.
    """

    def allocate_by_page(self, dtype: DType, shape: tuple[int, ...]) -> Storage:
        """Zeroed memory as `Backend.allocate` gives it, for elements most of which may never be written: pages of
        these take no memory, if the device has such memory at all.
        """

    def is_by_page(self, storage: Storage) -> bool:
        """Whether pages of this memory that were never written take no memory."""

    def gives_back(self, storage: Storage) -> bool:
        """Whether pages of this memory that are vacated take no memory until they are written again."""

    def vacate(self, storage: Storage, start: int, count: int) -> bool:
        """Let `count` elements from the `start`th on be 0, touch no others, and give their pages back if that can be
        done; False if nothing has happened.
        """


@runtime_checkable
class Reclaiming(Protocol):
    """A backend whose memory Python does not give back by itself.

    Without it, memory goes with the last reference to its handle.
    """

    def abandon(self, storage: Storage) -> None:
        """Memory has lost its owner: give it back as soon as nothing uses it. May be called at any moment, on any
        thread, also in the middle of other work of the backend; raises nothing.
        """

    def reclaim(self) -> None:
        """Wait for the device, and have back all memory that was given back or abandoned."""

    def close(self) -> None:
        """The runtime ends, and everything has finished: give back what stays from launch to launch."""


@runtime_checkable
class Capturing(Protocol):
    """A backend that keeps launches, and does them again as one.

    Without it a graph launches its calls one after the other.
    """

    def capture(self, run: Callable[[], object], executables: Sequence[Executable]) -> Graph | None:
        """Call `run`, and keep what it launches. None if that can't be done again as one, or was not one launch of each
        of `executables`, in this order.
        """

    def repeat(self, graph: Graph) -> bool:
        """Do what a graph holds again, its launches with new numbers; False if there is no memory for it now."""

    def resize(self, graph: Graph, number: int) -> None:
        """Compute how deep the adstacks of one launch of a graph must be, by its `number` among them, counted from 0.

        AdstackStaleBoundError if they have no room in the heap that the graph was recorded with.
        """


@runtime_checkable
class Rebinding(Capturing, Protocol):
    """One that can run recorded launches with other arguments, so that each kernel can be such a thing.

    Without it `@kernel(graph=True)` is an ordinary kernel.
    """

    def rebind(self, graph: Graph, scalars: Scalars, bindings: Bindings) -> bool:
        """Let a graph of one launch have other scalars and other memory; False if it would be another graph."""


@runtime_checkable
class Sharing(Protocol):
    """A backend on whose device others have memory, and streams of their own, known by their handles.

    Without it, arrays of other libraries in the memory of a device are refused, and streams are not waited for.
    """

    def foreign(self, address: int, dtype: DType, shape: tuple[int, ...], owner: object) -> Storage:
        """Somebody else's memory of the device as a handle.

        Args:
            address: where it begins, as the device addresses it.
            dtype: the type of its elements, which lie in C order.
            shape: their extents.
            owner: what keeps the memory; the handle keeps it alive.
        """

    def wait_for(self, stream: int) -> None:
        """Let everything queued from now on come after what is in a stream."""

    def let_wait(self, stream: int) -> None:
        """Let everything that comes into a stream from now on come after what is queued."""


@cache
def _has(kind: type, part: type) -> bool:
    return issubclass(kind, part)


def serving(backend: Backend) -> Serving | None:
    """The backend, if it serves calls without Python."""
    return cast(Serving, backend) if _has(type(backend), Serving) else None


def exclusively(backend: Backend, work: Callable[[], None]) -> None:
    """Do `work` while no thread is about to launch: see `Serving`. Elsewhere launches wait for Python's turn."""
    device: Any = backend  # every tape asks: no `cast`
    if _has(type(backend), Serving):
        device.exclusively(work)
    else:
        work()


def transferring(backend: Backend) -> Transferring | None:
    """The backend, if it reads, writes, fills and copies parts of its memory."""
    device: Any = backend  # every write of the host asks: no `cast`
    return device if _has(type(backend), Transferring) else None


def paging(backend: Backend) -> Paging | None:
    """The backend, if it has memory by the page."""
    return cast(Paging, backend) if _has(type(backend), Paging) else None


def copying(backend: Backend) -> Transferring | None:
    """The backend, if it is `transferring`, and the host had better not look at its memory itself."""
    device: Any = None if backend.capabilities.direct else backend  # each launch that keeps something asks: no `cast`
    return device if device is not None and _has(type(backend), Transferring) else None


def reclaiming(backend: Backend) -> Reclaiming | None:
    """The backend, if memory that has lost its owner has to be given back."""
    return cast(Reclaiming, backend) if _has(type(backend), Reclaiming) else None


def capturing(backend: Backend) -> Capturing | None:
    """The backend, if it keeps launches and does them again."""
    return cast(Capturing, backend) if _has(type(backend), Capturing) else None


def rebinding(backend: Backend) -> Rebinding | None:
    """The backend, if it does them again with other arguments."""
    return cast(Rebinding, backend) if _has(type(backend), Rebinding) else None


def sharing(backend: Backend) -> Sharing | None:
    """The backend, if others work on its device too."""
    return cast(Sharing, backend) if _has(type(backend), Sharing) else None
