"""What a tape that has ended needs of memory, should its gradient be asked for again: `Ended`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...errors import AdstackDataAccessError
from ...runtime.memory.buffers import Array
from ..events import Event
from ..memory.needed import differing
from ..memory.undo import Log, Touched
from .run import Run

__all__ = ["Ended"]


@dataclass
class _Left:
    """Elements as a tape left them: the version of their memory; what they hold, if others write it without a word."""

    touched: Touched
    version: int = 0
    contents: tuple[Array, ...] = ()

    def note(self) -> None:
        """They are left as they are now."""
        self.version = self.touched.buffer.version
        self.contents = self._now() if self.touched.buffer.shared else ()

    def is_as_left(self) -> bool:
        """Whether nobody has written their memory since."""
        if self.touched.buffer.shared:
            return not any(len(differing(*both)) for both in zip(self.contents, self._now(), strict=True))
        return self.touched.buffer.version == self.version

    def _now(self) -> tuple[Array, ...]:
        return tuple(map(self.touched.buffer.part, self.touched.boxes))


class Ended:
    """A context in which a tape is differentiated: once it has ended, in memory that is as it was then.

    Args:
        needed: the elements that the tape needs then; none of a tape that has not ended.
    """

    def __init__(self, needed: Iterable[Touched] = ()) -> None:
        self._left: list[_Left] = []
        for one in needed:
            if one.buffer.alive:
                left = _Left(one)
                left.note()
                self._left.append(left)

    @staticmethod
    def of(log: Log, events: Iterable[Event]) -> Ended:
        """That of a tape which ends: of the calls that it has followed, and of everything else, which it has logged."""
        needed = log.needs() if log.needed else []
        for event in events:
            if isinstance(event, Run):
                needed += event.program.span(event.first, event.end).needed.values()
        return Ended(needed)

    def _note(self) -> None:
        for one in self._left:
            if one.touched.buffer.alive:
                one.note()

    def __enter__(self) -> Ended:
        for one in self._left:
            if one.touched.buffer.alive and not one.is_as_left():
                raise AdstackDataAccessError(
                    f"this Tape has ended, and {one.touched.label}, of which it needs elements to be differentiated "
                    "again, has been written since",
                    do="call its grad() before that, or record the launches in another Tape",
                )
        return self

    def __exit__(self, *exception: object) -> None:
        self._note()  # what was put back for launches of earlier times is as it was
