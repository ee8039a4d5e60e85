"""Who sees the launches of a thread instead of the backend: a tape, or forward mode. The innermost one does."""

from __future__ import annotations

from typing import Any, Final, Protocol, runtime_checkable

from .scopes import Scopes, Within

__all__ = ["RECORDERS", "Capture", "Recorder", "host_wrote", "in_charge", "is_recording", "recording"]


class Recorder(Protocol):
    """Serves calls of kernels while it is in charge."""

    def call(self, kernel: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
        """Launch `kernel` in whatever way; what it returns."""

    def host_wrote(self, array: object, where: object) -> None:
        """The host wrote to a field or ndarray, at an index (or slice, or ellipsis) of its buffer."""


@runtime_checkable
class Capture(Protocol):
    """Serves calls of reverse modes, too, while it is in charge."""

    def reverse(self, gradient: object, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """Note a call of `gradient`."""


RECORDERS: Final[Scopes[Recorder | None]] = Scopes(asks=True)
"""Those in charge in all threads; each serves the calls of its own. None where calls are plain launches again."""


def in_charge() -> Recorder | None:
    """Who serves the calls of this thread."""
    return RECORDERS.innermost() if RECORDERS else None


def is_recording() -> bool:
    """Whether anybody in this thread records, though calls may be plain launches at the moment."""
    return bool(RECORDERS) and any(recorder is not None for recorder in RECORDERS.own())


def host_wrote(array: object, where: object) -> None:
    """Tell who is in charge of a write of the host."""
    recorder = RECORDERS.innermost()
    if recorder is not None:
        recorder.host_wrote(array, where)


def recording(recorder: Recorder | None) -> Within[Recorder | None]:
    """A context in which `recorder` is in charge; with None, launches are plain inside."""
    return Within(RECORDERS, recorder)
