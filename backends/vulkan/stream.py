"""Launches, recorded one behind the other and handed to the device in batches.

A batch is a command buffer and memory for the words of its launches. It is handed over when it is full or somebody
waits. Every dispatch waits for the one before it. Launches of one serial task that follow each other are one dispatch.
What is recorded stands in `state`, for machine code to go on with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adstack.ir.types import u8
from adstack.runtime.threads.interrupts import uninterrupted

from .device import Device
from .driver.api import Handle, check, ffi, number
from .driver.pipeline import PUSHED, Pipeline
from .hostcode.state import ARENA, LAUNCHES, State
from .layout import Block, Memory, Piece

__all__ = ["Stream", "aligned"]

_BATCHES = 4
"""How many may be under way."""
_COMPUTE, _TRANSFER, _HOST = 0x800, 0x1000, 0x4000
_SHADER_READ, _SHADER_WRITE, _COPY_READ, _COPY_WRITE, _HOST_READ = 0x20, 0x40, 0x800, 0x1000, 0x2000
_ALIGNMENT = 64


@dataclass
class _Batch:
    commands: Handle
    arena: Piece
    number: int = 0


class Stream:
    """What is recorded and under way on one device.

    Attributes:
        state: what is recorded, see `state`.
        writes: how many parts of memory the batch being recorded writes by itself.
    """

    def __init__(self, device: Device, memory: Memory, layout: Handle) -> None:
        self.device, self.memory = device, memory
        self.layout = layout
        self._batches = [
            _Batch(commands, memory.piece(u8, (ARENA,), visible=True)) for commands in self._command_buffers(_BATCHES)
        ]
        self._begin = ffi().new("VkCommandBufferBeginInfo *", {"sType": 42, "flags": 1})
        everything = _SHADER_READ | _SHADER_WRITE | _COPY_READ | _COPY_WRITE
        self._between = _barrier(_SHADER_WRITE | _COPY_WRITE, everything)
        self._to_host = _barrier(_SHADER_WRITE | _COPY_WRITE, _HOST_READ)
        self._pushed = ffi().new("uint64_t[]", PUSHED // 8)
        self._none = ffi().NULL
        vk = device.vk
        self._barrier, self._bind = vk["vkCmdPipelineBarrier"], vk["vkCmdBindPipeline"]
        self._push, self._dispatch = vk["vkCmdPushConstants"], vk["vkCmdDispatch"]
        self.current: _Batch | None = None
        self.writes = 0
        self.state = State()
        self._prepare()

    def _prepare(self) -> None:
        """What machine code is told once."""
        functions = {"order": self._barrier, "bind": self._bind, "push": self._push, "dispatch": self._dispatch}
        functions["give"] = self.device.vk["vkCmdBindDescriptorSets"]
        functions["copy"] = self.device.vk["vkCmdCopyBuffer"]
        for name, value in {**functions, "layout": self.layout, "between": self._between}.items():
            setattr(self.state, name, number(value))

    def _command_buffers(self, count: int) -> list[Handle]:
        vk, handle = self.device.vk, self.device.handle
        info = ffi().new("VkCommandPoolCreateInfo *", {"sType": 39, "flags": 2, "queueFamilyIndex": self.device.family})
        pool = ffi().new("VkCommandPool *")
        check(vk["vkCreateCommandPool"](handle, info, ffi().NULL, pool), "make a command pool")
        about = ffi().new(
            "VkCommandBufferAllocateInfo *", {"sType": 40, "commandPool": pool[0], "commandBufferCount": count}
        )
        buffers = ffi().new("VkCommandBuffer[]", count)
        check(vk["vkAllocateCommandBuffers"](handle, about, buffers), "make command buffers")
        return list(buffers)

    # ---- recording

    @property
    def batch(self) -> int:
        """The number of the last batch: it will be that of the one being recorded, if there is one."""
        return self.device.submitted + (self.current is not None)

    def open(self) -> _Batch:
        """The batch being recorded; a new one begins once the device is done with what it was before."""
        if self.current is None:
            batch = self._batches[0]
            self.device.wait(batch.number)  # which may be interrupted
            with uninterrupted():
                self._batches.append(self._batches.pop(0))
                self._begun(batch)
        assert self.current is not None
        return self.current

    def _begun(self, batch: _Batch) -> None:
        """Record from now on into a batch that nothing uses."""
        check(self.device.vk["vkBeginCommandBuffer"](batch.commands, self._begin), "record launches")
        self.current, state, host = batch, self.state, ffi().from_buffer(batch.arena.block.host)
        state.commands, state.batch = number(batch.commands), self.device.submitted + 1
        state.host, state.address = number(host) + batch.arena.offset, batch.arena.address
        state.bound = state.pipeline = state.used = state.dispatches = self.writes = 0

    def room(self, size: int) -> Piece:
        """The arena of a batch that takes one launch more, with words of `size` bytes."""
        if self.state.dispatches >= LAUNCHES or self.state.used + size > ARENA:
            self.flush()
        return (self.current or self.open()).arena

    def words(self, size: int) -> Piece:
        """Memory of `size` bytes for the words of a launch: the host writes it now, and may read it after the batch."""
        size = aligned(size)
        arena = self.room(size)
        if size > ARENA:
            own = self.memory.piece(u8, (size,), visible=True)
            own.own = True
            return own
        at = self.state.used
        self.state.used = at + size
        piece = Piece(arena.block, arena.offset + at, size, u8, (size,), arena.address + at)
        piece.batch = self.batch
        return piece

    def bind(self, pipeline: Pipeline, blocks: tuple[Block, ...]) -> None:
        """Have the next dispatch find these blocks: nothing to do where memory is reached by addresses."""

    def dispatch(self, pipeline: Pipeline, address: int, groups: int) -> None:
        """Run `groups` workgroups of a pipeline after all that was recorded before, on the words at an address."""
        if not self.state.joins(pipeline.number, address):
            self.record()
            self.open()
            self.state.defer(pipeline.number, address, groups, repeats=pipeline.repeats)
        self.state.dispatches += 1

    def record(self) -> None:
        """Record what is not recorded yet."""
        state = self.state
        if not state.pipeline:
            return
        assert self.current is not None
        commands = self.current.commands
        none, stages = self._none, _COMPUTE | _TRANSFER
        self._barrier(commands, stages, stages, 0, 1, self._between, 0, none, 0, none)
        if state.pipeline != state.bound:
            self._bind(commands, 1, ffi().cast("VkPipeline", state.pipeline))
            state.bound = state.pipeline
        self._pushed[0], self._pushed[1] = state.first, state.count | state.stride << 32
        self._push(commands, self.layout, 0x20, 0, PUSHED, self._pushed)
        self._dispatch(commands, state.groups, 1, 1)
        state.pipeline = 0
        state.recorded += 1

    def copy(self, source: Piece, target: Piece, size: int, *, start: int = 0, to: int = 0) -> None:
        """Copy `size` bytes from the `start`th on of the piece `source` to the `to`th on of `target`."""
        self.copy_parts([(source, start, target, to, size)])

    def copy_parts(self, parts: Sequence[tuple[Piece, int, Piece, int, int]]) -> None:
        """Make copies, of which none writes what another one reads or writes.

        Args:
            parts: (source, its first byte, target, its first byte, how many bytes).
        """
        with uninterrupted():
            copy, commands, new = self.device.vk["vkCmdCopyBuffer"], self._ordered(), ffi().new
            for source, start, target, to, size in parts:
                places = {"srcOffset": source.offset + start, "dstOffset": target.offset + to, "size": size}
                copy(commands, source.block.buffer, target.block.buffer, 1, new("VkBufferCopy *", places))
            batch = self.batch
            for source, _, target, _, _ in parts:
                source.batch = target.batch = batch

    def fill(self, parts: Sequence[tuple[Piece, int]]) -> None:
        """Fill each piece with the 32 bits of its word."""
        if not parts:
            return
        with uninterrupted():
            fill, commands, batch = self.device.vk["vkCmdFillBuffer"], self._ordered(), self.batch
            for target, word in parts:
                fill(commands, target.block.buffer, target.offset, target.size, word)
                target.batch = batch

    def write(self, target: Piece, octets: bytes, *, at: int = 0) -> None:
        """Replace few bytes of a piece from the byte `at` on by the `octets`: a multiple of 4 and at most 64 KiB."""
        with uninterrupted():
            commands, first = self._ordered(), target.offset + at
            self.device.vk["vkCmdUpdateBuffer"](commands, target.block.buffer, first, len(octets), octets)
            target.batch = self.batch
            self.writes += 1

    def _ordered(self) -> Handle:
        """The commands, after a barrier."""
        self.record()
        commands, none = self.open().commands, ffi().NULL
        self.state.dispatches += 1
        self.device.vk["vkCmdPipelineBarrier"](
            commands, _COMPUTE | _TRANSFER, _COMPUTE | _TRANSFER, 0, 1, self._between, 0, none, 0, none
        )
        return commands

    # ---- handing over and waiting

    def flush(self) -> None:
        """Hand what is recorded to the device."""
        if self.current is not None:
            with uninterrupted():
                self._hand_over()

    def _hand_over(self) -> None:
        self.record()
        batch, self.current = self.current, None
        self.state.commands = 0
        if batch is None:
            return
        vk, none = self.device.vk, ffi().NULL
        vk["vkCmdPipelineBarrier"](batch.commands, _COMPUTE | _TRANSFER, _HOST, 0, 1, self._to_host, 0, none, 0, none)
        check(vk["vkEndCommandBuffer"](batch.commands), "record launches")
        batch.number = self.device.submit(batch.commands)

    def is_under_way(self, number: int) -> bool:
        """Whether the batch of that `number` is being recorded, or not done."""
        return number > self.device.submitted or not self.device.is_done(number)

    def wait(self, number: int) -> None:
        """Wait until the batch of that `number` is done, handing it over first if it is being recorded."""
        if number > self.device.submitted:
            self.flush()
        self.device.wait(min(number, self.device.submitted))

    def finish(self) -> None:
        """Until everything is done."""
        self.flush()
        self.device.wait(self.device.submitted)


def aligned(size: int) -> int:
    """What words of `size` bytes take in the arena."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _barrier(source: int, target: int) -> Handle:
    return ffi().new("VkMemoryBarrier *", {"sType": 46, "srcAccessMask": source, "dstAccessMask": target})
