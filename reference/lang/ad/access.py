"""Validation: whether a launch overwrites elements that it has read."""

from __future__ import annotations

from typing import Any

from ...errors import AdstackDataAccessError
from ...ir.structure import Op
from ...ir.types import i32
from ...runtime.memory import Buffer
from ...runtime.modes import RECORD
from ...runtime.state import Runtime
from ..differentiated import Differentiated, differentiated
from .events import Launch, memory_of

__all__ = ["launch_checked"]


def launch_checked(launch: Launch, runtime: Runtime) -> Any:
    """Launch; AdstackDataAccessError if an element with a gradient was read and then overwritten."""
    mode = differentiated(launch.made, "checked", runtime, strict=False)
    if not mode.beside:
        return launch.made.launch(launch.call)
    buffers = _zeros(mode, launch)
    try:
        result = mode.launch(launch.call, buffers)
        found, read, written = buffers[RECORD].read().tolist()
        if found:
            raise _error(launch, mode.sites[read], mode.sites[written])
        return result
    finally:
        for buffer in buffers.values():
            buffer.drop()


def _zeros(mode: Differentiated, launch: Launch) -> dict[str, Buffer]:
    """Marks for each place, and the record."""
    made: dict[str, Buffer] = {}
    for mark, name in mode.beside.items():
        if mark == RECORD:
            made[mark] = Buffer(mode.plan.backend, i32, (3,))
        else:
            ((_, buffer),) = memory_of(launch.made, launch.call, frozenset((name,)))
            made[mark] = Buffer(buffer.backend, i32, buffer.shape)
    return made


def _error(launch: Launch, read: Op | None, write: Op | None) -> AdstackDataAccessError:
    assert read is not None
    assert write is not None
    place = write.attrs["place"]
    return AdstackDataAccessError(
        f"Breaks the global data access rule: {launch.title} overwrites an element of {place.label or place.name} "
        f"that it has read at {read.loc}",
        loc=write.loc,
        do="write to another field, or put the read and the write in kernels of their own",
    )
