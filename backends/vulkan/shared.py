"""What all backends of a process have in common on one device, so that opening another one costs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from adstack.backends.shared.kept import default_folder
from adstack.backends.spirv.traits import Traits
from adstack.runtime.adstack_heap import Heap
from adstack.runtime.processes import DeviceTurn

from . import capability
from .adstacks import device_heap
from .bound import BoundStream
from .device import Device, opened
from .executable import Executable
from .layout import Memory, Piece
from .stream import Stream
from .toolchain import Pipeline, Pipelines
from .traits import measured

__all__ = ["Shared", "destroyed", "shared"]


@dataclass(frozen=True)
class Shared:
    """What all backends of a process have in common, so that opening another one costs nothing.

    Attributes:
        unread: executables launched since anybody waited, whose records are to be looked at.
    """

    device: Device
    memory: Memory
    pipelines: Pipelines
    stream: Stream
    traits: Traits
    heap: Heap
    lock: DeviceTurn
    unread: dict[int, Executable] = field(default_factory=dict)


@cache
def shared(number: int, addresses: bool) -> Shared:
    """That of a physical device, and of a way to its memory."""
    found = capability.devices()
    assert isinstance(found, list)
    device = opened(found[number])
    memory = Memory(device)
    pipelines = Pipelines(device, default_folder())
    stream: Stream = (
        Stream(device, memory, pipelines.layout)
        if addresses
        else BoundStream(device, memory, pipelines.layout, pipelines.sets)
    )
    traits = measured(memory, stream, pipelines, default_folder())
    heap = device_heap(memory, stream)
    return Shared(device, memory, pipelines, stream, traits, heap, DeviceTurn("Vulkan"))


def destroyed(shared: Shared, pipelines: Sequence[Pipeline], pieces: Sequence[Piece | None]) -> None:
    """Give back what an executable had, once the device is done with it."""

    def destroy() -> None:
        batch = shared.stream.batch
        for pipeline in pipelines:
            shared.device.later(batch, lambda pipeline=pipeline: shared.pipelines.destroy(pipeline))  # type: ignore[misc]
        for piece in pieces:
            if piece is not None:
                piece.batch = batch
                shared.memory.free(piece)

    shared.lock.give_back(destroy)
