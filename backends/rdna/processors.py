"""Which processors there are, and how they differ besides in their instructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adstack.errors import InternalError

__all__ = ["GFX942", "GFX1100", "MOST_THREADS", "PROCESSORS", "Processor", "processor_of"]


MOST_THREADS: Final = 1024
"""Of a workgroup."""


@dataclass(frozen=True)
class Processor:
    """A processor.

    Attributes:
        name: as LLVM has it.
        mark: what says so in the flags of a code object.
        lanes: threads of a wave.
        registers: that a thread may have; behind 256 they are for matrices ("accumulation"), and for spilling.
        zeroes: whether results of 16 bits set the upper half of a register to zeros, but for instructions that say
            which half they write; otherwise they leave it.
        selects: whether operands may be bytes and halves of registers (SDWA).
    """

    name: str
    mark: int
    lanes: int
    registers: int
    zeroes: bool
    selects: bool


GFX1100: Final = Processor("gfx1100", 0x41, 32, 256, zeroes=False, selects=False)
"""RDNA 3."""
GFX942: Final = Processor("gfx942", 0x4C, 64, 512, zeroes=True, selects=True)
"""CDNA 3."""
PROCESSORS: Final = {one.name: one for one in (GFX1100, GFX942)}


def processor_of(flags: int) -> Processor:
    """The processor of a code object whose header has `flags`. InternalError if it is none of these."""
    for one in PROCESSORS.values():
        if one.mark == flags & 0xFF:
            return one
    raise InternalError(f"there is no emulator of the processor that a code object is for ({flags & 0xFF:#x})")
