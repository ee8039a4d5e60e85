"""What a program keeps on the device besides the caller's memory: one allocation, divided up here.

Temps and results come first, and how many lanes each task has handed out, which are zeroed before every launch, then
depths, which stay, then what is reported: errors, overflows, prints.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from adstack.backends.shared.own_size import own_size
from adstack.backends.shared.reports import OVERFLOW, PRINT_WORDS
from adstack.backends.shared.sites import Site, record_words
from adstack.ir.structure import Place, Program
from adstack.ir.types import DType

__all__ = ["DeviceArray", "OwnMemory"]

_ALIGNMENT: Final = 256


@dataclass(frozen=True, eq=False)
class DeviceArray:
    """Memory of the device: `shape` elements in C order.

    Attributes:
        owner: whose memory it is, if it is somebody else's.
        by_page: whether pages of it take no memory before they are touched.
    """

    address: int
    dtype: DType
    shape: tuple[int, ...]
    owner: object = None
    by_page: bool = False

    @property
    def count(self) -> int:
        """How many elements."""
        return math.prod(self.shape)

    @property
    def size(self) -> int:
        """Bytes."""
        return self.count * self.dtype.size

    def empty(self) -> npt.NDArray[np.generic]:
        """An array of the host like it."""
        return np.empty(self.shape, self.dtype.numpy)


@dataclass(frozen=True)
class OwnMemory:
    """Offsets, in bytes, into a program's own memory.

    Attributes:
        places: by name.
        taken: of a word for each task.
        zeroed: how many bytes, from the start, are zeroed before every launch.
        errors, overflow, prints: of the records; `prints` is None where nothing is printed.
        print_words: how many words one launch may print.
        reset: bytes, from `errors` on, that are zeroed before a launch that may report something.
        size: of everything.
    """

    places: dict[str, int] = field(default_factory=dict)
    taken: int = 0
    zeroed: int = 0
    errors: int = 0
    overflow: int = 0
    prints: int | None = None
    print_words: int = 0
    reset: int = 0
    size: int = 0

    @classmethod
    def of(cls, program: Program, sites: list[Site], *, claims: bool = False) -> OwnMemory:
        """Lay out what a program needs; with `claims`, lanes are handed out while tasks run."""
        places: dict[str, int] = {}
        at = _lay(places, [p for p in program.places.values() if p.kind in ("temp", "result")], 0)
        taken = at
        zeroed = at = at + (_rounded(8 * len(program.tasks)) if claims else 0)
        at = _lay(places, [p for p in program.places.values() if p.kind == "depths"], at)
        errors, at = at, at + _rounded(8 * record_words(sites))
        overflow, at = at, at + _rounded(8 * OVERFLOW)
        printing = any(site.kind == "print" for site in sites)
        prints = at if printing else None
        reset = at - errors + (8 if printing else 0)  # how much was printed, but not how much may be
        print_words = PRINT_WORDS if printing else 0
        size = at + (8 * (print_words + 2) if printing else 0)
        return cls(places, taken, zeroed, errors, overflow, prints, print_words, reset, size)


def _lay(offsets: dict[str, int], places: list[Place], at: int) -> int:
    for place in places:
        offsets[place.name] = at
        at += _rounded(own_size(place))
    return at


def _rounded(size: int) -> int:
    return -(-max(size, 1) // _ALIGNMENT) * _ALIGNMENT
