"""What the code of a task needs to know of the task, and what a running task may report."""

from __future__ import annotations

from dataclasses import dataclass, replace

from adstack.backends.shared.sites import Site
from adstack.ir.structure import Value

from .assembly.code import Num
from .memory import Address
from .rows import Rows

__all__ = ["TaskFrame"]


@dataclass
class TaskFrame:
    """What the code of one task needs to know of it.

    Attributes:
        name: of the task.
        debug: whether checks are emitted.
        parallel: whether other iterations run at the same time.
        own: where the launch reports, by name: "errors", "overflow", "print".
        keys: of the random streams, by name: "seed", "launch" (u32).
        pointers: place name -> its address.
        extents: (place name, axis) -> an extent (i64), where it is not known when compiling.
        sites: shared by the tasks of a program; a site's number is its position.
        section: of the task's random streams.
        iteration: the linear index of the iteration (u64).
        thread, threads: the number of this thread, and how many there are (u64).
        indices: of the parallel loop around the code.
        rows: of the thread in the adstack heap, if the task has any.
        counter: a variable that counts the random numbers drawn (u32), if any are.
    """

    name: str
    debug: bool
    parallel: bool
    own: dict[str, Address]
    keys: dict[str, Num]
    pointers: dict[str, Address]
    extents: dict[tuple[str, int], Num]
    sites: list[Site]
    section: int
    iteration: Num
    thread: Num
    threads: Num
    indices: tuple[Value, ...] = ()
    rows: Rows | None = None
    counter: int = 0

    def site(self, site: Site) -> int:
        """The number of a site."""
        self.sites.append(replace(site, task=self.name))
        return len(self.sites) - 1
