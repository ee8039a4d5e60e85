"""What the host reads and writes of a device's memory: by itself where it is quick to, else by copies of the device.

A device behind a bus may show the host all of its memory. The host then writes it at the speed of the bus at best, and
reads it some bytes at a time, waiting for each; the device copies to memory of the host at full speed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from adstack.ir.types import Array, u8

from .layout import Memory, Piece, mapped
from .stream import Stream

__all__ = ["Transfers"]


_NEAR: Final = 4096
"""Bytes that the host reads from across a bus in the time that a copy by the device takes at least, some ten us."""
_FEW: Final = 4096
"""Bytes that the device may write by itself: they stand among its commands."""
_MANY: Final = 16
"""So many times in a batch it does; whoever writes more has less to do if they wait once."""
_STEP: Final = 16 << 20
"""Bytes of the host's memory that a copy goes through, time and again."""


class Transfers:
    """Copies between the host and pieces of a device's memory, in order with what the device does.

    Attributes:
        memory: whose pieces.
        stream: where copies are put.
        seen: waits for the last use of a piece, and raises what launches have reported.
    """

    def __init__(self, memory: Memory, stream: Stream, seen: Callable[[Piece], None]) -> None:
        self.memory, self.stream, self.seen = memory, stream, seen

    def view(self, piece: Piece) -> Array | None:
        """The elements themselves, nothing else using them; None if the host would be slow to read them."""
        if not _is_near(piece, piece.bytes):
            return None
        self.seen(piece)
        return piece.view()

    def clear(self, piece: Piece) -> None:
        """Zero a piece that nothing uses, and that was just taken."""
        if piece.block.by_page:
            return
        if _is_near(piece, piece.size):
            np.frombuffer(piece.block.host, np.uint8, piece.size, piece.offset)[:] = 0
        else:
            self.stream.fill([(piece, 0)])

    def read(self, piece: Piece, at: int, target: Array) -> None:
        """Copy bytes of a piece, from the byte `at` on, into `target`, a C-contiguous array."""
        octets = target.reshape(-1).view(np.uint8)
        if _is_near(piece, len(octets)):
            self.seen(piece)
            octets[:] = _octets(piece, at, len(octets))
            return
        for k, between in self._steps(len(octets)):
            try:
                self.stream.copy(piece, between, between.bytes, start=at + k)
                self.seen(between)
                octets[k : k + between.bytes] = mapped(between)
            finally:
                self.memory.free(between)

    def write(self, piece: Piece, at: int, source: Array) -> None:
        """Copy `source`, a C-contiguous array, to a piece, from the byte `at` on; the device may do so later."""
        octets = source.reshape(-1).view(np.uint8)
        if _is_near(piece, len(octets)):
            if self._is_left(piece, at, octets):
                self.stream.write(piece, octets.tobytes(), at=at)
            else:
                self.seen(piece)
                _octets(piece, at, len(octets))[:] = octets
            return
        for k, between in self._steps(len(octets)):
            try:
                mapped(between)[:] = octets[k : k + between.bytes]
                self.stream.copy(between, piece, between.bytes, to=at + k)
                if between.bytes == _STEP:
                    self.stream.wait(between.batch)
            finally:
                self.memory.free(between)

    def is_in_use(self, piece: Piece) -> bool:
        """Whether the device may still use a piece."""
        return self.stream.is_under_way(piece.batch)

    def _is_left(self, piece: Piece, at: int, octets: Array) -> bool:
        """Whether the device had better write some bytes of a piece, as the host would have to wait for it."""
        size, first = len(octets), piece.offset + at
        if size % 4 or first % 4 or not 0 < size <= _FEW or self.stream.writes >= _MANY:
            return False
        return self.is_in_use(piece)

    def _steps(self, size: int) -> Iterator[tuple[int, Piece]]:
        """Where each step begins, and memory of the host for it."""
        for k in range(0, size, _STEP):
            yield k, self.memory.piece(u8, (min(_STEP, size - k),), staging=True)


def _is_near(piece: Piece, size: int) -> bool:
    """Whether the host reads and writes so many bytes of it as quickly as the device would copy them."""
    block = piece.block
    return block.host is not None and (block.cached or size <= _NEAR)


def _octets(piece: Piece, at: int, size: int) -> Array:
    """Bytes of a piece that the host addresses."""
    return np.frombuffer(piece.block.host, np.uint8, size, piece.offset + at)
