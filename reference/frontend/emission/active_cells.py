"""Which elements of sparse fields are known to be active at a point of a lowering: they need no test, no activation."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from ...ir.structure import Region

__all__ = ["ActiveCells", "Key"]

Key = tuple[object, ...]
"""What tells one cell of a sparse level, as far as the text of a kernel does: the level's words and the indices."""


class ActiveCells:
    """What is known while a kernel is lowered. Regions are those that ops are emitted into."""

    def __init__(self) -> None:
        self._of_loops: dict[Key, set[int]] = {}
        self._here: dict[Key, Region] = {}

    def holds(self, key: Key, region: Region, serial: Collection[int]) -> bool:
        """Whether an element is active for sure where ops are emitted into a region, inside of serial loops."""
        if key in self._of_loops:
            self._of_loops[key].update(serial)
            return True
        return self._here.get(key) is region

    def note(self, key: Key, region: Region) -> None:
        """An op of this region has activated the element."""
        self._here[key] = region

    @contextmanager
    def within(self, key: Key) -> Iterator[None]:
        """Within the block, which lowers one region and those inside of it, an element is active."""
        self._of_loops[key] = set()
        try:
            yield
        finally:
            self._of_loops.pop(key, None)

    def forget(self, serial: Collection[int]) -> bool:
        """Something is deactivated here, inside of these serial loops: from now on nothing is known.

        Returns:
            whether it was relied on before in one of these loops, whose next iteration would find it otherwise.
        """
        relied = any(not loops.isdisjoint(serial) for loops in self._of_loops.values())
        self._of_loops.clear()
        self._here.clear()
        return relied
