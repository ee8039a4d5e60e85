"""Launches inside tapes, as far as a later `.grad()` outside may ask for them: `TapedLaunches`."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from ..memory.arguments import ArgumentKey, argument_key
from ..memory.contents import Versions

if TYPE_CHECKING:
    from ...launch.arguments import Call
    from ...launch.specialisation import Specialisation

__all__ = ["MOST", "TapedLaunches"]

MOST: Final = 1 << 16
"""How many launches of a kernel with different arguments are noted."""


class TapedLaunches:
    """The arguments that launches of one specialisation inside tapes had, and what memory was after each.

    Nothing is kept for them, so that only those can be differentiated after which nothing was written that matters.
    """

    def __init__(self, specialisation: Specialisation) -> None:
        self._specialisation = specialisation
        self._after: dict[tuple[object, ...], tuple[ArgumentKey, Versions]] = {}
        self._gone: deque[tuple[object, ...]] = deque()

    def note(self, call: Call, versions: Versions) -> None:
        """There was a launch of a call: memory is of these versions since."""
        while self._gone:
            self._after.pop(self._gone.popleft(), None)
        key = argument_key(self._specialisation, call, self._gone.append)
        self._after.pop(key.value, None)
        self._after[key.value] = key, versions
        if len(self._after) > MOST:
            del self._after[next(iter(self._after))]

    def versions(self, key: ArgumentKey) -> Versions | None:
        """What versions memory had after the last launch with the arguments of the key; None if none is noted."""
        noted, versions = self._after.get(key.value, (key, None))
        return versions if noted.alive else None
