"""Whether two buffers are the same memory, in part or whole: `overlap(one, other)`."""

from __future__ import annotations

from .buffers import Buffer

__all__ = ["overlap"]


def overlap(one: Buffer, other: Buffer) -> bool | None:
    """Whether two buffers share elements; None if that can't be told. The device is not waited for.

    What the runtime allocates for one buffer belongs to no other. Views of others may begin and end anywhere.
    """
    if one.storage is other.storage:
        return True
    if one.owned and other.owned:
        return False
    offered = one.backend.capabilities
    if one.storage is None or other.storage is None or not (offered.direct or offered.addressed):
        return None
    start, another = one.backend.address(one.storage), other.backend.address(other.storage)
    return start < another + other.nbytes and another < start + one.nbytes
