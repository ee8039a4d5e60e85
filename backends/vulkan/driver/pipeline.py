"""A pipeline: what runs one task, and what it is pushed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from .api import Handle, ffi

__all__ = ["PUSHED", "Pipeline"]

PUSHED = 16
"""Bytes pushed: the address of a launch's words (u64); how many launches, how far apart their words (u32)."""


@dataclass(frozen=True)
class Pipeline:
    """What runs one task.

    Attributes:
        handle: Vulkan's.
        local_size: how many iterations a workgroup takes at once.
        repeats: whether it can be told of several launches.
        layout: of what it is handed, as a number.
        buffers: what is bound for it, in this order.
    """

    handle: Handle
    local_size: int
    repeats: bool = False
    layout: int = 0
    buffers: tuple[str, ...] = ()

    @cached_property
    def number(self) -> int:
        """The handle as a number."""
        return int(ffi().cast("uintptr_t", self.handle))

    def groups(self, iterations: int | None, most: int) -> int:
        """Workgroups for so many iterations; as many as there may be where only the device knows how many."""
        return most if iterations is None else min(-(-iterations // self.local_size), most)

    def threads(self, iterations: int | None, most: int) -> int:
        """How many threads of those have an iteration, at most."""
        threads = self.groups(iterations, most) * self.local_size
        return min(iterations or threads, threads)
