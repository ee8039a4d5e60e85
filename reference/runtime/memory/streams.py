"""Streams of others on the same device, in which they write to memory that is shared, and read what launches wrote.

Launches are queued on the default stream. What torch and cupy do on another one, their current stream, knows nothing of
it: so a launch that touches shared memory waits for their current streams, and these wait for it. The host waits for
nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final, Protocol

from ..protocol.abilities import Sharing, sharing
from ..protocol.backend import Backend

__all__ = ["DEFAULT", "Shared", "current", "ordered"]

DEFAULT: Final = (None, 0, 1)
"""The default stream, as interfaces call it."""


def current() -> list[int]:
    """The current streams of torch and cupy, as far as they are loaded and are not the default stream."""
    streams = (_torch(sys.modules.get("torch")), _cupy(sys.modules.get("cupy")))
    return list({stream: None for stream in streams if stream not in DEFAULT})


def _torch(torch: object) -> int | None:
    cuda = getattr(torch, "cuda", None)
    return cuda.current_stream().cuda_stream if cuda is not None and cuda.is_initialized() else None


def _cupy(cupy: object) -> int | None:
    cuda = getattr(cupy, "cuda", None)
    return None if cuda is None else cuda.get_current_stream().ptr


class Shared(Protocol):
    """Memory that others may work on: see `blocks.Block`."""

    @property
    def shared(self) -> bool:
        """Whether others than adstack work on it."""

    @property
    def stream(self) -> int | None:
        """The stream on which its owner works, as a handle of the device's driver; None if that is not known."""


def ordered(backend: Backend, buffers: Iterable[Shared]) -> AbstractContextManager[None]:
    """What is done inside with these buffers comes after what others have done with them, and before what they will."""
    shared = [buffer for buffer in buffers if buffer.shared]
    device = sharing(backend) if shared else None
    if device is None:
        return _NOTHING
    named = (buffer.stream for buffer in shared)
    streams = dict.fromkeys((*current(), *(stream for stream in named if stream is not None and stream not in DEFAULT)))
    return _ordered(device, [*streams]) if streams else _NOTHING


_NOTHING: Final = nullcontext()


@contextmanager
def _ordered(backend: Sharing, streams: Sequence[int]) -> Iterator[None]:
    for stream in streams:
        backend.wait_for(stream)
    try:
        yield
    finally:
        for stream in streams:
            backend.let_wait(stream)
