"""What the tests of kept memory share: how much memory fields and arrays have on a device, counted and not guessed."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from adstack.runtime import state
from adstack.runtime.reference_backend import ReferenceBackend

ARCHES = ("reference", "cpu", "vulkan", "cuda")
"""The host plays the CUDA device, if ADSTACK_CUDA_DEVICE says so."""


def device_bytes() -> Callable[[], int]:
    """A function that says how many bytes the device has given out, once everything has finished; on the host: how many
    of those that fields and arrays take from now on.
    """
    backend: Any = state.current().backend
    if backend.capabilities.name == "vulkan":
        return lambda: _finished(backend).memory.used
    if backend.capabilities.name == "cuda":
        return lambda: -_finished(backend).driver.available()
    return _counted(backend)


def _finished(backend: Any) -> Any:
    backend.synchronize()
    return backend


def _counted(backend: Any) -> Callable[[], int]:
    """Memory of numpy's: what `allocate` gave, as long as anything has it."""
    taken: dict[int, int] = {}
    allocate = backend.allocate

    def noted(dtype: Any, shape: Any) -> Any:
        buffer = root = allocate(dtype, shape)
        while isinstance(root.base, np.ndarray):
            root = root.base
        taken[id(root)] = root.nbytes
        weakref.finalize(root, taken.pop, id(root)).atexit = False
        return buffer

    backend.allocate = noted
    return lambda: sum(taken.values())


class Whole(ReferenceBackend):
    """A backend whose memory the host copies as a whole."""

    def host_view(self, storage: Any) -> Any:
        return None


class Parts(Whole):
    """One whose memory the host copies in parts; it notes how many elements were copied."""

    def __init__(self) -> None:
        super().__init__()
        self.copied: list[int] = []

    def download_at(self, storage: Any, start: int, count: int) -> Any:
        self.copied.append(count)
        part = storage.reshape(-1)[start : start + count].copy()
        assert len(part) == count
        return part

    def is_in_use(self, storage: Any) -> bool:
        return True

    def upload_at(self, storage: Any, start: int, array: Any) -> None:
        assert array.flags.c_contiguous
        storage.reshape(-1)[start : start + len(array)] = array

    def copy_parts(self, parts: Any) -> None:
        for source, start, target, count in parts:
            target[...] = source.reshape(-1)[start : start + count]

    def fill(self, parts: Any) -> bool:
        return False

    def copy(self, source: Any, target: Any) -> None:
        target[...] = source
