"""Memory for others' code that does not survive without it: there, before it is called.

Compilers end the process when an allocation fails inside them. So they are called only where what they may need is
left: by the system, the control groups around the process, and its own limits. If not, a kernel is refused before
anything has happened.
"""

from __future__ import annotations

import mmap

from adstack.errors import AdstackMemoryError

from .memory_left import memory_left

__all__ = ["has_room", "room", "room_in_the_system", "short"]


def room(size: int, what: str) -> None:
    """Raise AdstackMemoryError if there is no memory for `size` bytes; `what` says what they are for."""
    room_in_the_system(size, what)
    if not _may_take(size):
        raise short(what, f"it may take {size} bytes, and the limits of this process leave fewer")


def room_in_the_system(size: int, what: str) -> None:
    """The same for another process that this one starts: limits of this one's own memory do not count."""
    left = memory_left()
    if left is not None and size > left:
        raise short(what, f"it may take {size} bytes, and {left} are left")


def has_room(size: int) -> bool:
    """Whether there is memory for `size` bytes."""
    left = memory_left()
    return (left is None or size <= left) and _may_take(size)


def short(what: str, why: str) -> AdstackMemoryError:
    """The error to raise where there is no memory for something."""
    return AdstackMemoryError(
        f"no memory for {what}: {why}",
        do="free memory, or raise the limits of the process (ulimit -v) or of its control group",
    )


def _may_take(size: int) -> bool:
    try:
        mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except (OSError, MemoryError):
        return False
    return True
