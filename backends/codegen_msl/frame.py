"""What the code of a task needs to know of the task, and what a running task may report."""

from __future__ import annotations

from dataclasses import dataclass, replace

from adstack.backends.shared.sites import Site
from adstack.ir.structure import Value

from .rows import Rows

__all__ = ["TaskFrame"]


@dataclass
class TaskFrame:
    """What the code of one task needs to know of it.

    Attributes:
        name: of the task.
        debug: whether checks are emitted.
        parallel: whether other iterations run at the same time.
        pointers: place name -> the name of the pointer to its elements.
        extents: (place name, axis) -> an extent (i64), where it is not known when compiling.
        sites: shared by the tasks of a program; a site's number is its position.
        section: of the task's random streams.
        iteration: the linear index of the iteration (u64).
        indices: of the parallel loop around the code.
        rows: of the thread in the adstack heap, if the task has any.
        counter: a variable that counts the random numbers drawn (u32), if any are.
    """

    name: str
    debug: bool
    parallel: bool
    pointers: dict[str, str]
    extents: dict[tuple[str, int], str]
    sites: list[Site]
    section: int
    iteration: str = "0ul"
    indices: tuple[Value, ...] = ()
    rows: Rows | None = None
    counter: str = ""

    def site(self, site: Site) -> int:
        """The number of a site."""
        self.sites.append(replace(site, task=self.name))
        return len(self.sites) - 1
