"""Dispatches that find their memory by bindings: what is bound for each, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from adstack.backends.codegen_spirv.memory import HEAP, PRINT, RECORD, WORDS, buffer_of
from adstack.backends.codegen_spirv.tasks import Shader
from adstack.errors import AdstackMemoryError, BackendUnavailableError
from adstack.ir.structure import Program
from adstack.ir.types import u8
from adstack.runtime.adstacks.heap import Heap

from .capability import Physical
from .descriptors import Sets
from .device import Device
from .driver.api import Handle, ffi
from .driver.pipeline import Pipeline
from .layout import Block, Memory, Piece
from .stream import Stream

__all__ = ["Binder", "BoundStream", "check_count"]

_NOTHING: Final = (None, None, 0)


class BoundStream(Stream):
    """A stream whose dispatches have a descriptor set each."""

    def __init__(self, device: Device, memory: Memory, layout: Handle, sets: Sets) -> None:
        super().__init__(device, memory, layout)
        self.sets = sets
        self._handed = ffi().new("VkDescriptorSet *")

    def bind(self, pipeline: Pipeline, blocks: tuple[Block, ...]) -> None:
        """See `Stream.bind`."""
        self.hand(pipeline, self.sets.of(blocks))

    def set_of(self, blocks: tuple[Block, ...]) -> int:
        """The descriptor set that binds these blocks."""
        return self.sets.of(blocks)

    @property
    def arena(self) -> Block:
        """The block where the words of all launches stand: its first memory, so they are side by side."""
        (block,) = {batch.arena.block for batch in self._batches}
        return block

    def hand(self, pipeline: Pipeline, descriptors: int) -> None:
        """Have the next dispatch, of a pipeline, find what a descriptor set, by its handle, binds."""
        if descriptors != self.state.set:
            self.record()  # what waits to be recorded has another set
            self.state.set, self.state.layout = descriptors, pipeline.layout

    def record(self) -> None:
        """See `Stream.record`."""
        state = self.state
        if state.pipeline:
            self.layout = ffi().cast("VkPipelineLayout", state.layout)
            if state.pipeline != state.bound or state.set != state.given:
                self._give()
        super().record()

    def _give(self) -> None:
        """Bind the set of what is to be recorded."""
        assert self.current is not None
        state, bind, none = self.state, self.device.vk["vkCmdBindDescriptorSets"], ffi().NULL
        self._handed[0] = ffi().cast("VkDescriptorSet", state.set)
        bind(self.current.commands, 1, self.layout, 0, 1, self._handed, 0, none)
        state.given = state.set


def check_count(physical: Physical, program: Program, shaders: Sequence[Shader]) -> None:
    """Refuse a program that the device can't bind the buffers of.

    Args:
        physical: the device, with its limits.
        program: the program, for the names of its places.
        shaders: its tasks, each with the buffers that it uses.

    Raises:
        BackendUnavailableError: a task uses more buffers than the device binds at the same time.
    """
    most = physical.limits["buffers"]
    for shader in shaders:
        count = len(shader.buffers)
        if count > most:
            named = ", ".join(_label(program, buffer) for buffer in shader.buffers)
            raise BackendUnavailableError(
                f"{shader.task.name} uses {count} buffers, and {physical.name} binds at most {most} "
                f"(maxPerStageDescriptorStorageBuffers): {named}",
                do="make one field of several, of vectors or with one more axis, or split the kernel, or use a device "
                "with bufferDeviceAddress",
            )


def _label(program: Program, buffer: str) -> str:
    """What a buffer is, for people."""
    for place in program.places.values():
        if buffer == buffer_of(place.name):
            return place.called
    return f"the {buffer} of the launch"


class Binder:
    """What is bound for the tasks of one executable.

    Args:
        record, prints, sizes: memory that it keeps, for what launches report, print, and how deep its adstacks are.
    """

    def __init__(
        self,
        stream: BoundStream,
        heap: Heap,
        program: Program,
        record: Piece | None,
        prints: Piece | None,
        sizes: Piece | None,
    ) -> None:
        self._stream, self._heap, self._program = stream, heap, program
        outer = [place.name for place in program.places.values() if place.kind in ("field", "ndarray")]
        self._places = {buffer_of(name): name for name in outer}
        depths = {buffer_of(place.name): sizes for place in program.places.values() if place.kind == "depths"}
        kept = {RECORD: record, PRINT: prints, **depths}
        self._kept = {buffer: piece for buffer, piece in kept.items() if piece is not None}
        self._checked: Mapping[str, Piece] | None = None
        self._known: dict[int, tuple[Block, Mapping[str, Piece], int]] = {}

    def check(self, words: Piece, storages: Mapping[str, Piece]) -> None:
        """Before anything of a launch runs, AdstackMemoryError if some memory of it is too large to be bound."""
        if storages is self._checked and not words.own:
            return
        pieces = {buffer: self._piece(buffer, words, storages) for buffer in (WORDS, *self._places)}
        most = self._stream.device.physical.limits["range"]
        for buffer, piece in pieces.items():
            if piece.block.size > most:
                raise AdstackMemoryError(
                    f"{self._program.name}: {_label(self._program, buffer)} takes {piece.bytes} bytes, and "
                    f"{self._stream.device.physical.name} binds at most {most} as one buffer (maxStorageBufferRange)",
                    do="split it into several, or use a narrower type, or a device with bufferDeviceAddress",
                )
        self._checked = storages

    def bind(self, pipeline: Pipeline, words: Piece, storages: Mapping[str, Piece]) -> None:
        """Have the next dispatch, of the `pipeline` of one task of a launch, find the launch's buffers."""
        block, bound, number = self._known.get(id(pipeline), _NOTHING)
        if block is not words.block or bound is not storages:
            number = self._set(pipeline, words, storages)
            if HEAP not in pipeline.buffers:  # which may be elsewhere the next time
                self._known[id(pipeline)] = words.block, storages, number
        self._stream.hand(pipeline, number)

    def sets(self, pipelines: Sequence[Pipeline], numbers: Mapping[str, int]) -> list[tuple[int, int]]:
        """The layouts and sets of tasks whose words stand in the arena, by the numbers of the blocks of places."""
        blocks = {place: self._stream.memory.block(number) for place, number in numbers.items()}
        pieces = {place: Piece(block, 0, block.size, u8, (block.size,), 0) for place, block in blocks.items()}
        words = Piece(self._stream.arena, 0, 0, u8, (), 0)
        self.check(words, pieces)
        return [(pipeline.layout, self._set(pipeline, words, pieces)) for pipeline in pipelines]

    def _set(self, pipeline: Pipeline, words: Piece, storages: Mapping[str, Piece]) -> int:
        pieces = [self._piece(name, words, storages) for name in pipeline.buffers]
        return self._stream.set_of(tuple(piece.block for piece in pieces))

    def _piece(self, buffer: str, words: Piece, storages: Mapping[str, Piece]) -> Piece:
        if buffer == WORDS:
            return words
        if buffer == HEAP:
            heap: Piece = self._heap.storage
            return heap
        kept = self._kept.get(buffer)
        return storages[self._places[buffer]] if kept is None else kept
