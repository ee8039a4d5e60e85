"""What the code of a task needs to know of the task: addresses, extents, and the slots of its own stack frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from adstack.backends.shared.sites import Site
from adstack.backends.shared.thread_code import Frame
from adstack.ir.location import Loc
from adstack.ir.structure import Op, Value
from adstack.ir.types import DType

from ..text.writer import allocation

__all__ = ["TaskFrame"]


@dataclass(kw_only=True)
class TaskFrame(Frame[str, str]):
    """What the code of one task needs to know of it: names of what the function's entry block computes, above all.

    Attributes:
        iteration: the linear index of the first lane's iteration (i64); "0" in serial code.
        counters: per number of lanes, the slot that counts the random numbers each lane has drawn.
        slots: lines for the entry block that allocate memory.
        space: the address space of that memory.
        heap: those that hold memory of the C heap, null before there is any.
        array_bytes: what local arrays take of the frame.
        leave: how the function ends where a check fails.
        poll: the slot of the context with the function that safepoints call; None if there are no safepoints.
        outside: the slot of the context with the function that records what a note says.
        seat: this thread's number among those that run the task.
        stack_sites: per location and variable of adstacks, the number in the overflow record, for any number of lanes.
        lane: how many lanes a row of adstacks has, and which is this thread's, once it has claimed one.
        array_limit: what local arrays may take of the frame, in bytes.
        read_only: names of the places that no iteration writes to, where the target gains from knowing them.
        in_bounds: guarded accesses -> the axes on which they are in bounds in the launches that this code is for.
        seldom: whether hardly any launch comes to this code: it is to be short.
        note_bytes: of what is noted of an access outside until the function ends; 0 if nothing is.
        noted, noted_bytes: what of an iteration stands in the next note from the start: (name, type) -> what a table
            says of it, and where it ends; see `safety.notes`.
        combines: whether threads that run side by side combine what they add, if they are all there.
        shared_slots: per type and name, memory that several ops use, one after the other.
        starts: values that count up by one from lane to lane -> that of the first lane, as i64.
    """

    iteration: str = "0"
    counters: dict[int, str] = field(default_factory=dict)
    slots: list[str] = field(default_factory=list)
    heap: list[str] = field(default_factory=list)
    array_bytes: int = 0
    leave: str = "ret void"
    poll: int | None = None
    outside: int = 0
    seat: str = "0"
    stack_sites: dict[tuple[Loc, str], int] = field(default_factory=dict)
    lane: tuple[str, str] | None = None
    array_limit: int = 0
    read_only: frozenset[str] = frozenset()
    in_bounds: Mapping[Op, tuple[int, ...]] = field(default_factory=dict)
    seldom: bool = False
    note_bytes: int = 0
    noted: dict[tuple[str, DType], list[int]] = field(default_factory=dict)
    noted_bytes: int = 0
    combines: bool = False
    starts: dict[Value, str] = field(default_factory=dict)
    space: int = 0
    shared_slots: dict[tuple[str, str], str] = field(default_factory=dict)

    def takes(self, size: int) -> bool:
        """Whether local arrays of so many bytes more fit into the frame: a thread's stack is small."""
        fits = self.array_bytes + size <= self.array_limit
        self.array_bytes += size * fits
        return fits

    def slot(self, ty: str, align: int = 64) -> str:
        """Memory in the function's own frame; a pointer."""
        name = f"%slot{len(self.slots)}"
        self.slots += allocation(name, ty, align, self.space)
        return name

    def scratch(self, ty: str, name: str = "") -> str:
        """Memory in the frame that all who ask for it by one name share, each for what is over at once; a pointer."""
        if (ty, name) not in self.shared_slots:
            self.shared_slots[ty, name] = self.slot(ty)
        return self.shared_slots[ty, name]

    def zeroed_slot(self) -> str:
        """A number (i64) that is 0 when the function is entered."""
        name = self.slot("i64", 8)
        self.slots.append(f"  store i64 0, ptr {name}, align 8")
        return name

    def counter_of(self, lanes: int) -> str:
        """The slot that counts random numbers; zeroed at the start of every iteration."""
        if lanes not in self.counters:
            self.counters[lanes] = self.slot("i64" if lanes == 1 else f"<{lanes} x i64>")
        return self.counters[lanes]

    def stack_site(self, loc: Loc, name: str) -> int:
        """The number of the adstacks that were made there for a variable."""
        if (loc, name) not in self.stack_sites:
            self.stack_sites[loc, name] = self.site(Site("stack", name, loc))
        return self.stack_sites[loc, name]
