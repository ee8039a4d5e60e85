"""Launches kept while they run, and done again as one: a command buffer that is recorded once and handed over again.

Words of the launches stand in memory of the graph's own, twice: as they were, and where the tasks find them. The
command buffer begins by copying the one to the other, so that what tasks leave in them is zero again. Kept are launches
that need nothing of Python: no adstacks, reports or random numbers, on devices whose memory is reached by addresses.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from adstack.ir.types import u8
from adstack.runtime.backend import Bindings

from .api import check, ffi
from .executable import Executable
from .layout import Memory, Piece
from .state import State
from .stream import Stream, aligned
from .toolchain import PUSHED, Pipeline

__all__ = ["Graph", "Graphs"]

_COMPUTE, _TRANSFER, _HOST = 0x800, 0x1000, 0x4000
_WRITES: Final = 0x40 | 0x1000
_ANY: Final = 0x20 | 0x40 | 0x800 | 0x1000
_HOST_READ: Final = 0x2000
_SIMULTANEOUS: Final = 4
"""A command buffer may be handed over while it is under way."""
_AHEAD: Final = 32
"""How many batches may be under way when another graph is handed over."""


@dataclass
class Part:
    """One launch.

    Attributes:
        words: what it was handed, and zeros behind.
        steps: what it dispatched, pipelines and workgroups.
        storages: the memory that it works on.
    """

    executable: Executable
    words: bytes
    scalars: Sequence[Any]
    storages: Sequence[Piece]
    steps: list[tuple[Pipeline, int]] = field(default_factory=list)

    @property
    def is_plain(self) -> bool:
        """Whether it can be done again without Python."""
        made = self.executable
        if made.waits or made.record is not None or made.context.heaps or made.context.depths:
            return False
        return not any(op.name == "random" for task in made.program.tasks for op in task.body.walk())


class Graph:
    """Launches that can be done again.

    Attributes:
        parts: the launches; `last`: the last one of each program, and which of them it is.
        storages: the memory that they work on.
        commands: what does them.
        template, words: memory for their words, as they were and where tasks find them.
    """

    def __init__(self, graphs: Graphs, parts: Sequence[Part]) -> None:
        self.parts = list(parts)
        self.last = {id(part.executable): (number, part) for number, part in enumerate(parts, 1)}
        self.storages = list({id(storage): storage for part in parts for storage in part.storages}.values())
        starts: list[int] = []
        size = 0
        for part in parts:
            starts.append(size)
            size += aligned(len(part.words))
        self.template = graphs.memory.piece(u8, (size,), visible=True)
        self.words = graphs.memory.piece(u8, (size,))
        for part, start in zip(parts, starts, strict=True):
            at = self.template.offset + start
            self.template.block.host[at : at + len(part.words)] = part.words
        self.commands = graphs.commands()
        _Recorder(graphs.stream, self.commands).record(self, starts, size)


class Graphs:
    """The graphs of a device.

    Args:
        lock: of the stream.
    """

    def __init__(self, memory: Memory, stream: Stream, lock: Any) -> None:
        self.memory, self.stream, self._lock = memory, stream, lock
        self._pool: Any = None
        self._parts: list[Part] | None = None
        self._thread = 0

    # ---- keeping

    @property
    def keeping(self) -> bool:
        """Whether the launches of this thread are to be noted."""
        return self._parts is not None and self._thread == threading.get_ident()

    def note(self, executable: Executable, piece: Piece, scalars: Sequence[Any], bindings: Bindings) -> None:
        """A launch begins, and has its words."""
        assert self._parts is not None
        words = bytes(piece.block.host[piece.offset : piece.offset + executable.context.size])
        self._parts.append(Part(executable, words, scalars, list(bindings.storages.values())))

    def step(self, pipeline: Pipeline, groups: int) -> None:
        """It dispatches a task."""
        assert self._parts is not None
        self._parts[-1].steps.append((pipeline, groups))

    def capture(self, run: Callable[[], object], executables: Sequence[Executable]) -> Graph | None:
        """Run, and keep what was launched; None if that was not a plain launch of each of these."""
        self._parts, self._thread = [], threading.get_ident()
        try:
            run()
        finally:
            parts, self._parts = self._parts, None
        same = [id(part.executable) for part in parts] == [id(one) for one in executables]
        if not same or not all(part.is_plain for part in parts) or not self.stream.device.physical.addresses:
            return None
        with self._lock:
            made = Graph(self, parts)
        weakref.finalize(made, self._gone, made.commands, made.template, made.words)
        return made

    # ---- doing it again

    def repeat(self, graph: Graph, launches: ctypes.c_int64) -> None:
        """Hand over what is recorded, then the graph: so many more launches."""
        self.stream.flush()
        number = self.stream.device.submit(graph.commands)
        graph.template.batch = graph.words.batch = number
        for position, part in graph.last.values():
            part.executable.number, part.executable.scalars = launches.value + position, part.scalars
        launches.value += len(graph.parts)
        for storage in graph.storages:
            storage.batch = number
        if number - self.stream.device.finished > _AHEAD:
            self.stream.device.wait(number - _AHEAD)

    # ---- command buffers

    def commands(self) -> Any:
        """A command buffer."""
        vk, handle = self.stream.device.vk, self.stream.device.handle
        if self._pool is None:
            info = {"sType": 39, "flags": 2, "queueFamilyIndex": self.stream.device.family}
            pool = ffi().new("VkCommandPool *")
            about = ffi().new("VkCommandPoolCreateInfo *", info)
            check(vk["vkCreateCommandPool"](handle, about, ffi().NULL, pool), "make a command pool")
            self._pool = pool[0]
        wanted = {"sType": 40, "commandPool": self._pool, "commandBufferCount": 1}
        made = ffi().new("VkCommandBuffer *")
        about = ffi().new("VkCommandBufferAllocateInfo *", wanted)
        check(vk["vkAllocateCommandBuffers"](handle, about, made), "make a command buffer")
        return made[0]

    def _gone(self, commands: Any, *pieces: Piece) -> None:
        """Give back what a graph had, once the device is done with it."""
        with self._lock:
            device = self.stream.device
            given = ffi().new("VkCommandBuffer *", commands)
            free = device.vk["vkFreeCommandBuffers"]
            device.later(pieces[0].batch, lambda: free(device.handle, self._pool, 1, given))
            for piece in pieces:
                self.memory.free(piece)


class _Recorder:
    """Records a graph's commands."""

    def __init__(self, stream: Stream, commands: Any) -> None:
        self._vk, self._commands = stream.device.vk, commands
        self._pushed = ffi().new("uint64_t[]", PUSHED // 8)
        self._bound: Pipeline | None = None

    def record(self, graph: Graph, starts: Sequence[int], size: int) -> None:
        """Everything."""
        begin = ffi().new("VkCommandBufferBeginInfo *", {"sType": 42, "flags": _SIMULTANEOUS})
        check(self._vk["vkBeginCommandBuffer"](self._commands, begin), "record a graph")
        self._order(_COMPUTE | _TRANSFER, _ANY)
        source, target = graph.template, graph.words
        region = ffi().new("VkBufferCopy *", {"srcOffset": source.offset, "dstOffset": target.offset, "size": size})
        self._vk["vkCmdCopyBuffer"](self._commands, source.block.buffer, target.block.buffer, 1, region)
        state, last = State(), None
        for part, start in zip(graph.parts, starts, strict=True):
            for pipeline, groups in part.steps:
                if not state.joins(pipeline.number, target.address + start):
                    self._dispatch(last, state)
                    state.defer(pipeline.number, target.address + start, groups, repeats=pipeline.repeats)
                    last = pipeline
        self._dispatch(last, state)
        self._order(_HOST, _HOST_READ)
        check(self._vk["vkEndCommandBuffer"](self._commands), "record a graph")

    def _order(self, stages: int, accesses: int) -> None:
        """Let what follows wait for what came before."""
        barrier = ffi().new("VkMemoryBarrier *", {"sType": 46, "srcAccessMask": _WRITES, "dstAccessMask": accesses})
        none = ffi().NULL
        before = _COMPUTE | _TRANSFER
        self._vk["vkCmdPipelineBarrier"](self._commands, before, stages, 0, 1, barrier, 0, none, 0, none)

    def _dispatch(self, pipeline: Pipeline | None, state: State) -> None:
        """Record a dispatch, of as many launches as it has become."""
        if pipeline is None:
            return
        self._order(_COMPUTE | _TRANSFER, _ANY)
        if pipeline is not self._bound:
            self._vk["vkCmdBindPipeline"](self._commands, 1, pipeline.handle)
            self._bound = pipeline
        self._pushed[0], self._pushed[1] = state.first, state.count | state.stride << 32
        layout = ffi().cast("VkPipelineLayout", pipeline.layout)
        self._vk["vkCmdPushConstants"](self._commands, layout, 0x20, 0, PUSHED, self._pushed)
        self._vk["vkCmdDispatch"](self._commands, state.groups, 1, 1)
