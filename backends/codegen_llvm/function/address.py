"""Where an access goes."""

from __future__ import annotations

from dataclasses import dataclass

from adstack.ir.types import DType

__all__ = ["Address", "Offsets"]


@dataclass(frozen=True)
class Offsets:
    """Elements by their distances from a base.

    Attributes:
        base: an LLVM pointer.
        element: the LLVM type that distances count; empty if they are addresses.
        counts: the distances, a vector with one number a lane.
        word: their dtype.
    """

    base: str
    element: str
    counts: str
    word: DType


class Address:
    """The memory that one access touches.

    Attributes:
        kind: "one" (the same element for all lanes), "run" (one element of each of the records, one per lane, that
            follow each other) or "many" (anywhere).
        name: an LLVM pointer, to the first record where it is a run; for "many" a vector of pointers.
        stride: the elements of a record; with 1 a run is one of neighbouring elements.
        position: which element of its record each lane accesses.
        offsets: for "many", the same as offsets (a vector of i32 or i64) from a base: both, and the element's type.
    """

    __slots__ = ("kind", "name", "offsets", "position", "stride")

    def __init__(self, kind: str, name: str, stride: int = 1, position: int = 0) -> None:
        self.kind = kind
        self.name = name
        self.stride = stride
        self.position = position
        self.offsets: Offsets | None = None
