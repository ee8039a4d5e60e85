"""How much memory of the device a runtime may use: the option `device_memory_GB`.

Fields, arrays and their gradients count, and the adstack heap; memory that others own (numpy's, torch's) does not. The
heap takes what the others leave: a launch that is short of it runs in waves or with checkpoints, as with a heap limit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol
from weakref import WeakSet

from ...errors import AdstackMemoryError

__all__ = ["Budget", "begin", "current"]


class Sized(Protocol):
    """What takes memory of the device: a buffer, a heap."""

    @property
    def taken(self) -> int:
        """Bytes that it takes now."""


class Spare(Protocol):
    """Who keeps memory of the device that nobody needs, to have it at hand."""

    @property
    def size(self) -> int:
        """Bytes of it."""

    def relieve(self) -> bool:
        """Give it back; whether there was any."""


class Budget:
    """The memory that one runtime may use.

    Args:
        limit: bytes; 0 for no limit but the device's.

    Attributes:
        buffers: memory of fields and arrays.
        heaps: adstack heaps.
        spares: who keeps memory that goes back when it is short.
    """

    def __init__(self, limit: int = 0) -> None:
        self.limit = limit
        self.buffers: WeakSet[Sized] = WeakSet()
        self.heaps: WeakSet[Sized] = WeakSet()
        self.spares: WeakSet[Spare] = WeakSet()

    @property
    def spare(self) -> int:
        """Bytes that are kept only to have them at hand."""
        return sum(one.size for one in list(self.spares))

    def relieve(self) -> bool:
        """Memory is short: have back what is kept only to have it at hand; whether there was any."""
        relieved = [one.relieve() for one in list(self.spares)]
        return any(relieved)

    def admit(self, size: int, what: str) -> None:
        """Raise AdstackMemoryError if there is no room for `size` bytes more; `what` says what they are for."""
        if not self.limit:
            return
        data, heap = _total(self.buffers), _total(self.heaps)
        if data + heap + size > self.limit:
            raise AdstackMemoryError(
                f"{what} takes {size} bytes: of the {self.limit} bytes that device_memory_GB allows, {data} are taken "
                f"by fields and arrays, {heap} by the adstack heap",
                do="raise device_memory_GB, or make less data, or destroy what is no longer needed",
            )

    def heap_limit(self, limit: int) -> int:
        """What `ad_stack_heap_limit` comes to beside fields and arrays (0 for none)."""
        if not self.limit:
            return limit
        left = max(1, self.limit - _total(self.buffers))
        return min(limit, left) if limit else left


def _total(holders: Iterable[Sized]) -> int:
    return sum(one.taken for one in holders)


_CURRENT = [Budget()]


def current() -> Budget:
    """The budget of the runtime in use."""
    return _CURRENT[0]


def begin(gigabytes: float) -> None:
    """A runtime starts that may use so much memory, in units of 2**30 bytes; 0 for all there is."""
    _CURRENT[0] = Budget(int(gigabytes * 2**30))
