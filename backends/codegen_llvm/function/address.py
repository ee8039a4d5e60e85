"""Where an access goes."""

from __future__ import annotations

__all__ = ["Address"]


class Address:
    """The memory that one access touches.

    Attributes:
        kind: "one" (the same element for all lanes), "run" (one element of each of the records, one per lane, that
            follow each other) or "many" (anywhere).
        name: an LLVM pointer, to the first record where it is a run; for "many" a vector of pointers.
        stride: the elements of a record; with 1 a run is one of neighbouring elements.
        position: which element of its record each lane accesses.
    """

    __slots__ = ("kind", "name", "position", "stride")

    def __init__(self, kind: str, name: str, stride: int = 1, position: int = 0) -> None:
        self.kind = kind
        self.name = name
        self.stride = stride
        self.position = position
