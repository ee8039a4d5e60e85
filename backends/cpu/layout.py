"""Memory on the host: numpy arrays; and adstacks in the stacks of threads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from adstack.backends.codegen_llvm.adstacks.in_frame import framed
from adstack.errors import AdstackMemoryError
from adstack.ir.structure import Program, Task
from adstack.ir.types import DType
from adstack.runtime.adstacks.layout import Placement
from adstack.runtime.protocol import host_pages

from .machine import machine

__all__ = ["ALIGNMENT", "MOST_FRAME_BYTES", "allocate", "stack_frames", "take", "words"]

ALIGNMENT = 64
"""The alignment of every allocation, in bytes: a line of the cache, and the widest vector."""

_LEAST_BY_PAGE: Final = 1 << 20
"""Bytes: less is not worth a mapping of its own."""

MOST_FRAME_BYTES: Final = 256 * 1024
"""Bytes of adstacks that a thread's stack may hold: some systems give new threads a stack of no more than 512 KiB."""

Array = npt.NDArray[np.generic]


def take(size: int, *, zeroed: bool = True) -> Array:
    """So many bytes, aligned, or a MemoryError: all memory of this backend but what tasks take for themselves."""
    return machine().take(size, zeroed=zeroed)


def words(count: int) -> npt.NDArray[np.int64]:
    """So many zeros that machine code looks at."""
    return machine().take(8 * count).view(np.int64)


def allocate(dtype: DType, shape: tuple[int, ...], *, by_page: bool = False) -> Array:
    """Zeroed memory in C order; AdstackMemoryError if there isn't enough.

    With `by_page`, pages as small as the system's are to take no memory before they are written.
    """
    size = math.prod(shape) * dtype.size
    try:
        memory = host_pages.take(size) if by_page and size >= _LEAST_BY_PAGE else take(size)
        return memory.view(dtype.numpy).reshape(shape)
    except MemoryError as error:
        raise AdstackMemoryError(
            f"no memory for {dtype} of shape {shape} ({size} bytes)", do="use a smaller shape or a narrower type"
        ) from error


def stack_frames(program: Program, lanes: Sequence[int]) -> tuple[list[int], dict[int, Placement]]:
    """Adstacks in the stacks of threads: per task how many lanes there may be, and where the adstacks are.

    A task must know when it is compiled how deep its adstacks are, and take no more than `MOST_FRAME_BYTES`.
    """
    chosen, placements = list(lanes), {}
    for number, task in enumerate(program.tasks):
        placement = framed(program, task)
        if placement is not None:
            placements[number] = placement
            chosen[number] = _fitting(program, task, placement.stride + placement.beyond, lanes[number])
    return chosen, placements


def _fitting(program: Program, task: Task, stride: int, lanes: int) -> int:
    """The most lanes, of those wanted, whose adstacks a frame may hold."""
    while lanes > 1 and lanes * stride > MOST_FRAME_BYTES:
        lanes //= 2
    if stride > MOST_FRAME_BYTES:
        raise AdstackMemoryError(
            f"{program.name}: the adstacks of {task.name} take {stride} bytes of a thread's stack, which may hold "
            f"{MOST_FRAME_BYTES}",
            loc=program.loc if program.loc.line else None,
            do="use ad_stack_storage='heap', which has no such limit, or lower ad_stack_size",
        )
    return lanes
