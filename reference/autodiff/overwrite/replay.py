"""Memory in which a launch runs again: `with_scratch(kernel, names) -> Replayed`.

Where a stretch of the kernel overwrites what its own reversal needs, its sweep has to see every store again. It does,
in scratch memory that holds what the place held before the launch, if only that stretch writes the place.

Requires: a verified kernel without races.
Ensures: the same meaning, if scratch and alias hold what the place held before the launch. Accesses of the place in the
stretch that writes it are moved to the scratch; loads in earlier stretches to the alias; later loads stay. A place is
left alone if several stretches write it, if atomics other than add do, if another place may be the same memory, or if
the stretch leaves values to others in temps. Nothing is moved if that could change how often a loop runs: iterations
are counted before stores run again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from ...ir.ops import ATOMIC, PLACE_ACCESSES, PLACE_WRITES
from ...ir.structure import Kernel, Op, Place
from ...transforms.rewriting.rewrite import clone_kernel
from ...transforms.tasks.crossing import Segment, segments
from .conflicts import same_memory
from .repeat import decides

__all__ = ["Replayed", "with_scratch"]


@dataclass
class Replayed:
    """A kernel with scratch memory.

    Attributes:
        kernel: it.
        scratch: name of a place -> its scratch.
        before: name of a place -> its alias for earlier loads.
    """

    kernel: Kernel
    scratch: dict[str, Place] = field(default_factory=dict)
    before: dict[str, Place] = field(default_factory=dict)


def with_scratch(kernel: Kernel, names: Collection[str]) -> Replayed:
    """Give scratch memory to those of the places that can have it."""
    original, kernel = kernel, clone_kernel(kernel)
    stretches = segments(kernel.body)
    replayed = Replayed(kernel)
    for name in names:
        writers = [segment for segment in stretches if any(_writes(op, name) for op in segment.walk())]
        if len(writers) == 1 and _is_alone(original, name) and _can_replay(writers[0], name):
            _move(replayed, stretches, writers[0], name)
    if decides(kernel.body, {place.name for place in replayed.scratch.values()}):
        return Replayed(original)
    for alias in (*replayed.scratch.values(), *replayed.before.values()):
        kernel.places[alias.name] = alias
    own = {frozenset((one.name, other)) for one in replayed.scratch.values() for other in kernel.places}
    kernel.apart |= own
    return replayed


def _is_alone(kernel: Kernel, name: str) -> bool:
    """Whether nothing that the kernel accesses by another name may be the memory of a place."""
    used = {op.attrs["place"].name: op.attrs["place"] for op in kernel.body.walk() if op.opdef in PLACE_ACCESSES}
    return not any(same_memory(kernel, kernel.places[name], one) for one in used.values() if one.name != name)


def _writes(op: Op, name: str) -> bool:
    return op.opdef in PLACE_WRITES and op.attrs["place"].name == name


def _can_replay(segment: Segment, name: str) -> bool:
    for op in segment.walk():
        if op.opdef is ATOMIC and _writes(op, name) and op.attrs["kind"] != "add":
            return False
        if segment.parallel and op.opdef in PLACE_WRITES and op.attrs["place"].kind == "temp":
            return False
    return True


def _move(replayed: Replayed, stretches: list[Segment], writer: Segment, name: str) -> None:
    place = replayed.kernel.places[name]
    for segment in stretches:
        for op in _accesses(segment, name):
            if segment is writer:
                scratch = replace(place, name=f"{name}.scratch", kind="ndarray")
                op.attrs = {**op.attrs, "place": replayed.scratch.setdefault(name, scratch)}
            elif segment.start < writer.start:
                alias = replace(place, name=f"{name}.before", kind="ndarray")
                op.attrs = {**op.attrs, "place": replayed.before.setdefault(name, alias)}


def _accesses(segment: Segment, name: str) -> Iterator[Op]:
    return (op for op in segment.walk() if op.opdef in PLACE_ACCESSES and op.attrs["place"].name == name)
