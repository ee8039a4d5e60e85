"""Validation: whether a launch overwrites elements that it has read, and what a launch looks at."""

from __future__ import annotations

from ..autodiff.places import RECORD
from ..errors import AdstackDataAccessError
from ..ir.structure import Op
from ..ir.types import i32
from ..runtime.memory.buffers import Buffer
from ..runtime.state import Runtime
from .events import Launch, memory_of
from .modes.compiled import differentiated
from .modes.differentiated import Differentiated

__all__ = ["launch_checked", "zeros"]


def launch_checked(launch: Launch, runtime: Runtime) -> object:
    """Launch; the value that the kernel returns.

    AdstackDataAccessError if an element with a gradient was read and then overwritten.
    """
    result, error = _launched(launch, differentiated(launch.specialisation, "checked", runtime, strict=False))
    if error is not None:
        raise error
    return result


def _launched(launch: Launch, mode: Differentiated) -> tuple[object, AdstackDataAccessError | None]:
    if not mode.derived.marks:
        return launch.specialisation.launch(launch.call), None
    buffers = zeros(mode, launch)
    try:
        result = mode.launch(launch.call, buffers)
        overwritten, read, written, *element = buffers[RECORD].read().tolist()
        sites = mode.derived.sites
        return result, _error(launch, sites[read], sites[written], element) if overwritten else None
    finally:
        for buffer in buffers.values():
            buffer.drop()


def zeros(mode: Differentiated, launch: Launch) -> dict[str, Buffer]:
    """Zeroed marks for each place that a launch in this mode checks, and the record: name -> memory."""
    marks: dict[str, Buffer] = {}
    for mark, name in mode.derived.marks.items():
        if mark == RECORD:
            marks[mark] = Buffer(mode.plan.backend, i32, mode.derived.kernel.places[RECORD].shape)  # type: ignore[arg-type]
        else:
            ((_, buffer),) = memory_of(launch.specialisation, launch.call, frozenset((name,)))
            marks[mark] = Buffer(buffer.backend, i32, buffer.shape)
    return marks


def _error(launch: Launch, read: Op | None, write: Op | None, element: list[int]) -> AdstackDataAccessError:
    assert read is not None
    assert write is not None
    place = write.attrs["place"]
    at = ", ".join(map(str, element[: place.rank])) or "None"
    return AdstackDataAccessError(
        f"Breaks the global data access rule: {launch.title} overwrites an element of {place.label or place.name} "
        f"that it has read at {read.loc}: [{at}]",
        loc=write.loc,
        do="write to another field, put the read and the write in kernels of their own, or record with qd.ad.Tape",
    )
