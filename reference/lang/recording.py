"""Who sees launches instead of the backend: a tape, or forward mode. The innermost one does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol, runtime_checkable

from ..runtime.guards import compiling

__all__ = ["RECORDERS", "Capture", "Recorder", "host_wrote", "recording"]


class Recorder(Protocol):
    """Serves calls of kernels while it is in charge."""

    def call(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Launch `kernel` in whatever way; what it returns."""

    def host_wrote(self, array: Any, where: Any) -> None:
        """The host wrote to a field or ndarray, at an index (or slice, or ellipsis) of its buffer."""


@runtime_checkable
class Capture(Protocol):
    """Serves calls of reverse modes, too, while it is in charge."""

    def reverse(self, gradient: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Note a call of `gradient`."""


RECORDERS: Final[list[Recorder | None]] = []
"""Those in charge, the innermost last; None where calls are plain launches again."""


def host_wrote(array: Any, where: Any) -> None:
    """Tell who is in charge of a write of the host."""
    recorder = RECORDERS[-1]
    if recorder is not None:
        recorder.host_wrote(array, where)


@contextmanager
def recording(recorder: Recorder | None) -> Iterator[None]:
    """Put `recorder` in charge; with None, launches are plain inside."""
    compiling(1)  # machine code that serves calls has to ask
    RECORDERS.append(recorder)
    try:
        yield
    finally:
        RECORDERS.pop()
        compiling(-1)
