"""What the code of a task needs to know of the task: addresses, extents, and the slots of its own stack frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from adstack.ir.location import Loc
from adstack.ir.structure import Place, Value
from adstack.ir.types import DType

from .target import HOST, Target

__all__ = ["Site", "TaskFrame", "record_words"]


@dataclass(frozen=True)
class Site:
    """A place in a program where something may be reported: a failed check, or text printed.

    Attributes:
        kind: "bounds", "local", "trap", "assert", "print", "stack" or "memory".
        message: the trap's or assert's message; what is accessed; the variable that a stack keeps.
        loc: where it stands.
        types: of the arguments that the record holds.
        parts: the text of a print, None for each argument.
        place: what a bounds check is about.
        indices: types of the indices of the iteration, which the record holds before the arguments.
        task: name of the task that it is in.
    """

    kind: str
    message: str
    loc: Loc
    types: tuple[DType, ...] = ()
    parts: tuple[str | None, ...] = ()
    place: Place | None = None
    indices: tuple[DType, ...] = ()
    task: str = ""


def record_words(sites: Sequence[Site]) -> int:
    """The size of an error record: a flag, the number of a site, indices, arguments."""
    return 2 + max((len(site.indices) + len(site.types) for site in sites), default=0)


@dataclass
class TaskFrame:
    """Names of what the function's entry block computes.

    Attributes:
        name: of the task.
        debug: whether checks are emitted.
        parallel: whether other iterations run at the same time.
        pointers: place name -> its address.
        extents: (place name, axis) -> an extent, where it is not known when compiling.
        sites: shared by the tasks of a program; a site's number is its position.
        section: of the task's random streams.
        iteration: the linear index of the first lane's iteration (i64); "0" in serial code.
        indices: of the parallel loop around the code.
        counters: per number of lanes, the slot that counts the random numbers each lane has drawn.
        slots: allocas for the entry block.
        heap: those that hold memory of the C heap, null before there is any.
        array_bytes: what local arrays take of the frame.
        leave: how the function ends where a check fails.
        poll: the slot of the context that has the function which long loops ask whether to go on; None if they don't.
        seat: this thread's number among those that run the task.
        stack_sites: per location and variable of adstacks, the number in the overflow record, for any number of lanes.
        target: the machine.
    """

    name: str
    debug: bool
    parallel: bool
    pointers: dict[str, str]
    extents: dict[tuple[str, int], str]
    sites: list[Site]
    section: int = 0
    iteration: str = "0"
    indices: tuple[Value, ...] = ()
    counters: dict[int, str] = field(default_factory=dict)
    slots: list[str] = field(default_factory=list)
    heap: list[str] = field(default_factory=list)
    array_bytes: int = 0
    leave: str = "ret void"
    poll: int | None = None
    seat: str = "0"
    stack_sites: dict[tuple[Loc, str], int] = field(default_factory=dict)
    target: Target = HOST

    def takes(self, size: int) -> bool:
        """Whether local arrays of so many bytes more fit into the frame: a thread's stack is small."""
        fits = self.array_bytes + size <= self.target.array_bytes
        self.array_bytes += size * fits
        return fits

    def slot(self, ty: str, align: int = 64) -> str:
        """Memory in the function's own frame; a pointer."""
        name = f"%slot{len(self.slots)}"
        self.slots.append(f"  {name} = alloca {ty}, align {align}")
        return name

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

    def site(self, site: Site) -> int:
        """The number of a site."""
        self.sites.append(replace(site, task=self.name))
        return len(self.sites) - 1
