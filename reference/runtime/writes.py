"""What launches of a plan with the same arguments write: `Writes`, the same for calls that come again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..analysis.boxes import Box
from .protocol.backend import Scalars

if TYPE_CHECKING:
    from .memory.buffers import Buffer
    from .memory.provenance import Source

__all__ = ["Writes"]


class Writes:
    """What launches with some arguments write.

    Attributes:
        scalars, arrays: the arguments.
        memory: (name of the place, memory) of what they write.
        boxes: which elements, by the name of the place; empty until a watch has to be told.
        source: where that comes from; None until then.
    """

    __slots__ = ("arrays", "boxes", "memory", "scalars", "source")

    def __init__(self, scalars: Scalars, arrays: Mapping[str, Buffer], memory: Sequence[tuple[str, Buffer]]) -> None:
        self.scalars, self.arrays, self.memory = scalars, arrays, memory
        self.boxes: dict[str, Sequence[Box]] = {}
        self.source: Source | None = None
