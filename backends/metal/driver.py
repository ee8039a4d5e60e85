"""What the backend asks of a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Buffer", "Driver", "Pipeline"]

Pipeline: TypeAlias = Any
"""A kernel function that is ready to run: a handle that is only ever passed back to the driver."""


@dataclass(frozen=True, eq=False)
class Buffer:
    """Memory that the host and the device share.

    Attributes:
        address: where kernels find it.
        bytes: the host's view of it (u8), which keeps it alive.
        handle: what the driver knows it by.
    """

    address: int
    bytes: npt.NDArray[np.uint8]
    handle: object = None


class Driver(Protocol):
    """A device whose dispatches have finished when `finish` returns.

    Attributes:
        name: of the device.
        kind: how it executes, see `protocol.backend.KINDS`.
        most: threads that a dispatch gets at most.
    """

    name: str
    kind: str
    most: int

    def allocate(self, size: int) -> Buffer:
        """So many zeroed bytes, `size`, which go with the last reference; AdstackMemoryError if there aren't any."""

    def load(self, text: str, names: Sequence[str], *, keep: bool) -> list[Pipeline]:
        """Compile a source text, and return its kernel functions of these names, in their order.

        `keep` says whether what comes out may be kept on disk. InternalError if the source does not compile.
        """

    def dispatch(self, pipeline: Pipeline, words: Buffer, threads: int) -> None:
        """Queue a kernel function, the `pipeline`, on so many threads, which are handed the `words` of a launch."""

    def finish(self) -> None:
        """Wait until everything that was queued has finished."""
