"""Buffers: the memory behind fields, ndarrays and array arguments, with a generation that tells when it changed."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import AdstackRuntimeError
from ..ir.types import DType
from .backend import Backend

__all__ = ["Array", "Buffer", "next_generation"]

Array = npt.NDArray[Any]

next_generation: Callable[[], int] = itertools.count(1).__next__
"""A number never given before: two equal generations are the same contents of the same buffer."""


class Buffer:
    """`shape` elements of `dtype`, in C order, in a backend's memory.

    Attributes:
        dtype: element type.
        shape: extents.
        backend: who owns the memory.
        storage: the backend's handle to it; None once dropped.
        owned: whether `drop` gives the memory back to the backend.
        generation: changes with every write that adstack knows of: by the host, by fill, by a kernel.
        shared: whether others (numpy, torch) write the memory too, so that `generation` may miss changes.
    """

    __slots__ = ("__weakref__", "backend", "dtype", "generation", "owned", "shape", "shared", "storage")

    def __init__(
        self, backend: Backend, dtype: DType, shape: tuple[int, ...], storage: Any = None, *, shared: bool = False
    ) -> None:
        self.backend = backend
        self.dtype = dtype
        self.shape = shape
        self.storage = backend.allocate(dtype, shape) if storage is None else storage
        self.generation = next_generation()
        self.owned = storage is None
        self.shared = shared

    def touch(self) -> None:
        """Say that the contents changed."""
        self.generation = next_generation()

    def drop(self) -> None:
        """Give the memory back; a later access is an error."""
        if self.storage is not None and self.owned:
            self.backend.free(self.storage)
        self.storage = None

    @property
    def alive(self) -> bool:
        """Whether the memory is still there."""
        return self.storage is not None

    def view(self) -> Array | None:
        """The memory itself as a numpy array, if the host can address it and the device has finished with it."""
        return self.backend.host_view(self._alive())

    def read(self) -> Array:
        """The contents: a view where the host can address the memory, else a copy."""
        view = self.view()
        return self.backend.download(self._alive()) if view is None else view

    def write(self, array: Any) -> None:
        """Replace the contents by `array` (any shape that broadcasts, converted to the buffer's dtype)."""
        values = np.empty(self.shape, self.dtype.numpy)
        with np.errstate(all="ignore"):
            values[...] = array
        self.backend.upload(self._alive(), values)
        self.touch()

    def _alive(self) -> Any:
        if self.storage is None:
            raise AdstackRuntimeError("this memory was dropped by reset()", do="make the data again after qd.init()")
        return self.storage
