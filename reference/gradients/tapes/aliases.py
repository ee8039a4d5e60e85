"""Memory that launches of one tape know by different names, by which adjoints could not find their way.

Within one launch `gradients/modes/aliases.py` looks at that. Two launches may be passed two arrays over the same
memory, or an array that is a view of a field, each with a gradient of its own or none: what one writes and the other
reads would be lost on the way back.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ...errors import AdstackDataAccessError
from ...runtime.memory.overlaps import bounds
from ..events import Event, Launch
from ..memory.undo import identity

__all__ = ["check_apart"]


@dataclass
class _Memory:
    """Memory by one name.

    Attributes:
        start, end: its first address, and that behind its last; what is passed lies in one piece.
        said: what launches call it.
        writer: a launch that writes it.
        user: one that reads it, or has a gradient for it.
        gradients: where adjoints of it go; None among them if they go nowhere.
    """

    start: int
    end: int
    said: str
    writer: Launch | None = None
    user: Launch | None = None
    gradients: set[Hashable] = field(default_factory=set)


def check_apart(events: Sequence[Event]) -> None:
    """AdstackDataAccessError where a launch writes memory that another one has by another name."""
    launches = [event for event in events if isinstance(event, Launch)]
    if not any(event.call.arrays and _has_of_others(event) for event in launches):
        return
    memories: dict[Hashable, _Memory] = {}
    for event in launches:
        _note(memories, event)
    for one, other in _pairs(memories.values()):
        writer = one.writer if other.user is not None else None
        user = other.user
        if writer is None:
            writer, user = other.writer, one.user
        apart = one.gradients != other.gradients or len(one.gradients) > 1
        if writer is not None and user is not None and apart and {*one.gradients, *other.gradients} != {None}:
            _refuse(writer, one if writer is one.writer else other, user, one if user is one.user else other)


def _has_of_others(event: Launch) -> bool:
    """Whether a launch was passed memory that is not the runtime's alone, or works on a copy of such."""
    return bool(event.call.loans) or any(one.shared or not one.owned for one in event.call.arrays.values())


def _note(memories: dict[Hashable, _Memory], event: Launch) -> None:
    """Note memory of a launch that others may have a view of."""
    compiled, gradients = event.specialisation.plan.compiled, {id(one): grad for one, grad in event.gradients}
    originals = {loan.place: loan.original for loan in event.call.loans or () if loan.copy is not None}
    for name, place in event.specialisation.kernel.places.items():
        buffer = event.buffer_of(name)
        if place.role != "primal" or buffer is None or (buffer.owned and not buffer.shared and name not in originals):
            continue
        array = originals.get(name)
        places = bounds(buffer) if array is None else (array.ctypes.data, array.ctypes.data + array.nbytes)
        if places is None:
            continue
        key = identity(buffer) if array is None else (places, array.shape, array.strides, array.dtype)
        if key not in memories:
            what = f"argument {name}" if name in event.call.arrays else f"field {place.label or name}"
            memories[key] = _Memory(*places, what)
        memory, gradient = memories[key], gradients.get(id(buffer))
        memory.gradients.add(None if gradient is None else identity(gradient))
        if name in compiled.written:
            memory.writer = event
        if gradient is not None or name in compiled.read:
            memory.user = event


def _pairs(memories: Iterable[_Memory]) -> Iterator[tuple[_Memory, _Memory]]:
    """Those that share elements, each with itself, too."""
    open_: list[_Memory] = []
    for one in sorted(memories, key=lambda memory: memory.start):
        open_ = [other for other in open_ if other.end > one.start]
        yield one, one
        yield from ((other, one) for other in open_)
        open_.append(one)


def _refuse(writer: Launch, written: _Memory, user: Launch, used: _Memory) -> None:
    kernel = writer.specialisation.kernel
    raise AdstackDataAccessError(
        f"{written.said} of {kernel.name} and {used.said} of {user.specialisation.kernel.name} share memory under one "
        "Tape, and the former is written: their adjoints have no way to each other",
        loc=kernel.loc,
        do="pass the same array, or the field itself, to both kernels",
    )
