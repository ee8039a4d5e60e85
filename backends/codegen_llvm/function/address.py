"""Where an access goes."""

from __future__ import annotations

__all__ = ["Address"]


class Address:
    """The memory that one access touches.

    Attributes:
        kind: "one" (the same element for all lanes), "run" (neighbouring elements, one per lane) or "many" (anywhere).
        name: an LLVM pointer, or for "many" a vector of pointers.
    """

    __slots__ = ("kind", "name")

    def __init__(self, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name
