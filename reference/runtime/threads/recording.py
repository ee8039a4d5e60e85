"""Who sees the launches of a thread instead of the backend: a tape, or forward mode. The innermost one does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from ...errors import AdstackRuntimeError
from .scopes import Scopes, Within

__all__ = [
    "RECORDERS",
    "Capture",
    "Constant",
    "Forward",
    "Recorder",
    "capturing",
    "check_entered",
    "forward_mode",
    "host_wrote",
    "in_charge",
    "is_recording",
    "recording",
]


class Recorder(Protocol):
    """Serves calls of kernels while it is in charge."""

    def call(self, kernel: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
        """Launch `kernel` in whatever way; what it returns."""

    def host_wrote(self, array: object, where: object) -> None:
        """The host wrote to a field or ndarray, at an index (or slice, or ellipsis) of its buffer."""


@runtime_checkable
class Capture(Protocol):
    """Notes calls, also those of reverse modes, while it is in charge; they are made later."""

    def reverse(self, gradient: object, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        """Note a call of `gradient`."""

    def begin_tape(self, tape: Any) -> None:
        """The calls that follow are made under a tape."""

    def end_tape(self, *, failed: bool) -> None:
        """They are no longer; whether an exception has left the tape."""


Constant: TypeAlias = Callable[[Any, Any], object]
"""Takes memory of tangents, and the flat positions of those that are zero, as what they are beside is constant now."""


@runtime_checkable
class Forward(Protocol):
    """Forward mode: what is differentiated in reverse within it is the launches with their tangents."""

    def enter(self, kernel: Any, compiled: Any, call: Any, runtime: Any) -> Any:
        """What is to be launched in place of the specialisation `compiled`, which has tangents; itself without any."""

    def adjoint(self, kernel: Any, compiled: Any, call: Any, runtime: Any, args: Sequence[object]) -> tuple[Any, Any]:
        """What is differentiated in place of the specialisation `compiled`, and the call with what that takes."""

    def reverses(self) -> None:
        """A launch is about to be differentiated in reverse by `kernel.grad()`, also inside of a tape."""

    def second(self, kernel: Any, call: Any, args: Sequence[object]) -> Any:
        """A call with the duals of the gradients of what it passes."""

    def open_tape(self, constant: Constant, *, plain: bool) -> None:
        """A tape begins; a `plain` one sets gradients to zero, and checks nothing.

        `constant` is told which tangents are zero because others have written what they are beside.
        """

    def note_others(self) -> None:
        """Set the tangents to zero of what other threads have written since this was last done."""

    def recorded(self, launches: list[Any], plain: Any, runtime: Any) -> list[Any]:
        """What a tape records where it would record these launches, of `plain` or of that with its tangents."""

    def beside(self, dual: Any) -> Sequence[Any]:
        """The memory of tangents along all directions, of which the first has `dual`."""

    def beside_gradient(self, grad: Any) -> Sequence[Any]:
        """The same for gradients and their tangents."""

    def host_looked(self, array: object) -> None:
        """The host reads an array."""

    def host_wrote(self, array: object, where: object) -> None:
        """See `Recorder`."""

    def host_linked(self, array: object, where: object, entries: Sequence[object]) -> None:
        """The same for numbers some of which have tangents."""


RECORDERS: Final[Scopes[Recorder | None]] = Scopes(asks=True)
"""The recorders of all threads: each serves the calls of its thread. None where calls are plain launches again."""


def in_charge() -> Recorder | None:
    """Who serves the calls of this thread."""
    return RECORDERS.innermost() if RECORDERS else None


def check_entered(entry: object, what: str) -> None:
    """AdstackRuntimeError where a context is left that is not entered: `entry` is what it put in force, or None."""
    if entry is None:
        raise AdstackRuntimeError(
            f"this {what} is left, and is not entered, or was left before",
            do="enter it by a `with` statement, which leaves it once",
        )


def capturing() -> Capture | None:
    """Who notes the calls of this thread, to make them later; None if they are made now."""
    recorder: object = in_charge()
    return recorder if recorder is not None and isinstance(recorder, Capture) else None  # protocols are slow to ask


def forward_mode() -> Forward | None:
    """The forward mode that is around the calls of this thread, also where something else is in charge."""
    around: list[object] = [*RECORDERS.own()] if RECORDERS else []
    return next((one for one in around if one is not None and isinstance(one, Forward)), None)


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
