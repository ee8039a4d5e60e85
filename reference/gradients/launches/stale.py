"""Changes of memory between a launch and its `.grad()`: found exactly, by what the reverse pass looks at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...analysis.boxes import Box
from ...autodiff.seen import deciding
from ...errors import AdstackDataAccessError, AdstackError, AdstackStaleBoundError
from ...runtime.memory.buffers import Array, Buffer
from ...runtime.state import Runtime
from ..access import zeros
from ..events import Launch, memory_of
from ..memory.undo import Change, identity, undone
from ..modes.compiled import differentiated
from ..modes.differentiated import Differentiated

__all__ = ["Culprit", "reverse_verified"]

Culprit = Callable[[Change, int], str]
"""Who changed an element, given by its flat position, in words."""


def reverse_verified(launch: Launch, changes: Sequence[Change], culprit: Culprit, runtime: Runtime) -> None:
    """Reverse mode of a launch in the memory of now, if it reads nothing that has changed since.

    Otherwise AdstackStaleBoundError (an integer that decides the control flow) or AdstackDataAccessError; gradients are
    as before then.
    """
    mode = launch.mode
    assert mode is not None
    affected = _affected(launch, mode, changes)
    if not affected:
        launch.reverse()
        return
    kept = [(buffer, np.array(buffer.read())) for _, buffer in launch.gradients]
    try:
        error = _reversed(launch, changes, affected, culprit, runtime)
        if error is not None:
            raise error
    except BaseException:
        for buffer, contents in kept:
            buffer.write(contents)
        raise


def _affected(launch: Launch, mode: Differentiated, changes: Sequence[Change]) -> dict[str, Change]:
    """The places of which the reverse pass may read an element that changed."""
    changed = {identity(change.buffer): change for change in changes}
    read = mode.plan.compiled.reach(mode.scalars(launch.call), launch.shapes).read if changed else {}
    affected = {}
    for name, boxes in read.items():
        for _, buffer in memory_of(launch.specialisation, launch.call, frozenset((name,))):
            change = changed.get(identity(buffer))
            if change is not None and _within(change, boxes):
                affected[name] = change
    return affected


def _within(change: Change, boxes: Sequence[Box]) -> bool:
    indices = np.unravel_index(change.positions, change.buffer.shape) if change.buffer.shape else ()
    inside = (
        np.logical_and.reduce([(lo <= k) & (k <= hi) for k, (lo, hi) in zip(indices, box, strict=True)])
        for box in boxes
    )
    return any(bool(np.any(one)) for one in inside)


def _reversed(
    launch: Launch, changes: Sequence[Change], affected: Mapping[str, Change], culprit: Culprit, runtime: Runtime
) -> AdstackError | None:
    """Reverse mode on memory as it was, so that it looks at what the launch looked at; the error if that changed."""
    mode = differentiated(launch.specialisation, "reverse", runtime, marked=frozenset(affected))
    marks = zeros(mode, launch)
    try:
        with undone(changes):
            mode.launch(launch.call, marks)
            for mark, name in mode.derived.marks.items():
                error = _stale(launch, mode, affected[name], marks[mark].read().reshape(-1), culprit)
                if error is not None:
                    return error
        return None
    finally:
        for buffer in marks.values():
            buffer.drop()


def _stale(launch: Launch, mode: Differentiated, change: Change, marks: Array, culprit: Culprit) -> AdstackError | None:
    hits = np.nonzero(marks[change.positions])[0]
    if not len(hits):
        return None
    position = int(change.positions[hits[0]])
    load = mode.derived.sites[marks[position]]
    assert load is not None
    at = ", ".join(map(str, np.unravel_index(position, change.buffer.shape))) if change.buffer.shape else "None"
    was, now = _flat(change.buffer)[position].item(), change.values[hits[0]].item()
    decides = load in deciding(mode.derived.kernel)
    kind, role = (AdstackStaleBoundError, "bound ") if decides else (AdstackDataAccessError, "")
    return kind(
        f"{launch.title}.grad() needs {role}{change.label}[{at}] as the launch found it, {was}; "
        f"it was changed to {now} since by {culprit(change, position)}",
        loc=load.loc if load.loc.line else launch.specialisation.kernel.loc,
        do=f"call {launch.title}.grad() before the change, launch {launch.title} again after it, "
        "record both with qd.ad.Tape, or use init(ad_snapshot=True)",
    )


def _flat(buffer: Buffer) -> Any:
    return buffer.read().reshape(-1)
