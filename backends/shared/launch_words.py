"""What a launch hands over to a device: words of 64 bits, and behind them the places that live for one launch."""

from __future__ import annotations

from dataclasses import dataclass, field

from adstack.ir.ops import STACK_ALLOCA
from adstack.ir.structure import Program, Task
from adstack.runtime.adstacks.layout import TaskHeap

from .own_size import own_size

__all__ = ["OWN", "Context", "HeapWords", "heap_of"]

OWN = ("errors", "overflow", "print", "seed", "launch")
"""The runtime's own: addresses of the records, the keys of the random streams."""
_ALIGNMENT = 16


def heap_of(task: Task) -> TaskHeap | None:
    """The adstacks of a task that are in the heap; None if there are none."""
    if not any(op.opdef is STACK_ALLOCA for op in task.body.walk()):
        return None
    heap = TaskHeap.of(task)
    return heap if heap.groups else None


@dataclass(frozen=True)
class HeapWords:
    """Where the words of a task stand among those of a launch.

    Attributes:
        heap: what they are about.
        address, lanes: of the heap.
        threads: that run iterations.
        taken: of the lanes; 0 when the task begins.
        bases: the first of as many words as there are parts.
        capacities: the first of as many words as there are groups.
        end: what comes after them.
    """

    heap: TaskHeap
    address: int
    lanes: int
    threads: int
    taken: int
    bases: int
    capacities: int
    end: int

    @classmethod
    def of(cls, heap: TaskHeap, at: int) -> HeapWords:
        """The words of a task with such adstacks, the first of them `at` a position."""
        capacities = at + 4 + len(heap.parts)
        return cls(heap, at, at + 1, at + 2, at + 3, at + 4, capacities, capacities + len(heap.groups))


@dataclass(frozen=True)
class Context:
    """Which word holds what.

    Attributes:
        pointers: place name -> word of its address, of places that outlive a launch.
        extents: (place name, axis) -> word of an extent that is not known when compiling.
        params: word of each scalar parameter; the value stands in the word's first bytes.
        own: words of the runtime's own, see `OWN`.
        heaps: of each task with adstacks in the heap, by its number, where it is told about them.
        depths: words of the addresses of places of kind "depths", which an executable keeps from launch to launch.
        inside: temp and result places -> where they are, in bytes from the first word; zeroed before each launch.
        words: how many words there are.
        size: bytes of the whole.
    """

    pointers: dict[str, int] = field(default_factory=dict)
    extents: dict[tuple[str, int], int] = field(default_factory=dict)
    params: tuple[int, ...] = ()
    own: dict[str, int] = field(default_factory=dict)
    heaps: dict[int, HeapWords] = field(default_factory=dict)
    depths: dict[str, int] = field(default_factory=dict)
    inside: dict[str, int] = field(default_factory=dict)
    words: int = 0
    size: int = 0

    @classmethod
    def of(cls, program: Program) -> Context:
        """Parameters first, then places, extents and the runtime's own."""
        at = len(program.params)
        params = tuple(range(at))
        outer = [place for place in program.places.values() if place.kind in ("field", "ndarray")]
        pointers = {place.name: at + k for k, place in enumerate(outer)}
        at += len(outer)
        unknown = [(p.name, axis) for p in outer for axis, extent in enumerate(p.shape) if extent is None]
        extents = {key: at + k for k, key in enumerate(unknown)}
        at += len(unknown)
        own = {name: at + k for k, name in enumerate(OWN)}
        at += len(OWN)
        kept = [place.name for place in program.places.values() if place.kind == "depths"]
        depths = {name: at + k for k, name in enumerate(kept)}
        at += len(depths)
        heaps: dict[int, HeapWords] = {}
        for number, task in enumerate(program.tasks):
            heap = heap_of(task)
            if heap is not None:
                heaps[number] = HeapWords.of(heap, at)
                at = heaps[number].end
        words = at
        inside: dict[str, int] = {}
        size = 8 * words
        for place in program.places.values():
            if place.kind in ("temp", "result"):
                size = -(-size // _ALIGNMENT) * _ALIGNMENT
                inside[place.name] = size
                size += own_size(place)
        return cls(pointers, extents, params, own, heaps, depths, inside, words, size)
