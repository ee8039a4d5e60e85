"""Dispatches that find their memory by bindings: what is bound for each, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adstack.backends.spirv.memory import HEAP, WORDS, buffer_of
from adstack.errors import AdstackMemoryError, BackendUnavailableError
from adstack.ir.structure import Program
from adstack.runtime.adstack_heap import Heap

from .api import ffi
from .descriptors import Sets
from .device import Device
from .layout import Block, Memory, Piece
from .stream import Stream
from .toolchain import Pipeline

__all__ = ["Binder", "BoundStream"]


class BoundStream(Stream):
    """A stream whose dispatches have a descriptor set each."""

    def __init__(self, device: Device, memory: Memory, layout: Any, sets: Sets) -> None:
        super().__init__(device, memory, layout)
        self._sets = sets
        self._set: Any = None
        self._last: Any = None
        self._handed = ffi().new("VkDescriptorSet *")

    def bind(self, pipeline: Pipeline, blocks: tuple[Block, ...]) -> None:
        found = self._sets.of(blocks)
        if found is not self._set:
            self._record()  # what waits to be recorded has another set
            self._set, self._layout = found, pipeline.layout

    def _record(self) -> None:
        state = self.state
        if state.pipeline and (state.pipeline != state.bound or self._set is not self._last):
            assert self._current is not None
            self._handed[0] = self._last = self._set
            bind, none = self.device.vk["vkCmdBindDescriptorSets"], ffi().NULL
            bind(self._current.commands, 1, self._layout, 0, 1, self._handed, 0, none)
        super()._record()


class Binder:
    """What is bound for the tasks of one executable.

    Args:
        kept: memory that the executable has for itself, by the name of the buffer.
    """

    def __init__(
        self,
        stream: Stream,
        heap: Heap,
        program: Program,
        pipelines: Sequence[Pipeline],
        kept: Mapping[str, Piece],
    ) -> None:
        physical = stream.device.physical
        self._limits, self._name = physical.limits, physical.name
        self._stream, self._heap, self._program, self._kept = stream, heap, program, kept
        self._places = {buffer_of(name): name for name in program.places}
        self._check_count(pipelines)

    def _check_count(self, pipelines: Sequence[Pipeline]) -> None:
        most = self._limits["buffers"]
        for pipeline, task in zip(pipelines, self._program.tasks, strict=True):
            count = len(pipeline.buffers)
            if count > most:
                named = ", ".join(self._label(name) for name in pipeline.buffers)
                raise BackendUnavailableError(
                    f"{task.name} uses {count} buffers ({named}), and {self._name} binds at most {most} "
                    "(maxPerStageDescriptorStorageBuffers)",
                    do="put several fields into one, of vectors or with one more axis, or split the kernel, or use a "
                    "device with bufferDeviceAddress",
                )

    def _label(self, buffer: str) -> str:
        if buffer not in self._places:
            return f"the {buffer} of the launch" if buffer == WORDS else f"the {buffer}"
        place = self._program.places[self._places[buffer]]
        return f"{place.kind} {place.label or place.name}"

    def bind(self, pipeline: Pipeline, words: Piece, storages: Mapping[str, Piece]) -> None:
        """Have the next dispatch, of one task of a launch, find its buffers."""
        pieces = [self._piece(name, words, storages) for name in pipeline.buffers]
        for name, piece in zip(pipeline.buffers, pieces, strict=True):
            if piece.block.size > self._limits["range"]:
                raise self._too_large(name, piece)
        self._stream.bind(pipeline, tuple(piece.block for piece in pieces))

    def _piece(self, buffer: str, words: Piece, storages: Mapping[str, Piece]) -> Piece:
        if buffer == WORDS:
            return words
        if buffer == HEAP:
            heap: Piece = self._heap.storage
            return heap
        kept = self._kept.get(buffer)
        return storages[self._places[buffer]] if kept is None else kept

    def _too_large(self, buffer: str, piece: Piece) -> AdstackMemoryError:
        return AdstackMemoryError(
            f"{self._program.name}: {self._label(buffer)} takes {piece.bytes} bytes, and {self._name} binds at most "
            f"{self._limits['range']} as one buffer (maxStorageBufferRange)",
            do="split it into several fields, or use a narrower type, or a device with bufferDeviceAddress",
        )
