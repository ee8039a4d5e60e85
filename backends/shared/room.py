"""Memory for others' code that does not survive without it: there, before it is called.

Compilers end the process when an allocation fails inside them. So they are called only where what they may need is
left: by the system, the control groups around the process, and its own limits. If not, a kernel is refused before
anything has happened.
"""

from __future__ import annotations

import mmap

from adstack.errors import AdstackMemoryError

from .memory_left import memory_left

__all__ = ["room"]


def room(size: int, what: str) -> None:
    """Raise AdstackMemoryError if there is no memory for `size` bytes; `what` says what they are for."""
    left = memory_left()
    if left is not None and size > left:
        raise _short(size, what, f"{left} are left")
    try:
        mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except (OSError, MemoryError) as error:
        raise _short(size, what, "the limits of this process leave fewer") from error


def _short(size: int, what: str, there: str) -> AdstackMemoryError:
    return AdstackMemoryError(
        f"no memory for {what}: it may take {size} bytes, and {there}",
        do="free memory, or raise the limits of the process (ulimit -v) or of its control group",
    )
