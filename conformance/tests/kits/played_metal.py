"""The Python module Metal of pyobjc, as far as it is used, played by the host: what is queued runs when asked for."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from adstack.backends.metal.toolchain import grid_name, host_library

__all__ = ["Command", "MTLCompileOptions", "MTLCreateSystemDefaultDevice", "MTLSizeMake", "autorelease_pool"]


class MTLCompileOptions:
    fast, version = True, 0

    @classmethod
    def alloc(cls) -> MTLCompileOptions:
        return cls()

    def init(self) -> MTLCompileOptions:
        return self

    def setFastMathEnabled_(self, fast: bool) -> None:
        self.fast = fast

    def setLanguageVersion_(self, version: int) -> None:
        self.version = version


def MTLSizeMake(width: int, height: int, depth: int) -> tuple[int, int, int]:
    return width, height, depth


class _Buffer:
    def __init__(self, size: int) -> None:
        words = np.full(-(-size // 16) * 2, -1, np.int64)
        self.memory = words.view(np.uint8)[:size]

    def contents(self) -> _Buffer:
        return self

    def as_buffer(self, size: int) -> memoryview:
        assert size == self.memory.size
        return memoryview(self.memory)

    def gpuAddress(self) -> int:
        return self.memory.ctypes.data


class _Library:
    def __init__(self, text: str) -> None:
        self.text = text

    def newFunctionWithName_(self, name: str) -> tuple[str, str]:
        return self.text, name


class _Pipeline:
    def __init__(self, text: str, name: str) -> None:
        self.library = host_library(text, [name], keep=False)
        kind = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint64, *2 * [ctypes.c_uint32])
        self.run = kind(self.library[grid_name(name)])
        own = text.partition(f"kernel void {name}(")[2].partition("\n}\n")[0]
        self.shared = own.count("\n    threadgroup ")

    def staticThreadgroupMemoryLength(self) -> int:
        return self.shared

    def maxTotalThreadsPerThreadgroup(self) -> int:
        return 96


class Command:
    """A command buffer, and the encoder of its only pass."""

    def __init__(self, queue: Device) -> None:
        self.queue, self.used = queue, list[_Buffer]()
        self.steps: list[Callable[[], Any]] = []
        self.committed = self.ended = self.asked = False

    def computeCommandEncoderWithDispatchType_(self, kind: int) -> Command:
        assert kind == 0
        return self

    def setComputePipelineState_(self, pipeline: _Pipeline) -> None:
        self.pipeline = pipeline

    def setBuffer_offset_atIndex_(self, buffer: _Buffer, offset: int, index: int) -> None:
        assert index == 0
        assert offset % 256 == 0
        self.words, self.offset = buffer, offset

    def useResource_usage_(self, buffer: _Buffer, usage: int) -> None:
        assert usage == 3
        self.used.append(buffer)

    def dispatchThreads_threadsPerThreadgroup_(self, grid: tuple[int, ...], group: tuple[int, ...]) -> None:
        assert 1 <= group[0] <= (1024 if self.pipeline.shared else 64)
        self.queue.groups.append(group[0])
        assert self.words in self.used
        run, address = self.pipeline.run, self.words.gpuAddress() + self.offset
        self.steps.append(lambda: _whole(run(address, grid[0], group[0])))

    def endEncoding(self) -> None:
        self.ended = True

    def commit(self) -> None:
        assert self.ended
        self.committed = True
        self.queue.commands.append(self)

    def status(self) -> int:
        """Scheduled when it is asked first; then it runs, after those before it."""
        if self in self.queue.commands:
            if not self.asked:
                self.asked = True
                return 3
            while self in self.queue.commands:
                for step in self.queue.commands.pop(0).steps:
                    step()
        return self.queue.state

    def error(self) -> str:
        return "a page fault"


def _whole(line: int) -> None:
    assert line == 0, f"threads are at different calls, one of them in line {line}"


class Device:
    """The device, and its queue. `state` is what becomes of commands: 4, completed, or 5, failed.

    Attributes:
        groups: threads of a threadgroup, of all dispatches.
    """

    state = 4

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.groups: list[int] = []

    def name(self) -> str:
        return "a played device"

    def newCommandQueue(self) -> Device:
        return self

    def commandBuffer(self) -> Command:
        return Command(self)

    def newBufferWithLength_options_(self, size: int, options: int) -> _Buffer | None:
        return _Buffer(size) if size < 1 << 40 else None

    def newLibraryWithSource_options_error_(self, text: str, options: MTLCompileOptions, _: None) -> Any:
        assert not options.fast
        return (None, "no such type") if "nonsense" in text else (_Library(text), None)

    def newComputePipelineStateWithFunction_error_(self, function: tuple[str, str], _: None) -> Any:
        return _Pipeline(*function), None


@contextmanager
def autorelease_pool() -> Iterator[None]:
    """What the module objc has: it stands for that one, too."""
    yield


def MTLCreateSystemDefaultDevice() -> Device:
    return Device()
