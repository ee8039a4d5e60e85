"""Launches kept while they run, and done again as one: a command buffer that is recorded once and handed over again.

Words of the launches stand in memory of the graph's own, twice: as they were, and where the tasks find them. The
command buffer begins by copying the one to the other, so that what tasks leave in them is zero again. Sizers are no
part of it: depths are computed ahead. Not kept are launches that return or print something, that check, or that draw
random numbers, and none where memory is bound.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from adstack.backends.shared.leftovers import Leftovers
from adstack.backends.shared.reports import check_room
from adstack.ir.ops import RANDOM
from adstack.ir.types import u8
from adstack.runtime.adstacks.heap import Heap, Storage, TaskUse
from adstack.runtime.protocol.backend import Bindings, Scalars
from adstack.runtime.threads.processes import DeviceLock

from .driver.api import Handle, check, ffi
from .driver.pipeline import PUSHED, Pipeline
from .executable import Executable
from .hostcode.state import State
from .layout import Memory, Piece, mapped
from .stream import Stream, aligned

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
        uses: where the adstacks of its tasks are; `threads`: for how many threads.
        start: of its words among those of the graph.
    """

    executable: Executable
    words: bytes
    scalars: Scalars
    bindings: Bindings
    steps: list[tuple[Pipeline, int]]
    uses: dict[int, TaskUse] = field(default_factory=dict)
    threads: dict[int, int] = field(default_factory=dict)
    start: int = 0

    @classmethod
    def of(
        cls, executable: Executable, scalars: Scalars, bindings: Bindings, steps: list[tuple[Pipeline, int]]
    ) -> Part:
        """The launch that was just recorded."""
        words = executable.packer.pack(*executable.words).ljust(executable.context.size, bytes(1))
        tasks = zip(executable.pipelines, executable.program.tasks, strict=True)
        sizers = {id(pipeline) for pipeline, task in tasks if task.sizes}
        kept = [step for step in steps if id(step[0]) not in sizers]
        ran = {id(pipeline) for pipeline, _ in kept}
        stacks = [number for number in executable.context.heaps if id(executable.pipelines[number]) in ran]
        layouts = executable.layouts
        uses, threads = {n: layouts.uses[n] for n in stacks}, {n: layouts.threads[n] for n in stacks}
        return cls(executable, words, scalars, bindings, kept, uses, threads)

    @property
    def is_plain(self) -> bool:
        """Whether it can be done again without Python."""
        executable = self.executable
        return not executable.waits and not any(
            op.opdef is RANDOM for task in executable.program.tasks for op in task.body.walk()
        )


class Graph:
    """Launches that can be done again.

    Attributes:
        parts: the launches; `last`: the last one of each program, and which of them it is.
        storages: the memory that they work on.
        commands: what does them.
        template, words: memory for their words, as they were and where tasks find them.
        bytes, limit, storage: what their adstacks take, how much the heap may take, and which one they are in.
    """

    def __init__(self, graphs: Graphs, parts: Sequence[Part]) -> None:
        self.parts = list(parts)
        self.last = {id(part.executable): (number, part) for number, part in enumerate(parts, 1)}
        storages = (storage for part in parts for storage in part.bindings.storages.values())
        self.storages = list({id(storage): storage for storage in storages}.values())
        size = 0
        for part in parts:
            part.start = size
            size += aligned(len(part.words))
        self.template = graphs.memory.piece(u8, (size,), visible=True)
        self.words = graphs.memory.piece(u8, (size,))
        for part in parts:
            at = self.template.offset + part.start
            self.template.block.host[at : at + len(part.words)] = part.words
        self.commands = graphs.commands()
        _Recorder(graphs.stream, self.commands).record(self, size)
        self.move(graphs.heap.storage)  # it may have grown since the first of them
        self.bytes = max((use.bytes for part in parts for use in part.uses.values()), default=0)
        self.limit = max(part.executable.options.ad_stack_heap_limit for part in parts)

    def move(self, storage: Storage) -> None:
        """Tell the tasks where the heap is, while nothing of the graph is under way."""
        self.storage, host = storage, self.template.block.host
        for part in self.parts:
            for number in part.uses:
                at = self.template.offset + part.start + 8 * part.executable.context.heaps[number].address
                host[at : at + 8] = storage.address.to_bytes(8, "little")


