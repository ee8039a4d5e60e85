"""The adstack heap of a device: memory that stays as long as what is being recorded may use it."""

from __future__ import annotations

from adstack.ir.types import u8
from adstack.runtime.adstacks.heap import Heap

from .layout import Memory
from .stream import Stream

__all__ = ["StreamClock", "device_heap"]


class StreamClock:
    """How far a stream is: its batches are the dispatches."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def submitted(self) -> int:
        """The batch being recorded is one of them: what it uses must stay."""
        return self._stream.batch

    def finished(self) -> int:
        """The number of the last batch that is done."""
        self._stream.device.look()
        return self._stream.device.finished

    def wait(self, number: int) -> None:
        """Wait until the batch of that `number` is done."""
        self._stream.wait(number)


def device_heap(memory: Memory, stream: Stream) -> Heap:
    """The adstack heap of a device."""
    return Heap(lambda size: memory.piece(u8, (size,)), memory.free, StreamClock(stream))
