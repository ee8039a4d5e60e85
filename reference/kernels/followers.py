"""What serves the calls of a kernel where a tape follows what it has learned: `Followers`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..launch.specialisation import Specialisation
from ..runtime.protocol.following import Follower
from ..runtime.protocol.shortcuts import Argument

__all__ = ["Followers"]


class Followers:
    """What serves calls of one kernel where they are the next ones of a sequence, by the kinds of these calls."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Follower] = {}
        self._installed: set[Follower] = set()

    def drop(self) -> None:
        """The kernel's specialisations are forgotten."""
        self._known.clear()
        self._installed.clear()

    def uninstall(self) -> None:
        """None of them is asked any more, until it is installed again."""
        self._installed.clear()

    def follower(self, specialisation: Specialisation, described: tuple[Argument, ...] | None) -> Follower | None:
        """What serves calls with such arguments where they are the next ones of a sequence; None if nothing does."""
        if described is None:
            return None
        kind = specialisation, *map(type, described)
        follower = self._known.get(kind) or specialisation.follower(described)
        if follower is not None:
            self._known[kind] = follower
        return follower

    def installed(self, follower: Follower, call: Callable[..., Any]) -> Callable[..., Any]:
        """What serves calls when one of them is asked before `call`, in the epoch of now: all memory is still there."""
        follower.renew()
        if follower in self._installed:
            return call
        self._installed.add(follower)
        return follower.before(call)