class _Recording(threading.local):
    """What a thread keeps of its launches: those that are over, if any are wanted, and the dispatches of one."""

    parts: list[Part] | None = None

    def __init__(self) -> None:
        self.steps: list[tuple[Pipeline, int]] = []


class Graphs:
    """The graphs of a device.

    Args:
        lock: of the stream.
        unread: executables whose records are to be looked at.
        most: workgroups that a task gets.
        leftovers: takes what graphs had when they go.
    """

    def __init__(
        self,
        memory: Memory,
        stream: Stream,
        heap: Heap,
        lock: DeviceLock,
        unread: dict[int, Executable],
        most: int,
        leftovers: Leftovers,
    ) -> None:
        self.memory, self.stream, self.heap, self._lock = memory, stream, heap, lock
        self._unread, self._most, self._leftovers = unread, most, leftovers
        self._pool: Handle = None
        self._recording = _Recording()

    # ---- keeping

    @property
    def keeping(self) -> bool:
        """Whether the launches of this thread are to be noted."""
        return self._recording.parts is not None

    def step(self, pipeline: Pipeline, groups: int) -> None:
        """A task of a launch, a pipeline, is dispatched with so many workgroups."""
        self._recording.steps.append((pipeline, groups))

    def note(self, executable: Executable, scalars: Scalars, bindings: Bindings) -> None:
        """All tasks of a launch, of an executable on such scalar arguments and memory, are dispatched."""
        recording = self._recording
        assert recording.parts is not None
        steps, recording.steps = recording.steps, []
        recording.parts.append(Part.of(executable, scalars, bindings, steps))

    def capture(self, run: Callable[[], object], executables: Sequence[Executable]) -> Graph | None:
        """See `Capturing.capture`."""
        recording, parts = self._recording, list[Part]()
        recording.parts, recording.steps = parts, []
        try:
            run()
        finally:
            recording.parts = None
        same = [id(part.executable) for part in parts] == [id(one) for one in executables]
        if not same or not all(part.is_plain for part in parts) or not self.stream.device.physical.addresses:
            return None
        with self._lock:
            if max((use.bytes for part in parts for use in part.uses.values()), default=0) > self.heap.size:
                return None
            graph = Graph(self, parts)
        end = partial(self._destroy, graph.commands, graph.template, graph.words)
        weakref.finalize(graph, self._leftovers.add, end).atexit = False
        return graph

    # ---- doing it again

    def repeat(self, graph: Graph, launches: ctypes.c_int64) -> bool:
        """Hand over what is recorded, then the graph: so many more launches. False if its adstacks have no memory."""
        if not self._hold(graph):
            return False
        self.stream.flush()
        number = self.stream.device.submit(graph.commands)
        graph.template.batch = graph.words.batch = number
        for position, part in graph.last.values():
            executable = part.executable
            executable.number, executable.scalars, executable.repeated = launches.value + position, part.scalars, True
            executable.settled = False  # its depths need not be those that stand
            if executable.record is not None and not executable.unattended:
                executable.shapes = part.bindings.shapes
                self._unread[id(executable)] = executable
        launches.value += len(graph.parts)
        for storage in graph.storages:
            storage.batch = number
        if number - self.stream.device.finished > _AHEAD:
            self.stream.device.wait(number - _AHEAD)
        return True

    def _hold(self, graph: Graph) -> bool:
        """Have the adstacks where the tasks expect them."""
        if not graph.bytes or graph.storage is self.heap.storage:
            return True
        if not self.heap.room(graph.bytes, 1, graph.limit):
            return False
        self.stream.wait(graph.template.batch)
        graph.move(self.heap.storage)
        return True

    def resize(self, graph: Graph, number: int) -> None:
        """See `Capturing.resize`: depths are computed from memory as it is."""
        part = graph.parts[number]
        depths = self._measured(part)
        executable = part.executable
        for task, use in part.uses.items():
            heap = executable.context.heaps[task].heap
            placement = executable.layouts.place(task, depths)
            lanes = heap.lanes(part.threads[task], depths)
            check_room(executable.program.name, use, heap, placement.capacities, lanes)

    def _measured(self, part: Part) -> list[int]:
        """The depths that the adstacks of a launch need."""
        executable = part.executable
        assert executable.sizes is not None
        piece = self.memory.piece(u8, (len(part.words),), visible=True)
        piece.block.host[piece.offset : piece.offset + len(part.words)] = part.words
        tasks = zip(executable.program.tasks, executable.pipelines, executable.extents, strict=True)
        for task, pipeline, extent in tasks:
            groups = pipeline.groups(extent.count(part.scalars, part.bindings.shapes), self._most)
            if task.sizes and groups:
                self.stream.dispatch(pipeline, piece.address, groups)
        self.stream.finish()
        self.memory.free(piece)
        executable.settled = False
        executable.depths, executable.stale = mapped(executable.sizes).tolist(), False
        return executable.depths

    # ---- command buffers

    def commands(self) -> Handle:
        """A command buffer."""
        vk, handle = self.stream.device.vk, self.stream.device.handle
        if self._pool is None:
            info = {"sType": 39, "flags": 2, "queueFamilyIndex": self.stream.device.family}
            pool = ffi().new("VkCommandPool *")
            about = ffi().new("VkCommandPoolCreateInfo *", info)
            check(vk["vkCreateCommandPool"](handle, about, ffi().NULL, pool), "make a command pool")
            self._pool = pool[0]
        wanted = {"sType": 40, "commandPool": self._pool, "commandBufferCount": 1}
        commands = ffi().new("VkCommandBuffer *")
        about = ffi().new("VkCommandBufferAllocateInfo *", wanted)
        check(vk["vkAllocateCommandBuffers"](handle, about, commands), "make a command buffer")
        return commands[0]

    def _destroy(self, commands: Handle, *pieces: Piece) -> None:
        """Give back what a graph had, once the device is done with it."""
        device = self.stream.device
        handles = ffi().new("VkCommandBuffer *", commands)
        free = device.vk["vkFreeCommandBuffers"]
        device.later(pieces[0].batch, lambda: free(device.handle, self._pool, 1, handles))
        for piece in pieces:
            self.memory.free(piece)


class _Recorder:
    """Records a graph's commands."""

    def __init__(self, stream: Stream, commands: Handle) -> None:
        self._vk, self._commands = stream.device.vk, commands
        self._pushed = ffi().new("uint64_t[]", PUSHED // 8)
        self._bound: Pipeline | None = None

    def record(self, graph: Graph, size: int) -> None:
        """Everything."""
        begin = ffi().new("VkCommandBufferBeginInfo *", {"sType": 42, "flags": _SIMULTANEOUS})
        check(self._vk["vkBeginCommandBuffer"](self._commands, begin), "record a graph")
        self._order(_COMPUTE | _TRANSFER, _ANY)
        source, target = graph.template, graph.words
        region = ffi().new("VkBufferCopy *", {"srcOffset": source.offset, "dstOffset": target.offset, "size": size})
        self._vk["vkCmdCopyBuffer"](self._commands, source.block.buffer, target.block.buffer, 1, region)
        state, last = State(), None
        for part in graph.parts:
            address = target.address + part.start
            for pipeline, groups in part.steps:
                if not state.joins(pipeline.number, address):
                    self._dispatch(last, state)
                    state.defer(pipeline.number, address, groups, repeats=pipeline.repeats)
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
