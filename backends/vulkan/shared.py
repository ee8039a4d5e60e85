"""What all Vulkan backends of a process share: the device, its memory, its stream, and what Python dropped of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from weakref import WeakValueDictionary

from adstack.backends.codegen_spirv.assembly.traits import Traits
from adstack.backends.shared.kept import default_folder
from adstack.backends.shared.leftovers import Leftovers
from adstack.backends.shared.outside import Outside
from adstack.runtime.adstacks.heap import Heap
from adstack.runtime.threads.processes import DeviceLock

from . import capability
from .adstacks import device_heap
from .bound import BoundStream
from .device import Device, opened
from .driver.pipeline import Pipeline
from .executable import Executable
from .layout import Memory, Piece
from .stream import Stream
from .toolchain import Pipelines
from .traits import measured

__all__ = ["Shared", "shared"]

_MOST_PIPELINES = 32
"""How many may be waiting for the device to be done with them, before another one is made."""
_MOST_WAITING = 64 << 20
"""Bytes that may have been given back while the device still uses them, before more are taken."""


@dataclass(frozen=True)
class Shared:
    """What all backends of a process have in common, so that opening another one costs nothing.

    Attributes:
        unread: executables that Python has launched since anybody waited, whose records are to be looked at.
        served: those that machine code launches, too.
        leftovers: what Python has dropped and the device still has.
        outside: records of guarded accesses.
    """

    device: Device
    memory: Memory
    pipelines: Pipelines
    stream: Stream
    traits: Traits
    heap: Heap
    lock: DeviceLock
    leftovers: Leftovers
    unread: dict[int, Executable] = field(default_factory=dict)
    served: WeakValueDictionary[int, Executable] = field(default_factory=WeakValueDictionary)
    outside: Outside = field(default_factory=Outside)

    @property
    def reporting(self) -> bool:
        """Whether an executable has been launched since anybody waited whose record is to be looked at."""
        return bool(self.unread) or any(executable.unread for executable in self.served.values())

    def take_reporting(self) -> list[Executable]:
        """The executables that have something to report; the caller looks at them now."""
        by_machine_code = {key: one for key, one in self.served.items() if one.unread}
        launched = {**self.unread, **by_machine_code}
        self.unread.clear()
        for executable in launched.values():
            executable.read = executable.last_launch
        return list(launched.values())

    def tidy(self) -> None:
        """Give back what was dropped, before more is taken; wait if too much of it is still in use."""
        self.leftovers.sweep()
        if self.memory.waiting > _MOST_WAITING or self.pipelines.waiting > _MOST_PIPELINES:
            self.stream.finish()

    def destroy(self, pipelines: Sequence[Pipeline], pieces: Sequence[Piece | None]) -> None:
        """Give back what an executable had, once the device is done with it."""
        batch = self.stream.batch
        for pipeline in pipelines:
            self.pipelines.retire(pipeline, batch)
        for piece in pieces:
            if piece is not None:
                piece.batch = batch
                self.memory.free(piece)


@cache
def shared(number: int, addresses: bool) -> Shared:
    """What all runtimes share of a physical device, given by its number, and of a way to its memory: opened once."""
    physical = capability.devices()
    assert isinstance(physical, list)
    device = opened(physical[number])
    memory = Memory(device)
    pipelines = Pipelines(device, default_folder())
    stream: Stream = (
        Stream(device, memory, pipelines.layout)
        if addresses
        else BoundStream(device, memory, pipelines.layout, pipelines.sets)
    )
    traits = measured(memory, stream, pipelines, default_folder())
    heap = device_heap(memory, stream)
    lock = DeviceLock("Vulkan")
    return Shared(device, memory, pipelines, stream, traits, heap, lock, Leftovers(lock.plain))
