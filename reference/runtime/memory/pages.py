"""Copies of parts of memory that the host does not address, made as the host looks at elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..protocol.backend import Array

__all__ = ["PAGE", "Pages"]

PAGE: Final = 1 << 16
"""Bytes that a device sends in about the time that it takes to ask it for anything: fewer save nothing, and reading all
elements one by one, in any order, takes twice as long as copying everything at most.
"""


class Pages:
    """What the memory of `elements` elements holds, as far as it was looked at; it belongs to one version.

    Attributes:
        version: of the memory when it held this.
    """

    __slots__ = ("_elements", "_kept", "_length", "version")

    def __init__(self, version: int, elements: int, length: int) -> None:
        """Pages have `length` elements, the last one perhaps fewer."""
        self.version = version
        self._elements, self._length = elements, length
        self._kept: dict[int, Array] = {}

    def item(self, at: int, fetch: Callable[[int, int], Array]) -> Any:
        """The `at`th element; `fetch(start, count)` copies elements."""
        number, within = divmod(at, self._length)
        page = self._kept.get(number)
        if page is None:
            start = number * self._length
            page = self._kept[number] = fetch(start, min(self._length, self._elements - start))
        return page.item(within)

    def put(self, start: int, values: Array) -> None:
        """The elements from the `start`th on are these now."""
        end = start + len(values)
        for number in range(start // self._length, -(-end // self._length)):
            page = self._kept.get(number)
            if page is not None:
                first = number * self._length
                low, high = max(start, first), min(end, first + len(page))
                page[low - first : high - first] = values[low - start : high - start]
