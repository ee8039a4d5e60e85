"""Whether two buffers are the same memory, in part or whole: `overlap(one, other)`, by their `bounds`."""

from __future__ import annotations

from .buffers import Buffer

__all__ = ["bounds", "overlap"]


def overlap(one: Buffer, other: Buffer) -> bool | None:
    """Whether two buffers share elements; None if that can't be told. The device is not waited for.

    What the runtime allocates for one buffer belongs to no other. Views of others may begin and end anywhere.
    """
    if one.storage is other.storage:
        return True
    if one.owned and other.owned:
        return False
    first, second = bounds(one), bounds(other)
    if first is None or second is None:
        return None
    return first[0] < second[1] and second[0] < first[1]


def bounds(buffer: Buffer) -> tuple[int, int] | None:
    """The first address of a buffer, and that behind its last; None if they can't be told."""
    offered = buffer.backend.capabilities
    if buffer.storage is None or not (offered.direct or offered.addressed):
        return None
    start = buffer.backend.address(buffer.storage)
    return start, start + buffer.nbytes
