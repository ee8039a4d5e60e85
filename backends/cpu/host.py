"""The processor of this process, as what runs the code of this backend."""

from __future__ import annotations

import ctypes
from typing import Final

import numpy as np
import numpy.typing as npt

from adstack.backends.shared.jit import host, host_target, linked, made_for
from adstack.backends.shared.kept import default_folder
from adstack.backends.shared.object_cache import ObjectCache

from .machines import Code, Printer, Workers
from .pool_code import HostWorkers
from .vectors import attributes, vector_bytes

__all__ = ["Host"]

_LINE: Final = 64
_MOST_BYTES: Final = 1 << 62
"""Beyond this a size is no number for an allocator."""
_PRINT: Final = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))


class Host:
    """A `Machine`, see there."""

    def __init__(self) -> None:
        features = host()[1]
        self.target = host_target()
        self.vector_bytes = vector_bytes(features)
        self.attributes = attributes(self.vector_bytes, scalable="+sve" in features.split(","))

    @property
    def made_for(self) -> tuple[str, ...]:
        """What its code is made for."""
        return (*made_for(), self.attributes)

    def take(self, size: int, *, zeroed: bool = True) -> npt.NDArray[np.generic]:
        """So many bytes, or a MemoryError."""
        if size > _MOST_BYTES:
            raise MemoryError(f"{size} bytes")
        raw = (np.zeros if zeroed else np.empty)(size + _LINE, np.uint8)
        start = -raw.ctypes.data % _LINE
        return raw[start : start + size]

    def load(self, image: bytes) -> Code:
        """An object with a function `run`."""
        library = linked(image, ["run"])
        return Code(library, library["run"], library["run"])

    def workers(self) -> Workers:
        """The code of the thread pool."""
        return HostWorkers(ObjectCache(default_folder()))

    def printer(self, context: int, print_: Printer) -> tuple[object, int]:
        """What code calls to print: to be kept, and its address."""
        function = _PRINT(print_)
        return function, ctypes.cast(function, ctypes.c_void_p).value or 0
