"""How much of the past all buffers and records may keep together; the oldest goes first."""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol
from weakref import ReferenceType, ref

__all__ = ["LEDGER", "Keeper", "Ledger", "limit_kept"]

MOST_BYTES: Final = 1 << 30
"""How much of the past is kept for all buffers together, unless `limit_kept` says less."""
FEW: Final = 256
"""So many keepers are noted before it is looked which of them are still there."""


class Keeper(Protocol):
    """Who keeps something that it can do without."""

    @property
    def nbytes(self) -> int:
        """Bytes that it takes now."""

    @property
    def lost(self) -> bool:
        """Whether it was given up."""

    def lose(self) -> None:
        """Free what it keeps: `lost` from now on."""


class Ledger:
    """How much of the past all histories have saved.

    Attributes:
        most: how many bytes may be.
    """

    def __init__(self) -> None:
        self.most = MOST_BYTES
        self._bytes = 0
        self._order: deque[ReferenceType[Keeper]] = deque()
        self._many = FEW

    @property
    def why(self) -> str:
        """Why it may be so many bytes, for messages; "" where nobody has chosen it."""
        return "ad_stack_heap_limit caps what is kept, too" if self.most < MOST_BYTES else ""

    def add(self, keeper: Keeper, nbytes: int) -> None:
        """Somebody keeps more."""
        if not self._order or self._order[-1]() is not keeper:
            self._order.append(ref(keeper))
        self._bytes += nbytes
        if self._bytes > self.most or len(self._order) > self._many:
            self._settle(keeper)
            self._many = FEW + 2 * len(self._order)  # most of them may be gone by then

    def _settle(self, latest: Keeper) -> None:
        """Count what is really there, and drop the oldest until there is room; what was saved last stays."""
        alive = {id(one): one for reference in self._order if (one := reference()) is not None and not one.lost}
        self._bytes = sum(one.nbytes for one in alive.values())
        for one in alive.values():
            if self._bytes <= self.most or one is latest:
                break
            self._bytes -= one.nbytes
            one.lose()
        self._order = deque(ref(one) for one in alive.values() if not one.lost)


LEDGER: Final = Ledger()
"""What all buffers and records share."""


def limit_kept(most: int) -> None:
    """Keep at most so many bytes of the past of all buffers together; 0 stands for the default, 1 GiB."""
    LEDGER.most = min(most, MOST_BYTES) if most else MOST_BYTES
